"""Whether guards can hold together, and whether some data is left that none holds for.

A guard becomes boxes: alternatives, each a set of values for every quantity it reads. What cannot
be split into quantities (a pattern, a comparison of texts) counts as a quantity of its own that is
true or false; then an answer of "never" is sure, and any other is undecided.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.domain import (
    BOOLS,
    NULL,
    PRESENT,
    Domain,
    example,
    join,
    meet,
    only,
    opposite,
)
from interlock.contract.check.quantities import Frame, Quantity, fields_in, know_field
from interlock.contract.check.sums import linear
from interlock.contract.expression.expr import (
    Call,
    Choice,
    Compare,
    Const,
    EventField,
    Expr,
    Items,
    Logic,
    Name,
    Not,
    write_expression,
)
from interlock.contract.expression.values import BOOL

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BOXES = 48
MAX_SHOWN = 5
MAX_EXAMPLE = 40

Box = dict[str, Domain]
_SCALARS = meet(PRESENT, opposite(Domain(other=True)))


class Possible(NamedTuple):
    """Data that may exist: surely, with an example, or undecided."""

    sure: bool
    example: str = ""


def together(
    frame: Frame, holding: Iterable[Expr | None], failing: Iterable[Expr] = ()
) -> Possible | None:
    """Tell whether there is data for which some guards hold and others do not."""
    boxes: list[Box] | None = [{}]
    parts = [(guard, True) for guard in holding if guard is not None]
    parts += [(guard, False) for guard in failing]
    for guard, holds in parts:
        boxes = _both(boxes, _boxes(guard, frame, holds=holds), frame)
    if boxes is None:
        return Possible(sure=False)
    left = [box for box in boxes if _is_possible(box, frame)]
    if not left:
        return None
    sure = next((box for box in left if _is_sure(box, frame)), None)
    return Possible(sure=False) if sure is None else Possible(True, _shown(sure, frame))  # noqa: FBT003


def _is_possible(box: Box, frame: Frame) -> bool:
    return all(meet(values, frame.quantities[key].values) for key, values in box.items())


def _is_sure(box: Box, frame: Frame) -> bool:
    """Tell whether each quantity can be chosen by itself."""
    seen: set[str] = set()
    for key in box:
        quantity = frame.quantities[key]
        if not quantity.free or seen & quantity.fields:
            return False
        seen |= quantity.fields
    return True


def _shown(box: Box, frame: Frame) -> str:
    found: list[str] = []
    for key, values in list(box.items())[:MAX_SHOWN]:
        quantity = frame.quantities[key]
        text = example(meet(values, quantity.values), quantity.type)
        shown = text is not None and len(text) <= MAX_EXAMPLE
        found.append(f"{key} = {text if shown else '...'}")
    return ", ".join(found if len(box) <= MAX_SHOWN else [*found, "..."])


def _both(ones: list[Box] | None, others: list[Box] | None, frame: Frame) -> list[Box] | None:
    """Return the boxes of two conditions that both hold, or nothing where they are too many."""
    if ones is None or others is None or not frame.effort.spend(len(ones) * len(others)):
        return None
    found: list[Box] = []
    for one in ones:
        for other in others:
            box = dict(one)
            for key, values in other.items():
                box[key] = meet(box[key], values) if key in box else values
            if all(box.values()) and box not in found:
                found.append(box)
        if len(found) > MAX_BOXES:
            return None
    return found


def _boxes(expr: Expr, frame: Frame, *, holds: bool) -> list[Box] | None:
    match expr:
        case Const(value=value):
            return [{}] if (value is True) is holds else []
        case Not(operand=operand):
            return _boxes(operand, frame, holds=not holds)
        case Logic(op=op, items=items):
            return _joined(items, frame, every=(op == "and") is holds, holds=holds)
        case Choice(then=then, test=test, otherwise=otherwise):
            yes = _both(_boxes(test, frame, holds=True), _boxes(then, frame, holds=holds), frame)
            no = _both(
                _boxes(test, frame, holds=False), _boxes(otherwise, frame, holds=holds), frame
            )
            return None if yes is None or no is None else [*yes, *no]
        case _:
            if not frame.effort.spend(1):
                return None
            key, values = _atom(expr, frame)
            values = values if holds else opposite(values)
            values = meet(values, frame.quantities[key].values)
            return [{key: values}] if values else []


def _joined(items: tuple[Expr, ...], frame: Frame, *, every: bool, holds: bool) -> list[Box] | None:
    parts = (_boxes(item, frame, holds=holds) for item in items)
    found: list[Box] = [{}] if every else []
    for part in parts:
        if part is None:
            return None
        both = _both(found, part, frame) if every else [*found, *part]
        if both is None or len(both) > MAX_BOXES:
            return None
        found = both
    return found


def _atom(expr: Expr, frame: Frame) -> tuple[str, Domain]:
    """Return the quantity that a condition tests, and the values it holds for."""
    found: tuple[str, Domain] | None = None
    match expr:
        case Name() | EventField():
            key, type_ = know_field(expr, frame)
            if type_.kind == "json":
                frame.limit(key, join(BOOLS, NULL))
            found = key, Domain(bools=frozenset((True,)))
        case Call(function="exists", arguments=(Name() | EventField() as field,)):
            found = know_field(field, frame)[0], PRESENT
        case Compare(op="in" | "not in"):
            found = _membership(expr, frame) or _pair(expr, frame, "in")
        case Compare(op="==" | "!="):
            found = _equality(expr, frame) or linear(expr, frame) or _pair(expr, frame, "==")
        case Compare():
            found = linear(expr, frame)
        case _:
            pass
    return found or _opaque(expr, frame)


def _opaque(expr: Expr, frame: Frame) -> tuple[str, Domain]:
    key = f"({write_expression(expr)})"
    quantity = Quantity(fields_in(expr, frame), BOOLS, BOOL, free=False)
    return frame.quantity(key, lambda: quantity), Domain(bools=frozenset((True,)))


def _pair(expr: Compare, frame: Frame, op: str) -> tuple[str, Domain]:
    """Return a comparison and its opposite as one quantity, which is null where a side is."""
    sides = [write_expression(expr.left), write_expression(expr.right)]
    key = f"({f' {op} '.join(sorted(sides) if op == '==' else sides)})"
    fields = fields_in(expr, frame)
    null = any(frame.quantities[field].values.null for field in fields)
    quantity = Quantity(fields, join(BOOLS, NULL) if null else BOOLS, BOOL, free=False)
    return frame.quantity(key, lambda: quantity), Domain(bools=frozenset((expr.op == op,)))


def _equality(expr: Compare, frame: Frame) -> tuple[str, Domain] | None:
    match expr:
        case Compare(left=Name() | EventField() as field, right=Const(value=value)):
            pass
        case Compare(left=Const(value=value), right=Name() | EventField() as field):
            pass
        case _:
            return None
    values = only(value)
    key, type_ = know_field(field, frame)
    untyped_span = type_.kind == "json" and isinstance(value, timedelta)
    if values is None or untyped_span:
        return None
    if value is None:
        return key, values if expr.op == "==" else PRESENT
    return key, values if expr.op == "==" else meet(PRESENT, opposite(values))


def _membership(expr: Compare, frame: Frame) -> tuple[str, Domain] | None:
    field, items = expr.left, expr.right
    if not (isinstance(field, Name | EventField) and isinstance(items, Items)):
        return None
    values = Domain()
    for item in items.items:
        one = only(item.value) if isinstance(item, Const) else None
        if one is None or (isinstance(item, Const) and isinstance(item.value, timedelta)):
            return None
        values = values if one is NULL else join(values, one)
    key, type_ = know_field(field, frame)
    if type_.kind == "json":
        frame.limit(key, join(_SCALARS, NULL))
    return key, values if expr.op == "in" else meet(_SCALARS, opposite(values))
