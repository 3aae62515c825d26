"""Counters: sugar for a field that events raise, bound and reset."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from interlock.contract.expression.expr import (
    Arithmetic,
    Compare,
    Const,
    Expr,
    Name,
    all_of,
    names_in,
)
from interlock.contract.expression.values import INT
from interlock.contract.model import Contract, Field, Row, Update
from interlock.contract.problem import NOWHERE, Mark


class Counter(Struct, frozen=True, kw_only=True):
    """A context field, its bound, and the events that raise and reset it."""

    field: str
    limit: int | None = None
    up: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    mark: Mark = NOWHERE


def apply_counters(contract: Contract, counters: tuple[Counter, ...]) -> Contract:
    """Write counters out as fields, guards and updates."""
    for counter in counters:
        contract = _apply(contract, counter)
    return contract


def _apply(contract: Contract, counter: Counter) -> Contract:
    field = Field(name=counter.field, type=INT, default=0, mark=counter.mark)
    states = {
        name: msgspec.structs.replace(state, rows=_count(state.rows, counter))
        for name, state in contract.states.items()
    }
    owned = contract.owned if counter.field in contract.owned else (*contract.owned, counter.field)
    return msgspec.structs.replace(
        contract,
        states=states,
        any=_count(contract.any, counter),
        context={**contract.context, counter.field: contract.context.get(counter.field, field)},
        owned=owned,
    )


def _count(rows: tuple[Row, ...], counter: Counter) -> tuple[Row, ...]:
    return tuple(_count_row(row, counter) for row in rows)


def _count_row(row: Row, counter: Counter) -> Row:
    if any(update.field == counter.field for update in row.updates):
        return row
    name = Name(counter.field)
    if row.event in counter.reset:
        return _with_update(row, counter, Const(0))
    if row.event not in counter.up:
        return row
    counted = _with_update(row, counter, Arithmetic("+", name, Const(1)))
    bounded = row.when is not None and counter.field in names_in(row.when)
    if counter.limit is None or bounded or row.otherwise:
        return counted
    limit = Compare("<", name, Const(counter.limit))
    guards = (limit,) if row.when is None else (row.when, limit)
    return msgspec.structs.replace(counted, when=all_of(guards))


def _with_update(row: Row, counter: Counter, value: Expr) -> Row:
    update = Update(counter.field, value, counter.mark)
    return msgspec.structs.replace(row, updates=(*row.updates, update))
