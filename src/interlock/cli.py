"""The command line: every command is a thin reading of arguments and a printing of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from interlock import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem
    from interlock.contract.read import Read
    from interlock.diagram import Form

CANNOT_READ = 2
ENDINGS: dict[str, Form] = {
    "": "mermaid",
    ".md": "mermaid",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
}

file_argument = click.argument("file")
policy_option = click.option("--policy", help="The policy that goes with a workflow definition.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
stdin_option = click.option("--stdin", is_flag=True, help="Answer JSON lines.")
out_option = click.option(
    "--out", "-o", type=click.Path(path_type=Path), help="Write to this file."
)


@click.group()
@click.version_option(__version__, prog_name="interlock")
def app() -> None:
    """Interlock runs lifecycles: check, draw, play and compare contracts.

    FILE is a contract's file, or the name of a bundled contract.
    """


def main() -> None:
    """Run the command line, telling expected errors in one line each."""
    from interlock.errors import TOLD, InterlockError

    try:
        app()
    except InterlockError as error:
        click.secho(f"interlock: {error}", fg="red", err=True)
        sys.exit(next(TOLD[kind].exit_code for kind in type(error).__mro__ if kind in TOLD))


def _json(value: object) -> str:
    from decimal import Decimal

    import msgspec

    from interlock.contract.expression.values import write_json

    return write_json(msgspec.to_builtins(value, builtin_types=(Decimal,)))


def _write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as reason:
        _fail(f"cannot write {out}: {reason.strerror}")
    click.echo(f"wrote {out}", err=True)


def _fail(message: str, status: int = CANNOT_READ) -> NoReturn:
    click.secho(f"interlock: {message}", fg="red", err=True)
    sys.exit(status)


def _lines() -> Iterator[str]:
    """Yield the lines of standard input, whatever bytes they hold."""
    for line in sys.stdin.buffer:
        if line.strip():
            yield line.decode("utf-8", "surrogateescape")


def _load(file: str, policy: str | None = None) -> Contract:
    """Return a contract that can be used, or print its errors and exit."""
    from interlock.contract.problem import has_errors
    from interlock.loading import examine
    from interlock.show import show_problems

    result = examine(file, policy=policy)
    if result.contract is None or has_errors(result.problems):
        errors = [problem for problem in result.problems if problem.severity == "error"]
        click.echo(show_problems(errors, result, color=sys.stderr.isatty()), err=True)
        sys.exit(_status(result, ok=False))
    return result.contract


def _status(result: Read, *, ok: bool) -> int:
    if ok:
        return 0
    unreadable = any(problem.code == "unreadable" for problem in result.problems)
    return CANNOT_READ if unreadable else 1


@app.command(short_help="Report everything that is wrong with a contract.")
@file_argument
@policy_option
@json_option
def check(*, file: str, policy: str | None, as_json: bool) -> None:
    """Report everything that is wrong with a contract.

    Exit status: 0 ok or warnings only, 1 errors, 2 the file cannot be read.
    """
    from interlock.contract.problem import has_errors
    from interlock.loading import examine
    from interlock.show import show_problems, summary

    result = examine(file, policy=policy)
    ok = result.contract is not None and not has_errors(result.problems)
    color = sys.stdout.isatty()
    if as_json:
        click.echo(_json(_report(result.contract, result.problems, ok=ok)))
    else:
        if result.problems:
            click.echo(show_problems(result.problems, result, color=color) + "\n")
        click.echo(summary(result.contract, result.problems, color=color))
    sys.exit(_status(result, ok=ok))


def _report(contract: Contract | None, problems: list[Problem], *, ok: bool) -> dict[str, object]:
    from interlock.contract.model import all_rows

    return {
        "ok": ok,
        "contract": None if contract is None else contract.name,
        "version": None if contract is None else contract.version,
        "hash": contract.hash if contract is not None and ok else None,
        "states": 0 if contract is None else len(contract.states),
        "rows": 0 if contract is None else len(all_rows(contract)),
        "problems": problems,
    }


@app.command(short_help="Parse or evaluate guards of the FSM dialect.")
@click.argument("expression", required=False)
@click.option("--context", help="A JSON object to evaluate the guard on.")
@stdin_option
def guard(*, expression: str | None, context: str | None, stdin: bool) -> None:
    """Parse or evaluate guards of the FSM contract dialect."""
    from interlock.contract.expression.values import decode_json
    from interlock.contract.fsm.guard import answer, answer_line

    if stdin:
        for line in _lines():
            click.echo(answer_line(line))
        return
    if expression is None:
        _fail("give a guard, or --stdin")
    try:
        data = None if context is None else decode_json(context)
    except ValueError as reason:
        _fail(f"the context is not JSON: {reason}")
    answered = answer({"expr": expression, "context": data})
    click.echo(_json(answered))
    sys.exit(1 if "error" in answered else 0)


@app.command(short_help="Play events through a contract.")
@file_argument
@click.argument("events", nargs=-1)
@stdin_option
@click.option("--state", help="Begin in this state.")
@click.option("--context", help="Begin with this JSON context.")
@policy_option
@json_option
def simulate(
    *,
    file: str,
    events: tuple[str, ...],
    stdin: bool,
    state: str | None,
    context: str | None,
    policy: str | None,
    as_json: bool,
) -> None:
    """Play events through a contract: typed in, or given as `name` or `name={payload}`.

    With --stdin every line is a JSON request and is answered by a JSON line.
    """
    contract = _load(file, policy)
    if stdin:
        from interlock.play import answer_line

        for line in _lines():
            click.echo(answer_line(contract, line))
        return
    from interlock.session import Session

    session = Session(contract, state=state, context=context)
    if events or as_json or not sys.stdin.isatty():
        typed = (line.strip() for line in _lines()) if not events else ()
        session.script(list(events) or list(typed))
        color = sys.stdout.isatty()
        click.echo(_json(session.result()) if as_json else session.story(color=color))
        sys.exit(CANNOT_READ if session.trouble else 0)
    session.converse()


@app.command(short_help="Draw a contract.")
@file_argument
@click.option("--form", type=click.Choice(["mermaid", "dot", "svg"]), help="What to draw it as.")
@out_option
@policy_option
def diagram(*, file: str, form: Form | None, out: Path | None, policy: str | None) -> None:
    """Draw a contract as Mermaid, Graphviz DOT or a self-contained SVG.

    Without --form the ending of the file written decides; Mermaid is the default.
    """
    from interlock.diagram import draw

    chosen = form or ENDINGS.get(out.suffix if out else "")
    if chosen is None:
        _fail(f"{out} tells no form by its ending: .mmd, .dot or .svg, or say --form")
    _write(draw(_load(file, policy), chosen), out)


@app.command(short_help="Write a contract of any form as native YAML.")
@file_argument
@policy_option
@out_option
def convert(*, file: str, policy: str | None, out: Path | None) -> None:
    """Write a contract of any form as native YAML."""
    from interlock.contract.native.write import write_native

    _write(write_native(_load(file, policy)), out)


@app.command(short_help="Find event sequences that cover every row.")
@file_argument
@click.option("--pytest", is_flag=True, help="Print a pytest module.")
@policy_option
@json_option
@out_option
def walk(*, file: str, pytest: bool, policy: str | None, as_json: bool, out: Path | None) -> None:
    """Find the shortest event sequences that cover every row of a contract."""
    from interlock.walk.paths import as_pytest, show_paths
    from interlock.walk.paths import walk as walk_rows

    contract = _load(file, policy)
    if pytest:
        _write(as_pytest(contract, file), out)
        return
    found = walk_rows(contract)
    _write(_json(found) if as_json else show_paths(found), out)


@app.command(short_help="Tell what a new version means for the old one's instances.")
@click.argument("old")
@click.argument("new")
@click.option("--old-policy", help="The policy that goes with OLD.")
@click.option("--new-policy", help="The policy that goes with NEW.")
@json_option
def diff(
    *, old: str, new: str, old_policy: str | None, new_policy: str | None, as_json: bool
) -> None:
    """Tell what a new version means for instances of the old one.

    Exit status: 0 compatible, 1 needs a map or breaking, 2 a file cannot be read.
    """
    from interlock.contract.compare.versions import compare, verdict
    from interlock.show import show_changes

    changes = compare(_load(old, old_policy), _load(new, new_policy))
    result = verdict(changes)
    if as_json:
        click.echo(_json({"verdict": result, "changes": changes}))
    else:
        click.echo(show_changes(changes, result, color=sys.stdout.isatty()))
    sys.exit(0 if result == "compatible" else 1)


@app.command(short_help="Print the JSON Schema of native contracts.")
@out_option
def schema(*, out: Path | None) -> None:
    """Print the JSON Schema of native contracts, for editors."""
    from interlock.contract.native.schema import write_schema

    _write(write_schema(), out)


@app.command(short_help="List the bundled contracts.")
def contracts() -> None:
    """List the bundled contracts."""
    from interlock.contract.read import bundled
    from interlock.loading import load

    for name in bundled():
        contract = load(name)
        click.echo(f"{name:<22} {contract.version:<8} {contract.text}")


@app.command(short_help="Show Interlock at work.")
@click.option("--for", "seconds", default=20.0, help="How long the show may take, in seconds.")
def demo(*, seconds: float) -> None:
    """Show Interlock at work on the bundled contracts."""
    from interlock.demo import show

    show(seconds=seconds)
