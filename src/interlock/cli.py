"""The command line: every command is a thin reading of arguments and a printing of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.model import Contract
    from interlock.contract.read import Read

app = typer.Typer(
    name="interlock",
    help="Interlock runs lifecycles: check, draw, play and compare contracts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

FILE = Annotated[str, typer.Argument(help="A contract's file, or the name of a bundled one.")]
POLICY = Annotated[
    str | None, typer.Option(help="The policy that goes with a workflow definition.")
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
OUT = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file.")]

CANNOT_READ = 2


def main() -> None:
    """Run the command line, telling expected errors in one line each."""
    from interlock.errors import TOLD, InterlockError

    try:
        app()
    except InterlockError as error:
        typer.secho(f"interlock: {error}", fg="red", err=True)
        sys.exit(TOLD[type(error)].exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _json(value: object) -> str:
    from decimal import Decimal

    import msgspec

    from interlock.contract.values import write_json

    return write_json(msgspec.to_builtins(value, builtin_types=(Decimal,)))


def _write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as reason:
        _fail(f"cannot write {out}: {reason.strerror}")
    typer.echo(f"wrote {out}", err=True)


def _fail(message: str, code: int = CANNOT_READ) -> NoReturn:
    typer.secho(f"interlock: {message}", fg="red", err=True)
    raise typer.Exit(code)


def _lines() -> Iterator[str]:
    """Yield the lines of standard input, whatever bytes they hold."""
    for line in sys.stdin.buffer:
        if line.strip():
            yield line.decode("utf-8", "surrogateescape")


def _examine(file: str, policy: str | None) -> Read:
    from interlock.loading import examine

    result = examine(file, policy=policy)
    if not result.source.text and result.problems and not result.problems[0].line:
        unread = result.problems[0].message
        if unread.startswith("cannot read"):
            _fail(unread)
    return result


def _load(file: str, policy: str | None = None) -> Contract:
    """Return a contract that can be used, or print its errors and exit."""
    from interlock.contract.problem import has_errors
    from interlock.contract.show import show_problems

    result = _examine(file, policy)
    if result.contract is None or has_errors(result.problems):
        errors = [problem for problem in result.problems if problem.severity == "error"]
        typer.echo(show_problems(errors, result.source, color=sys.stderr.isatty()), err=True)
        raise typer.Exit(1)
    return result.contract


@app.command()
def check(file: FILE, policy: POLICY = None, json: JSON = False) -> None:
    """Report everything that is wrong with a contract.

    Exit status: 0 ok or warnings only, 1 errors, 2 the file cannot be read.
    """
    from interlock.contract.problem import has_errors
    from interlock.contract.show import show_problems, summary

    try:
        result = _examine(file, policy)
    except typer.Exit:
        if json:
            typer.echo(_json(_report(None, [], ok=False)))
        raise
    ok = result.contract is not None and not has_errors(result.problems)
    if json:
        typer.echo(_json(_report(result.contract, result.problems, ok=ok)))
    else:
        if result.problems:
            typer.echo(show_problems(result.problems, result.source, color=sys.stdout.isatty()))
        typer.echo(summary(result.contract, result.problems, color=sys.stdout.isatty()))
    raise typer.Exit(0 if ok else 1)


def _report(contract: Contract | None, problems: list[Any], *, ok: bool) -> dict[str, object]:
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


@app.command()
def guard(
    expression: Annotated[
        str | None, typer.Argument(help="A guard in the three-token language.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="A JSON object to evaluate it on.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Answer JSON lines.")] = False,
) -> None:
    """Parse or evaluate guards of the FSM contract dialect."""
    from interlock.contract.guard import answer_line

    if stdin:
        for line in _lines():
            typer.echo(answer_line(line))
        return
    if expression is None:
        _fail("give a guard, or --stdin")
    data = context if context is not None else "null"
    answer = answer_line(f'{{"expr": {_json(expression)}, "context": {data}}}')
    typer.echo(answer)
    raise typer.Exit(1 if '"error"' in answer else 0)


@app.command()
def simulate(
    file: FILE,
    events: Annotated[
        list[str] | None, typer.Argument(help="Events to play: `name` or `name={payload}`.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Answer JSON lines.")] = False,
    state: Annotated[str | None, typer.Option(help="Begin in this state.")] = None,
    context: Annotated[str | None, typer.Option(help="Begin with this JSON context.")] = None,
    policy: POLICY = None,
    json: JSON = False,
) -> None:
    """Play events through a contract: given as arguments, typed in, or as JSON lines."""
    contract = _load(file, policy)
    if stdin:
        from interlock.play import answer_line

        for line in _lines():
            typer.echo(answer_line(contract, line))
        return
    from interlock.session import Session

    session = Session(contract, state=state, context=context)
    if events or json or not sys.stdin.isatty():
        session.script(events or [])
        typer.echo(_json(session.result()) if json else session.story(color=sys.stdout.isatty()))
        return
    session.converse()


@app.command()
def diagram(
    file: FILE,
    form: Annotated[str, typer.Option(help="mermaid, dot or svg.")] = "",
    out: OUT = None,
    policy: POLICY = None,
) -> None:
    """Draw a contract as Mermaid, Graphviz DOT or a self-contained SVG."""
    from interlock.diagram import draw

    ending = out.suffix.lstrip(".") if out else ""
    chosen: Any = form or {"svg": "svg", "dot": "dot", "gv": "dot"}.get(ending, "mermaid")
    if chosen not in {"mermaid", "dot", "svg"}:
        _fail(f"no form {chosen!r}: mermaid, dot or svg")
    _write(draw(_load(file, policy), chosen), out)


@app.command()
def convert(file: FILE, policy: POLICY = None, out: OUT = None) -> None:
    """Write a contract of any form as native YAML."""
    from interlock.contract.write import write_native

    _write(write_native(_load(file, policy)), out)


@app.command()
def walk(
    file: FILE,
    pytest: Annotated[bool, typer.Option("--pytest", help="Print a pytest module.")] = False,
    policy: POLICY = None,
    json: JSON = False,
    out: OUT = None,
) -> None:
    """Find the shortest event sequences that cover every row of a contract."""
    from interlock.walk import as_pytest, show_paths
    from interlock.walk import walk as walk_rows

    contract = _load(file, policy)
    if pytest:
        _write(as_pytest(contract, file), out)
        return
    found = walk_rows(contract)
    _write(_json(found) if json else show_paths(found), out)


@app.command()
def diff(old: FILE, new: FILE, json: JSON = False) -> None:
    """Tell what a new version means for instances of the old one.

    Exit status: 0 compatible, 1 needs a map or breaking, 2 a file cannot be read.
    """
    from interlock.contract.diff import compare, verdict
    from interlock.contract.show import show_changes

    changes = compare(_load(old), _load(new))
    result = verdict(changes)
    if json:
        typer.echo(_json({"verdict": result, "changes": changes}))
    else:
        typer.echo(show_changes(changes, result, color=sys.stdout.isatty()))
    raise typer.Exit(0 if result == "compatible" else 1)


@app.command()
def schema(out: OUT = None) -> None:
    """Print the JSON Schema of native contracts, for editors."""
    from interlock.contract.schema import write_schema

    _write(write_schema(), out)


@app.command()
def contracts() -> None:
    """List the bundled contracts."""
    from interlock.contract.read import bundled
    from interlock.loading import load

    for name in bundled():
        contract = load(name)
        typer.echo(f"{name:<22} {contract.version:<8} {contract.text}")


@app.command()
def demo(
    seconds: Annotated[
        float, typer.Option("--for", help="How long the show may take at most.")
    ] = 20.0,
) -> None:
    """Show Interlock at work on the bundled contracts."""
    from interlock.demo import show

    show(seconds=seconds)
