"""Problems and changes as text for people: place, reason, the line with a caret, the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.model import all_rows
from interlock.contract.read import POLICY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.contract.compare.versions import Change
    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem
    from interlock.contract.read import Read, Source

WIDTH = 110
_COLORS = {"error": "1;31", "warning": "1;33", "good": "1;32", "place": "1", "faint": "2"}


def paint(text: str, style: str, *, color: bool) -> str:
    """Return a text in a terminal style, or as it is."""
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if color else text


def show_problems(problems: Sequence[Problem], read: Read, *, color: bool) -> str:
    """Return problems with their places, excerpts and hints."""
    return "\n\n".join(_show(found, _source_of(found, read), color=color) for found in problems)


def _source_of(found: Problem, read: Read) -> Source:
    """Return the text a problem is about: the policy's, where there is one, or the contract's."""
    in_policy = read.policy is not None and found.where.split(".")[0] == POLICY
    return read.policy if in_policy and read.policy is not None else read.source


def _show(problem: Problem, source: Source, *, color: bool) -> str:
    name, text = source.name, source.text
    lines = (text if isinstance(text, str) else text.decode("utf-8", "replace")).splitlines()
    place = f"{name}:{problem.line}:{problem.column}" if problem.line else name
    kind = paint(f"{problem.severity}[{problem.code}]", problem.severity, color=color)
    found = [f"{paint(place, 'place', color=color)}: {kind} {problem.message}"]
    found += _excerpt(problem, lines, color=color)
    if problem.where:
        found.append(f"  {paint('at', 'faint', color=color)} {problem.where}")
    if problem.witness:
        found.append(f"  {paint('shown by', 'faint', color=color)} {' -> '.join(problem.witness)}")
    if problem.hint:
        found.append(f"  {paint('hint:', 'good', color=color)} {problem.hint}")
    return "\n".join(found)


def _excerpt(problem: Problem, lines: list[str], *, color: bool) -> list[str]:
    if not 0 < problem.line <= len(lines):
        return []
    line = "".join(sign if sign.isprintable() else " " for sign in lines[problem.line - 1])
    column = max(problem.column - 1, 0)
    first = max(0, column - WIDTH // 2) if len(line) > WIDTH else 0
    number = str(problem.line)
    caret = " " * (column - first) + "^"
    return [
        f"  {paint(number + ' |', 'faint', color=color)} {line[first : first + WIDTH]}",
        f"  {' ' * len(number)} {paint('|', 'faint', color=color)} "
        + paint(caret, problem.severity, color=color),
    ]


def summary(contract: Contract | None, problems: Sequence[Problem], *, color: bool) -> str:
    """Return one line that says how it stands with a contract."""
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    counts = ", ".join(
        f"{count} {word}{'s' if count != 1 else ''}"
        for count, word in ((errors, "error"), (warnings, "warning"))
        if count
    )
    if contract is None or errors:
        return paint(counts or "no contract", "error", color=color)
    rows = len(all_rows(contract))
    tests = f", {len(contract.tests)} tests passed" if contract.tests else ""
    about = f"{contract.name} {contract.version}: {len(contract.states)} states, {rows} rows{tests}"
    good = paint("ok", "good", color=color)
    return f"{good} {about}" + (f" ({paint(counts, 'warning', color=color)})" if counts else "")


_KINDS = {"compatible": "good", "needs a map": "warning", "breaking": "error"}


def show_changes(changes: Sequence[Change], verdict: str, *, color: bool) -> str:
    """Return what changed between two versions, and what it comes to."""
    found: list[str] = []
    for change in changes:
        kind = paint(f"{change.kind:<12}", _KINDS[change.kind], color=color)
        found.append(f"{kind} {change.where}: {change.message}")
        if change.hint:
            found.append(f"{'':<12}   {paint('hint:', 'good', color=color)} {change.hint}")
    found.append(paint(verdict, _KINDS[verdict], color=color))
    return "\n".join(found)
