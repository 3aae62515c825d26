"""Rows that count under a bound, as retries do: guard, update and outcome in one function.

A step costs little more than its calls, so the row that every retry takes is made with one
call instead of three. It answers nothing where it does not apply, and the row is then tried
like any other; what it answers is what that would have answered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.data import Context
from interlock.contract.expression.expr import Arithmetic, Compare, Const, Expr, Name
from interlock.contract.expression.values import INT, MAX_INT
from interlock.contract.outcome import Moved

if TYPE_CHECKING:
    from interlock.contract.model import Contract, Row
    from interlock.contract.tables import ReadyRow

Counted = Callable[[Context], Moved | None]
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Count(NamedTuple):
    """A whole number that a row moves by a step, while it compares with a bound."""

    field: str
    op: str
    bound: int
    step: int


def counted_row(contract: Contract, ready: ReadyRow) -> Counted | None:
    """Return the row as one function, if it only counts under a bound and moves."""
    count = _count_of(contract, ready.detail.row)
    if count is None or ready.simple is None:
        return None
    target, intents, trail, rows = ready.simple, ready.intents, ready.trail, ready.rows
    field, step, bound, holds = count.field, count.step, count.bound, _HOLDS[count.op]
    highest, lowest = MAX_INT - max(step, 0), -MAX_INT - min(step, 0)

    def take(context: Context) -> Moved | None:
        value = context[field]
        if not holds(value, bound) or not lowest <= value <= highest:
            return None
        after = context.copy()
        after[field] = value + step
        return Moved(target, Context(after), intents, trail, rows)

    return take


def _count_of(contract: Contract, row: Row) -> Count | None:
    match row.when, [(update.field, update.value) for update in row.updates]:
        case (
            Compare(op=op, left=Name(name=field), right=Const(value=int() as bound)),
            [(target, value)],
        ) if op in _HOLDS and target == field and contract.context[field].type == INT:
            step = _step_of(value)
            return Count(field, op, bound, step[1]) if step and step[0] == field else None
        case _:
            return None


def _step_of(value: Expr) -> tuple[str, int] | None:
    """Return the field and the difference where an expression counts up or down."""
    match value:
        case Arithmetic(op="+", left=Name(name=name), right=Const(value=int() as delta)):
            return name, delta
        case Arithmetic(op="-", left=Name(name=name), right=Const(value=int() as delta)):
            return name, -delta
        case _:
            return None
