"""What an expression may read, and how the types of what it reads fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct

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
    children,
    conjuncts,
    event_fields_in,
    names_in,
)
from interlock.contract.expression.values import (
    BOOL,
    DECIMAL,
    INT,
    JSON,
    NULL,
    NUMBERS,
    STR,
    Kind,
    Type,
)

Data = Mapping[str, Any]


Run = Callable[[Data, Data], Any]


class Scope(Struct, frozen=True):
    """What an expression may read."""

    context: Mapping[str, Type]
    event: Mapping[str, Type] | None = None
    open_context: bool = False
    open_event: bool = False
    present: frozenset[Expr] = frozenset()


class Typed(Struct, frozen=True):
    """An expression's type and the function that computes it from context and payload."""

    type: Type
    run: Run


def type_of(value: object) -> Type:
    """Return the type of a literal value."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case Decimal():
            return DECIMAL
        case str():
            return STR
        case timedelta():
            return Type("duration")
        case datetime():
            return Type("time")
        case _:
            return JSON


def assignable(target: Type, source: Type) -> bool:
    """Tell whether every value of a type surely fits another, but for bounds."""
    if target.kind == "json":
        return True
    if source.kind == "json":
        return True
    if source.nullable and not target.nullable:
        return False
    match target.kind, source.kind:
        case _, "null":
            return target.nullable
        case "decimal", "int":
            return True
        case "enum", "str":
            return True
        case "str", "enum":
            return True
        case "list", "list":
            inner, outer = source.item, target.item
            return inner is None or outer is None or assignable(outer, inner)
        case _:
            return target.kind == source.kind


def common_type(one: Type, other: Type) -> Type | None:
    """Return the type that holds the values of both, if there is one."""
    nullable = one.nullable or other.nullable
    if one.kind == "null":
        one = other
    if other.kind == "null":
        other = one
    if "json" in {one.kind, other.kind}:
        return JSON
    if one.kind in NUMBERS and other.kind in NUMBERS:
        return Type("int" if one.kind == other.kind == "int" else "decimal", nullable)
    if {one.kind, other.kind} == {"enum", "str"} or one.kind == other.kind == "str":
        return Type("str", nullable)
    if one.kind == other.kind:
        return Type(one.kind, nullable, one.members, one.item)
    return None


_TIMES: dict[tuple[str, str, str], Kind] = {
    ("time", "+", "duration"): "time",
    ("duration", "+", "time"): "time",
    ("time", "-", "duration"): "time",
    ("time", "-", "time"): "duration",
    ("duration", "+", "duration"): "duration",
    ("duration", "-", "duration"): "duration",
    ("duration", "*", "int"): "duration",
    ("int", "*", "duration"): "duration",
}


def arithmetic_type(op: str, left: Type, right: Type) -> Type | None:
    """Return the type of `left op right`, if it has a meaning."""
    kinds = {left.kind, right.kind}
    if kinds <= set(NUMBERS):
        if op in {"//", "%"}:
            return None if "decimal" in kinds else INT
        return DECIMAL if "decimal" in kinds or op == "/" else INT
    if op == "+" and kinds <= {"str", "enum"}:
        return STR
    if op == "+" and kinds == {"list"}:
        return common_type(left, right) or JSON
    found = _TIMES.get((left.kind, op, right.kind))
    return None if found is None else Type(found)


def presence(expr: Expr | None) -> frozenset[Expr]:
    """Return the fields that are certainly not null where a condition holds."""
    found: set[Expr] = set()
    for part in conjuncts(expr):
        match part:
            case Call(function="exists", arguments=(field,)):
                found.add(bare_field(field))
            case Compare(op="!=", left=field, right=Const(value=None)):
                found.add(bare_field(field))
            case Compare(left=left, right=right) if Const(None) not in (
                bare_field(left),
                bare_field(right),
            ):
                found |= _strict_fields(left) | _strict_fields(right)
            case Logic(op="or", items=items):
                found |= set[Expr].intersection(*(set(presence(item)) for item in items))
            case _:
                pass
    return frozenset(found)


def _strict_fields(expr: Expr) -> set[Expr]:
    """Return the fields whose null would make the whole value null."""
    if isinstance(expr, Name | EventField):
        return {bare_field(expr)}
    if isinstance(expr, Choice | Logic | Compare | Not | Items):
        return set()
    return {field for child in children(expr) for field in _strict_fields(child)}


def bare_field(expr: Expr) -> Expr:
    """Return a field or literal without its offset, so that equal ones are equal."""
    match expr:
        case Name(name=name):
            return Name(name)
        case EventField(name=name):
            return EventField(name)
        case Const(value=value):
            return Const(value)
        case _:
            return expr


def values_read(expr: Expr, c: Data, e: Data) -> dict[str, object]:
    """Return what the fields of a guard held, for saying why it failed."""
    seen: dict[str, object] = {name: c.get(name) for name in names_in(expr)}
    seen |= {f"event.{name}": e.get(name) for name in event_fields_in(expr)}
    return seen
