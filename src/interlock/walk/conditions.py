"""What rows ask for: now, of a payload, and later, of what a payload brings into the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.contract.expression.expr import (
    Arithmetic,
    Call,
    Choice,
    Compare,
    Const,
    EventField,
    Expr,
    Items,
    Logic,
    Name,
    Negative,
    Not,
    children,
    event_fields_in,
    names_in,
)
from interlock.contract.expression.scope import bare_field
from interlock.contract.expression.values import JSON
from interlock.contract.model import all_rows
from interlock.walk.samples import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.contract.model import Contract, Row

MAX_CONDITIONS = 200
ROUNDS = 2
EXAMPLES = 2


def conditions_of(rows: Iterable[Row]) -> list[Expr]:
    """Return the single conditions within the guards of rows."""
    return list(dict.fromkeys(atom for row in rows for atom in _atoms(row.when)))


def _atoms(expr: Expr | None) -> list[Expr]:
    match expr:
        case None:
            return []
        case Logic() | Not() | Choice():
            return [atom for child in children(expr) for atom in _atoms(child)]
        case _:
            return [expr]


def later_conditions(contract: Contract, aims: tuple[Row, ...] = ()) -> list[Expr]:
    """Return the conditions on the context, and what they were before the updates of rows.

    First are those of rows aimed at, even where they read a payload too: that is then taken to
    hold plain examples.
    """
    aimed = _through_updates(contract, aims, EXAMPLES)
    return list(dict.fromkeys([*aimed, *_through_updates(contract, all_rows(contract), 0)]))


def _through_updates(contract: Contract, rows: tuple[Row, ...], examples: int) -> list[Expr]:
    found: dict[Expr, None] = {}
    for row in rows:
        found |= dict.fromkeys(_on_context(contract, row, _atoms(row.when), examples))
    for _ in range(ROUNDS):
        for row in all_rows(contract):
            earlier = [before(atom, row) for atom in found]
            found |= dict.fromkeys(_on_context(contract, row, earlier, examples))
            if len(found) > MAX_CONDITIONS:
                return list(found)[:MAX_CONDITIONS]
    return list(found)


def _on_context(
    contract: Contract, row: Row, conditions: Iterable[Expr], examples: int
) -> list[Expr]:
    """Return conditions without what they read of a row's event: left out, or by examples."""
    event = contract.events.get(row.event or "")
    types = {field.name: field.type for field in event.fields} if event is not None else {}
    found: list[Expr] = []
    for condition in conditions:
        names = event_fields_in(condition)
        if not names:
            found.append(condition)
        elif names_in(condition):
            values = [values_of(types.get(name, JSON))[:examples] for name in names]
            for example in zip(*values, strict=False):
                held = zip(names, example, strict=True)
                found.append(_replace(condition, {EventField(n): Const(one) for n, one in held}))
    return found


def before(condition: Expr, row: Row) -> Expr:
    """Return what must hold before a row's updates for a condition to hold after them."""
    return _replace(condition, {Name(update.field): update.value for update in row.updates})


def _replace(expr: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """Return a condition with other expressions in the place of its fields."""
    change = msgspec.structs.replace
    match expr:
        case Name() | EventField():
            return new.get(bare_field(expr), expr)
        case Items(items=items) | Logic(items=items):
            return change(expr, items=tuple(_replace(item, new) for item in items))
        case Call(arguments=arguments):
            return change(expr, arguments=tuple(_replace(one, new) for one in arguments))
        case Negative(operand=operand) | Not(operand=operand):
            return change(expr, operand=_replace(operand, new))
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return change(expr, left=_replace(left, new), right=_replace(right, new))
        case Choice(then=then, test=test, otherwise=otherwise):
            parts = [_replace(part, new) for part in (then, test, otherwise)]
            return change(expr, then=parts[0], test=parts[1], otherwise=parts[2])
        case _:
            return expr


def deciding_fields(contract: Contract) -> tuple[str, ...]:
    """Return the context fields that decide how events are answered, be it by a computation."""
    rows = all_rows(contract)
    exprs = [row.when for row in rows if row.when is not None]
    exprs += [update.value for row in rows for update in row.updates]
    effects = [effect for row in rows for effect in row.effects]
    for state in contract.states.values():
        effects += (*state.enter, *state.exit)
    computed = [argument.value for effect in effects for argument in effect.arguments]
    exprs += [value for value in computed if not isinstance(value, Name)]
    return tuple(dict.fromkeys(name for expr in exprs for name in names_in(expr)))
