"""The expression language of guards, updates and arguments: its tree and its text."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from msgspec import Struct

from interlock.contract.expression.values import format_duration, is_list, is_object, write_json


class Malformed(ValueError):
    """A text that is not in the language: why, at which offset, and what to write instead."""

    def __init__(self, message: str, *, at: int = 0, hint: str = "") -> None:
        """Keep the offset and the hint beside the message."""
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint


class Const(Struct, frozen=True):
    """A literal value."""

    value: object
    at: int = 0


class Name(Struct, frozen=True):
    """A field of the context."""

    name: str
    at: int = 0


class EventField(Struct, frozen=True):
    """A field of the event's payload."""

    name: str
    at: int = 0


class Items(Struct, frozen=True):
    """A list written out."""

    items: tuple[Expr, ...]
    at: int = 0


class Negative(Struct, frozen=True):
    """An arithmetic minus sign."""

    operand: Expr
    at: int = 0


class Not(Struct, frozen=True):
    """A logical negation."""

    operand: Expr
    at: int = 0


class Arithmetic(Struct, frozen=True):
    """One of `+ - * / // %`."""

    op: str
    left: Expr
    right: Expr
    at: int = 0


class Compare(Struct, frozen=True):
    """One of `== != < <= > >= in` and `not in`."""

    op: str
    left: Expr
    right: Expr
    at: int = 0


class Logic(Struct, frozen=True):
    """Operands joined by `and` or by `or`."""

    op: str
    items: tuple[Expr, ...]
    at: int = 0


class Call(Struct, frozen=True):
    """A call of one of the language's own functions."""

    function: str
    arguments: tuple[Expr, ...]
    at: int = 0


class Choice(Struct, frozen=True):
    """`a if test else b`."""

    then: Expr
    test: Expr
    otherwise: Expr
    at: int = 0


Expr = (
    Const
    | Name
    | EventField
    | Items
    | Negative
    | Not
    | Arithmetic
    | Compare
    | Logic
    | Call
    | Choice
)

SPELLED = {
    "True": "true",
    "False": "false",
    "None": "null",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
}
FUNCTIONS = {"exists": 1, "matches": 2, "len": 1, "round": 2}
WORDS = {"and", "or", "not", "in", "if", "else", "true", "false", "null", "event"}


def _quote(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


_LEVELS = {"or": 1, "and": 2, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6}


def _level(expr: Expr) -> int:
    match expr:
        case Choice():
            return 0
        case Logic(op=op) | Arithmetic(op=op):
            return _LEVELS[op]
        case Not():
            return 3
        case Compare():
            return 4
        case Negative():
            return 7
        case Const(value=int() | Decimal() as number) if number < 0:
            return 7
        case _:
            return 8


def _inside(expr: Expr, level: int) -> str:
    text = write_expression(expr)
    return text if _level(expr) >= level else f"({text})"


def write_expression(expr: Expr) -> str:
    """Return the canonical text of a tree; parsing it gives the same tree."""
    match expr:
        case Const(value=value):
            return write_literal(value)
        case Name(name=name):
            return f"`{name}`" if name in WORDS or name in SPELLED else name
        case EventField(name=name):
            return f"event.{name}"
        case Items(items=items):
            return "[" + ", ".join(map(write_expression, items)) + "]"
        case Negative(operand=operand):
            return "-" + _inside(operand, 8)
        case Not(operand=operand):
            return "not " + _inside(operand, 3)
        case Logic(op=op, items=items):
            return f" {op} ".join(_inside(item, _LEVELS[op] + 1) for item in items)
        case Arithmetic(op=op, left=left, right=right):
            return f"{_inside(left, _LEVELS[op])} {op} {_inside(right, _LEVELS[op] + 1)}"
        case Compare(op=op, left=left, right=right):
            return f"{_inside(left, 5)} {op} {_inside(right, 5)}"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(write_expression, arguments))})"
        case Choice(then=then, test=test, otherwise=otherwise):
            return f"{_inside(then, 1)} if {_inside(test, 1)} else {write_expression(otherwise)}"


def write_literal(value: object) -> str:
    """Return a value as it is written in an expression."""
    if is_list(value):
        return "[" + ", ".join(map(write_literal, value)) + "]"
    if is_object(value):
        return write_json(value)
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quote(value)
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case timedelta():
            return format_duration(value)
        case _:
            raise TypeError(f"{type(value).__name__} cannot be written in an expression")


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of a node."""
    match expr:
        case Items(items=items) | Logic(items=items):
            return items
        case Call(arguments=arguments):
            return arguments
        case Negative(operand=operand) | Not(operand=operand):
            return (operand,)
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Choice(then=then, test=test, otherwise=otherwise):
            return (then, test, otherwise)
        case _:
            return ()


def names_in(expr: Expr) -> tuple[str, ...]:
    """Return the context fields a tree reads, each once, in their order."""
    own = (expr.name,) if isinstance(expr, Name) else ()
    inner = (name for child in children(expr) for name in names_in(child))
    return tuple(dict.fromkeys((*own, *inner)))


def needed_names(expr: Expr) -> tuple[str, ...]:
    """Return the context fields a condition needs: those it reads otherwise than by `exists`."""
    if isinstance(expr, Call) and expr.function == "exists":
        return ()
    own = (expr.name,) if isinstance(expr, Name) else ()
    return (*own, *(name for child in children(expr) for name in needed_names(child)))


def event_fields_in(expr: Expr) -> tuple[str, ...]:
    """Return the event fields a tree reads, each once, in their order."""
    own = (expr.name,) if isinstance(expr, EventField) else ()
    inner = (name for child in children(expr) for name in event_fields_in(child))
    return tuple(dict.fromkeys((*own, *inner)))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """Return the conditions that must all hold for a guard to hold."""
    match expr:
        case None:
            return ()
        case Logic(op="and", items=items):
            return tuple(part for item in items for part in conjuncts(item))
        case _:
            return (expr,)


def all_of(conditions: tuple[Expr, ...]) -> Expr | None:
    """Join conditions with `and`; none at all is no guard."""
    if len(conditions) < 2:  # one condition needs no joining
        return conditions[0] if conditions else None
    return Logic("and", conditions)
