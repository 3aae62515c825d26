"""Write the generated parts of docs/ anew: `tools/docs.py`, or `--check` to tell what is stale.

A page is written by hand but for what stands between `<!-- generated: NAME WORD -->` and
`<!-- end -->`, which the generator of that name writes. Whole files are generated too: the JSON
Schema, a diagram for each bundled contract, and a first page for one that has none yet.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock import bundled, check, load
from interlock.cli import app
from interlock.codes import PROBLEMS, REFUSALS
from interlock.contract import keys, reading
from interlock.contract.expression import evaluate, parse, pattern, scope, values
from interlock.contract.expression.declare import parse_declaration, write_declaration
from interlock.contract.expression.expr import write_expression
from interlock.contract.model import MAX_HOPS, rows_by_event
from interlock.contract.native import schema
from interlock.contract.source import build as tree
from interlock.contract.source import read as source
from interlock.diagram import draw
from interlock.errors import TOLD
from interlock.play import MAX_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interlock.contract.model import Contract, Field, Row, Timer

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = re.compile(r"(<!-- generated: ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)

SHAPES_IN_WORDS = {
    "name": "a name",
    "text": "a text",
    "version": "`2`, `1.4` or `1.0.0`",
    "flag": "`true` or `false`",
    "number": "a whole number",
    "duration": "a duration",
    "expression": "an expression",
    "target": "a state, or `stay`",
    "names": "a name or a list of names",
    "texts": "a text or a list of texts",
    "names_by_name": "names by name",
    "numbers": "whole numbers by event",
    "fields": "types by field",
    "events": "payload fields by event, or a list of names",
    "states": "states by name",
    "rows_by_event": "rows by event",
    "always": "a row or a list of rows",
    "effects": "an effect or a list, each a name or a mapping",
    "expressions": "expressions by field",
    "timers": "an event or a mapping, by duration",
    "hooks": "a list, each a route or a mapping",
    "rules": "a list of mappings",
    "counters": "mappings by field",
    "migrations": "mappings by old version",
    "tests": "a list of mappings",
    "params": "data by name",
    "data": "values by field",
    "given": "`state`, and values by field",
    "played": "a list of events",
    "retry": "`5` or `5 in 2m`",
}

LIMITS = (
    ("a contract's file", f"{source.MAX_BYTES:,} bytes"),
    ("values in it, aliases written out", f"{tree.MAX_NODES:,}"),
    ("its nesting", f"{tree.MAX_DEPTH} levels"),
    ("a name", f"{reading.MAX_NAME} printable characters"),
    ("an expression", f"{parse.MAX_LENGTH:,} characters"),
    ("parentheses in it", f"{parse.MAX_DEPTH} deep"),
    ("a chain such as `a + b + c`", f"{parse.MAX_DEPTH} operators"),
    ("a text that `matches` looks at", f"{evaluate.MAX_MATCHED:,} characters"),
    ("a pattern of `matches`", f"{pattern.LENGTH_LIMIT:,} characters"),
    ("a pattern with its repeats written out", f"{pattern.NODE_LIMIT:,} nodes"),
    ("an `int`", "from -2^53 to 2^53"),
    ("a `decimal`", f"{values.MAX_DIGITS} digits, exponent from -{values.MAX_DIGITS} on"),
    ("a `str`", f"{values.MAX_TEXT:,} characters"),
    ("a list", f"{values.MAX_ITEMS:,} items"),
    ("`json` data", f"{values.MAX_NESTING} levels"),
    ("`always` rows in one step", f"{MAX_HOPS}"),
    ("events in one request to `simulate --stdin`", f"{MAX_EVENTS:,}"),
)

TYPES = ("bool", "int", "decimal", "str", "a | b", "time", "duration", "list of int", "json")
SAMPLES = """true 3 2.0 "3" "a" "15m" "2026-01-31T12:00:00+01:00" [1,2] {"x":1} null"""
OPERATORS = ("+", "-", "*", "/", "//", "%")
LATER = " *Not raised yet.*"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; bars in its cells are escaped."""
    columns = list(head)
    cells = ([part.replace("|", "\\|").replace("\n", " ") for part in row] for row in rows)
    return "".join(
        f"| {' | '.join(line)} |\n" for line in [columns, ["---"] * len(columns), *cells]
    )


def code(text: str) -> str:
    """Return a text as code, or nothing for nothing."""
    return f"`{text}`" if text else ""


def listed(texts: Iterable[str]) -> str:
    """Return texts as code, with commas."""
    return ", ".join(code(text) for text in texts)


def shape_in_words(shape: str) -> str:
    """Say what may stand under a key."""
    found = schema.SHAPES[shape]
    if "enum" in found:
        return " or ".join(code(str(word)) for word in found["enum"])
    return code(str(found["const"])) if "const" in found else SHAPES_IN_WORDS[shape]


def write_keys(place: str) -> str:
    """Return the keys that mean something at a place."""
    rows = (
        (code(name), shape_in_words(key.shape), key.meaning)
        for name, key in keys.PLACES[place].items()
    )
    return table(("key", "what stands under it", "meaning"), rows)


def write_limits() -> str:
    """Return every limit with its number."""
    return table(("what", "at most"), LIMITS)


def write_readings() -> str:
    """Return what each type makes of JSON data, by trying it."""
    samples = SAMPLES.split()
    rows = ([code(text), *(_read_sample(text, sample) for sample in samples)] for text in TYPES)
    return table(("declared as", *map(code, samples)), rows)


def _read_sample(declaration: str, sample: str) -> str:
    type_, _ = parse_declaration(declaration)
    try:
        value = values.reader(type_)(values.decode_json(sample))
    except values.Mismatch:
        return ""
    shown = values.write_json(value)
    return "as it is" if shown == sample else code(shown)


def write_arithmetic() -> str:
    """Return which types arithmetic takes and gives, by trying every pair."""
    found: dict[tuple[str, str, str], list[str]] = {}
    types = {text: parse_declaration(text)[0] for text in TYPES}
    for left, left_type in types.items():
        for right, right_type in types.items():
            for op in OPERATORS:
                result = scope.arithmetic_type(op, left_type, right_type)
                if result is not None and "json" not in {left, right}:
                    found.setdefault((left, right, values.write_type(result)), []).append(op)
    rows = (
        (code(left), " ".join(code(op) for op in ops), code(right), code(result))
        for (left, right, result), ops in found.items()
    )
    return table(("left", "operators", "right", "result"), rows)


def write_refusals(phase: str) -> str:
    """Return the refusal codes of a phase."""
    rows = (
        (code(name), found.level, found.meaning + LATER * (not found.raised), found.hint)
        for name, found in REFUSALS.items()
        if found.phase == phase
    )
    return table(("code", "level", "meaning", "what to do"), rows)


def write_problems() -> str:
    """Return the codes of contract problems."""
    rows = ((f"[`{name}`](problems.md#{name.lower()})", text) for name, text in PROBLEMS.items())
    return table(("code", "meaning"), rows)


def write_exit_codes() -> str:
    """Return the exit codes of exceptions."""
    rows = ((str(told.exit_code), code(kind.__name__)) for kind, told in TOLD.items())
    return table(("exit code", "exception"), sorted(rows))


def write_commands() -> str:
    """Return every command with its arguments and options."""
    return "\n".join(_write_command(name, command) for name, command in app.commands.items())


def _write_command(name: str, command: click.Command) -> str:
    usage = " ".join(["interlock", name, *map(_usage, command.params)])
    options = [one for one in command.params if isinstance(one, click.Option)]
    rows = ((code(", ".join(one.opts)), (one.help or "") + _choices(one)) for one in options)
    shown = "\n" + table(("option", "meaning"), rows) if options else ""
    about = inspect.cleandoc(command.help or "")
    return f"### {name}\n\n```text\n{usage}\n```\n\n{about}\n{shown}"


def _usage(one: click.Parameter) -> str:
    name = str(one.name).upper()
    if isinstance(one, click.Option):
        return f"[{one.opts[0]}]" if one.is_flag else f"[{one.opts[0]} {name}]"
    word = name + "..." * (one.nargs == -1)
    return word if one.required else f"[{word}]"


def _choices(one: click.Option) -> str:
    return f" One of {listed(one.type.choices)}." if isinstance(one.type, click.Choice) else ""


def write_contracts() -> str:
    """Return the bundled contracts, each with its page."""
    rows = (
        (f"[{name}](reference/contracts/{name}.md)", contract.version, contract.text)
        for name, contract in ((name, load(name)) for name in bundled())
    )
    return table(("contract", "version", "what it models"), rows)


def write_about(name: str) -> str:
    """Return what a bundled contract is, with its picture."""
    contract = load(name)
    rows = sum(1 for _ in rows_of(contract))
    return (
        f"{contract.text}\n\n"
        f"Version {contract.version}: {len(contract.states)} states, {len(contract.events)} events,"
        f" {rows} rows, {len(contract.tests)} tests.\n"
        f"Source: [{name}.yaml](../../../src/interlock/contracts/{name}.yaml).\n\n"
        f"![The states of {name} and the events between them](../../diagrams/{name}.svg)\n"
    )


def write_states(name: str) -> str:
    """Return the states of a bundled contract."""
    contract = load(name)
    rows = (
        (
            f"**{state.name}**" if state.name == contract.initial else state.name,
            ", ".join(filter(None, (state.kind, f"end: {state.end}" if state.end else None))),
            state.text,
            listed(effect.intent for effect in state.enter),
            "; ".join(map(_deadline, state.timers)),
        )
        for state in contract.states.values()
    )
    return table(("state", "kind", "meaning", "on entering", "deadlines"), rows)


def _deadline(timer: Timer) -> str:
    raised = code(timer.event) if timer.event else f"notice {timer.notice}".strip()
    return f"{values.format_duration(timer.after)}: {raised}" + (" (repeats)" * timer.repeat)


def rows_of(contract: Contract) -> Iterator[tuple[str, str, Row]]:
    """Yield every row of a contract with its place and event, in the order tried."""
    for state in contract.states.values():
        own = {id(row) for row in state.rows}
        for event, rows in rows_by_event(contract, state).items():
            yield from ((state.name, code(event), row) for row in rows if id(row) in own)
        for row in state.always:
            yield state.name, "*always*" + (f" ({code(row.event)})" if row.event else ""), row
    yield from (("*any*", code(str(row.event)), row) for row in contract.any)


def write_rows(name: str) -> str:
    """Return the rows of a bundled contract."""
    rows = (
        (
            state,
            event,
            code(write_expression(row.when)) if row.when else "",
            row.to or "*stays*",
            "; ".join(code(f"{one.field} = {write_expression(one.value)}") for one in row.updates),
            listed(effect.intent for effect in row.effects),
        )
        for state, event, row in rows_of(load(name))
    )
    return table(("in", "event", "when", "to", "sets", "emits"), rows)


def write_events(name: str) -> str:
    """Return the events of a bundled contract with their payloads."""
    rows = (
        (code(event.name), ", ".join([*map(_field, event.fields), *(["any"] * event.open)]))
        for event in load(name).events.values()
    )
    return table(("event", "payload"), rows)


def _field(field: Field) -> str:
    return code(f"{field.name}: {write_declaration(field.type, field.default)}")


def write_findings(name: str) -> str:
    """Return what the checker has to say about a bundled contract."""
    rows = [
        (
            found.severity,
            f"[`{found.code}`](../problems.md#{found.code})",
            found.where,
            found.message,
            " → ".join(map(code, found.witness)),
        )
        for found in check(name)
    ]
    if not rows:
        return "`interlock check` has nothing to say about it.\n"
    return table(("", "code", "where", "what", "shown by"), rows)


GENERATORS: dict[str, Callable[..., str]] = {
    "about": write_about,
    "arithmetic": write_arithmetic,
    "commands": write_commands,
    "contracts": write_contracts,
    "events": write_events,
    "exit-codes": write_exit_codes,
    "findings": write_findings,
    "keys": write_keys,
    "limits": write_limits,
    "problems": write_problems,
    "readings": write_readings,
    "refusals": write_refusals,
    "rows": write_rows,
    "states": write_states,
}

PARTS = {
    "states": "States",
    "events": "Events",
    "rows": "Rows",
    "findings": "What the checker says",
}


def first_page(name: str) -> str:
    """Return the page of a bundled contract that nobody has written anything on."""
    block = "<!-- generated: {} {} -->\n<!-- end -->\n"
    parts = (f"\n## {title}\n\n" + block.format(part, name) for part, title in PARTS.items())
    return f"# {name}\n\n" + block.format("about", name) + "".join(parts)


def regenerate(text: str) -> str:
    """Return a page with what is between its marks written anew."""

    def write(found: re.Match[str]) -> str:
        name, *words = found[2].split()
        body = GENERATORS[name](*words)
        return f"{found[1]}\n{body}\n{found[3]}"

    return GENERATED.sub(write, text)


def wanted_files() -> dict[Path, str]:
    """Return every file that is generated, whole or in part, with what it should hold."""
    found = {DOCS / "reference" / "contract.schema.json": schema.write_schema()}
    pages = {path: path.read_text("utf-8") for path in DOCS.rglob("*.md")}
    for name in bundled():
        found[DOCS / "diagrams" / f"{name}.svg"] = draw(load(name), "svg")
        page = DOCS / "reference" / "contracts" / f"{name}.md"
        pages.setdefault(page, first_page(name))
    generated = {path: text for path, text in pages.items() if GENERATED.search(text)}
    return dict(sorted((found | {p: regenerate(t) for p, t in generated.items()}).items()))


def stale_files() -> dict[Path, str]:
    """Return the generated files that do not hold what they should."""
    wanted = wanted_files().items()
    return {
        path: text for path, text in wanted if not path.exists() or path.read_text("utf-8") != text
    }


def main(arguments: list[str]) -> int:
    """Write what is stale, or with `--check` only tell it; 1 when there was something to tell."""
    stale = stale_files()
    only_tell = arguments == ["--check"]
    for path, text in stale.items():
        print(f"{'stale' if only_tell else 'wrote'} {path.relative_to(ROOT)}")
        if not only_tell:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if stale and only_tell else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
