"""What the operators of the language do with values, typed and untyped."""

from __future__ import annotations

import decimal
import operator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from interlock.contract.expression.values import MAX_DIGITS, MAX_TEXT, is_list, is_object, shown

if TYPE_CHECKING:
    from collections.abc import Callable

EXACT = decimal.Context(
    prec=MAX_DIGITS,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)


class TypeClash(ValueError):
    """Untyped data that an operator cannot work with."""


class NoValue(ValueError):
    """An expression that has no value for the data at hand."""


def in_words(error: Exception) -> str:
    """Say what an arithmetic error means."""
    match error:
        case ZeroDivisionError() | decimal.DivisionByZero():
            return "division by zero"
        case OverflowError() | decimal.Overflow():
            return "the result is too large"
        case decimal.InvalidOperation():
            return "the arithmetic has no result"
        case _:
            return str(error)


def length_of(value: object) -> int | None:
    """Return the length of a text, a list or an object; null has none."""
    if value is None:
        return None
    if isinstance(value, str) or is_list(value) or is_object(value):
        return len(value)
    raise TypeClash(f"len needs a string or a list, not {shown(value)}")


def same(one: object, other: object) -> bool:
    """Tell whether two values are equal and of one kind; bool is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def member(value: object, values: object) -> bool:
    """Tell whether a scalar is in a list; null is in none."""
    if value is None or values is None:
        return False
    if not is_list(values):
        raise TypeClash(f"`in` needs a list, not {shown(values)}")
    if is_list(value) or is_object(value):
        raise TypeClash(f"`in` needs a single value, not {shown(value)}")
    return any(same(value, item) for item in values)


def number_in(value: object) -> Any:  # int and Decimal mix in Python's operators
    """Return untyped data that is a number; a boolean is none."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value
    raise TypeClash(f"{shown(value)} is not a number")


def join(one: Any, other: Any) -> Any:  # texts or lists
    """Put two texts or two lists together, within the limit of length."""
    if len(one) + len(other) > MAX_TEXT:
        raise ArithmeticError("the result is too long")
    return one + other


NUMERIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": EXACT.divide,
}


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda one, other: one // other,
    "%": operator.mod,
}


def untyped_operator(op: str) -> Callable[[Any, Any], Any]:
    """Return an arithmetic operator that looks at its operands' kinds when it runs."""

    def work(one: object, other: object) -> object:
        if op == "+" and isinstance(one, str) and isinstance(other, str):
            return join(one, other)
        if op == "+" and is_list(one) and is_list(other):
            return join([*one], [*other])
        one, other = number_in(one), number_in(other)
        whole = isinstance(one, int) and isinstance(other, int) and op != "/"
        if not whole and op not in NUMERIC:
            raise TypeClash(f"{op} needs integers")
        return (WHOLE if whole else NUMERIC)[op](one, other)

    return work
