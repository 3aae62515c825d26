"""Sums of fields: comparisons of numbers, times and durations as sets of values of a sum."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from interlock.contract.check.domain import (
    BOOLS,
    NULL,
    NUMBERS,
    Domain,
    compared,
    join,
    number,
    opposite,
)
from interlock.contract.check.quantities import Frame, Quantity, fields_in, know_field
from interlock.contract.expression.expr import (
    Arithmetic,
    Call,
    Compare,
    Const,
    EventField,
    Expr,
    Name,
    Negative,
    write_expression,
)
from interlock.contract.expression.values import DECIMAL, INT, Type

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Sum(NamedTuple):
    """Fields with their factors, and what is added."""

    parts: dict[str, Fraction]
    constant: Fraction


def linear(expr: Compare, frame: Frame) -> tuple[str, Domain] | None:
    """Return the sum of fields that a comparison of numbers tests, and its values."""
    left, right = _sum(expr.left, frame), _sum(expr.right, frame)
    total = None if left is None or right is None else _added(left, right, Fraction(-1))
    if total is None or not total.parts or not all(total.parts.values()):
        return None  # a field that cancels out may still be null
    types = {key: frame.quantities[key].type for key in total.parts}
    sides = (expr.left, expr.right)
    spans = any(isinstance(side, Const) and isinstance(side.value, timedelta) for side in sides)
    untyped = [key for key, type_ in types.items() if type_.kind == "json"]
    if untyped and (len(types) > 1 or spans):
        return None
    for key in untyped:
        frame.limit(key, join(NUMBERS, NULL))
    keys = sorted(total.parts)
    factor = total.parts[keys[0]]
    op = expr.op if factor > 0 else _TURNED[expr.op]
    parts = {key: total.parts[key] / factor for key in keys}
    return _summed(parts, frame), compared(op, -total.constant / factor)


def _summed(parts: dict[str, Fraction], frame: Frame) -> str:
    """Know a sum of fields as a quantity; one field alone is itself."""
    known = [frame.quantities[key] for key in parts]
    if len(parts) == 1:
        return next(iter(parts))
    factors = list(parts.values())
    whole = all(q.type.kind == "int" for q in known)
    whole = whole and all(factor.denominator == 1 for factor in factors)
    key = " ".join(_signed(factor, name) for name, factor in parts.items()).removeprefix("+ ")
    values = Domain(null=any(q.values.null for q in known), numbers=NUMBERS.numbers, whole=whole)
    plain = all(abs(factor) == 1 for factor in factors)
    free = plain and all(q.free and not q.type.bounds for q in known)
    type_ = INT if whole else DECIMAL
    if any(q.type.kind in {"time", "duration"} for q in known):
        type_ = Type("duration")
    fields = frozenset(field for q in known for field in q.fields)
    return frame.quantity(key, lambda: Quantity(fields, values, type_, free))


def _signed(factor: Fraction, name: str) -> str:
    sign = "-" if factor < 0 else "+"
    size = abs(factor)
    return f"{sign} {name}" if size == 1 else f"{sign} {size} * {name}"


def _sum(expr: Expr, frame: Frame) -> Sum | None:
    match expr:
        case Const(value=bool()):
            return None
        case Const(value=int() | Decimal() | timedelta() as value):
            return Sum({}, number(value))
        case Name() | EventField():
            key, type_ = know_field(expr, frame)
            counts = type_.kind in {"int", "decimal", "time", "duration", "json"}
            return Sum({key: Fraction(1)}, Fraction()) if counts else None
        case Call(function="len", arguments=(measured,)):
            return Sum({_length(measured, frame): Fraction(1)}, Fraction())
        case Negative(operand=operand):
            inner = _sum(operand, frame)
            return None if inner is None else _added(Sum({}, Fraction()), inner, Fraction(-1))
        case Arithmetic(op="+" | "-" | "*" as op, left=left, right=right):
            one, other = _sum(left, frame), _sum(right, frame)
            return None if one is None or other is None else _computed(op, one, other)
        case _:
            return None


def _computed(op: str, one: Sum, other: Sum) -> Sum | None:
    if op != "*":
        return _added(one, other, Fraction(1 if op == "+" else -1))
    if one.parts and other.parts:
        return None
    many, factor = (one, other.constant) if one.parts else (other, one.constant)
    return _added(Sum({}, Fraction()), many, factor)


def _added(one: Sum, other: Sum, factor: Fraction) -> Sum:
    parts = dict(one.parts)
    for key, amount in other.parts.items():
        parts[key] = parts.get(key, Fraction()) + amount * factor
    return Sum(parts, one.constant + other.constant * factor)


def _length(measured: Expr, frame: Frame) -> str:
    key = f"len({write_expression(measured)})"
    least = compared(">=", Fraction())
    values = Domain(null=True, numbers=least.numbers, whole=True)
    plain = False
    if isinstance(measured, Name | EventField):
        field, type_ = know_field(measured, frame)
        null = frame.quantities[field].values.null
        values = Domain(null=null, numbers=least.numbers, whole=True)
        plain = not type_.bounds
        if type_.kind == "json":
            frame.limit(field, opposite(join(NUMBERS, BOOLS)))
    fields = fields_in(measured, frame)
    return frame.quantity(key, lambda: Quantity(fields, values, INT, plain))
