"""Where the rows of a contract stand, for saying what is wrong with them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from interlock.contract import keys
from interlock.contract.problem import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.model import Contract, Effect, Row, State


class Placed(NamedTuple):
    """A row with its place; a row of every state has no state of its own."""

    where: str
    row: Row
    state: State | None = None
    always: bool = False

    @property
    def mark(self) -> Mark:
        """The row's place in the text."""
        return self.row.mark


class Asked(NamedTuple):
    """An effect with its place."""

    where: str
    effect: Effect


def placed_rows(contract: Contract) -> tuple[Placed, ...]:
    """Return every row of a contract once, in the order of the text."""
    return tuple(_placed_rows(contract))


def _placed_rows(contract: Contract) -> Iterator[Placed]:
    for state in contract.states.values():
        where = f"states.{state.name}"
        for place, row in _numbered(state.rows, where, "on"):
            yield Placed(place, row, state)
        for index, row in enumerate(state.always):
            yield Placed(f"{where}.always[{index}]", row, state, always=True)
    for place, row in _numbered(contract.any, "any", ""):
        yield Placed(place, row)


def _numbered(rows: tuple[Row, ...], where: str, spelled: str) -> Iterator[tuple[str, Row]]:
    """Yield rows with their places, numbered within each event."""
    seen: Counter[str | None] = Counter()
    for row in rows:
        under = f"{where}.{spelled}" if spelled and row.event in keys.STATE else where
        yield f"{under}.{row.event}[{seen[row.event]}]", row
        seen[row.event] += 1


def placed_effects(where: str, key: str, effects: tuple[Effect, ...]) -> Iterator[Asked]:
    """Yield effects with their places."""
    for index, effect in enumerate(effects):
        yield Asked(f"{where}.{key}[{index}]", effect)


def state_effects(state: State) -> Iterator[Asked]:
    """Yield the effects of entering and of leaving a state, with their places."""
    where = f"states.{state.name}"
    yield from placed_effects(where, "enter", state.enter)
    yield from placed_effects(where, "exit", state.exit)


def shown(placed: Placed) -> str:
    """Say in words where a row leads and whose it is."""
    named = f"{placed.row.name!r}" if placed.row.name else f"to {placed.row.to or 'stay'}"
    return f"the row {named} (line {placed.mark.line})" if placed.mark.line else f"the row {named}"


def moved(mark: Mark, offset: int) -> Mark:
    """Return the place of an offset in an expression that begins at a mark."""
    return Mark(mark.line, mark.column + offset) if mark.line else mark
