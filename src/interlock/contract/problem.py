"""What the reader and the checker have to say about a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning"]


class Mark(Struct, frozen=True, order=True):
    """A place in a source text, counted from one; zero where there is no text."""

    line: int = 0
    column: int = 0


NOWHERE = Mark()


class Problem(Struct, frozen=True, kw_only=True):
    """One thing wrong with a contract, with its place, its reason and a way out."""

    code: str
    severity: Severity = "error"
    where: str = ""
    line: int = 0
    column: int = 0
    message: str
    hint: str = ""
    witness: tuple[str, ...] = ()


def problem(
    code: str,
    message: str,
    *,
    mark: Mark = NOWHERE,
    where: str = "",
    hint: str = "",
    severity: Severity = "error",
    witness: tuple[str, ...] = (),
) -> Problem:
    """Return a problem at a mark."""
    return Problem(
        code=code,
        severity=severity,
        where=where,
        line=mark.line,
        column=mark.column,
        message=message,
        hint=hint,
        witness=witness,
    )


def has_errors(problems: list[Problem]) -> bool:
    """Tell whether any problem refuses the contract."""
    return any(found.severity == "error" for found in problems)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known word, or nothing."""
    import difflib  # only where something is wrong

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""
