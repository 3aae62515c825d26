"""The types of data in a contract: how they are declared, read, kept and written."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeGuard

import msgspec
from msgspec import Struct

from interlock.contract.expression.pattern import compile_pattern

MAX_INT = 2**53
MAX_TEXT = 1_048_576
MAX_ITEMS = 100_000
MAX_DIGITS = 34
MAX_NESTING = 32
_LINE = 60

Kind = Literal["bool", "int", "decimal", "str", "time", "duration", "json", "enum", "list", "null"]
NUMBERS = ("int", "decimal")
Reader = Callable[[object], object]


class Bound(Struct, frozen=True):
    """A limit on a value, or on its length."""

    op: str
    limit: int | Decimal | str
    of_length: bool = False


class Type(Struct, frozen=True):
    """The type of a field: its kind, whether it may be null, and its limits."""

    kind: Kind
    nullable: bool = False
    members: tuple[str, ...] = ()
    item: Type | None = None
    bounds: tuple[Bound, ...] = ()


JSON = Type("json", nullable=True)
BOOL = Type("bool")
INT = Type("int")
DECIMAL = Type("decimal")
STR = Type("str")
NULL = Type("null", nullable=True)


class Mismatch(ValueError):
    """A value that its type does not allow."""


_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_SHORT = re.compile(r"(?:[0-9]{1,12}(?:ms|[smhdw]))+")
_PART = re.compile(r"([0-9]+)(ms|[smhdw])")
_ISO = re.compile(
    r"P(?:N W)?(?:N D)?(?:T(?:N H)?(?:N M)?(?:N S)?)?".replace(
        "N ", r"([0-9]{1,15}(?:[.,][0-9]{1,9})?)"
    )
)
NUMERAL = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?")


def parse_duration(text: str) -> timedelta:
    """Read `15m`, `1h30m` or an ISO-8601 duration such as `P2D`."""
    try:
        if _SHORT.fullmatch(text):
            parts = _PART.findall(text)
            return sum((int(count) * _UNITS[unit] for count, unit in parts), timedelta())
        match = _ISO.fullmatch(text)
        if match is not None and match.lastindex is not None and not text.endswith("T"):
            sizes = (_UNITS[unit] // timedelta(microseconds=1) for unit in "wdhms")
            counts = (Fraction((part or "0").replace(",", ".")) for part in match.groups())
            micros = sum(count * size for count, size in zip(counts, sizes, strict=True))
            return timedelta(microseconds=round(micros))
    except OverflowError:
        pass
    raise Mismatch(f"{text[:40]!r} is not a duration such as 15m, 1h30m or PT15M")


def format_duration(span: timedelta) -> str:
    """Write a duration in its shortest canonical form, such as `1h30m`."""
    micros = span // timedelta(microseconds=1)
    if micros < 0 or micros % 1_000:
        seconds, fraction = divmod(abs(micros), 1_000_000)
        digits = f"{seconds}.{fraction:06}".rstrip("0").rstrip(".")
        return f"{'-' if micros < 0 else ''}PT{digits}S"
    rest = micros // 1_000
    parts: list[str] = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_time(text: str) -> datetime:
    """Read an ISO-8601 time with its offset; a time without one has no meaning here."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Mismatch(f"{text[:40]!r} is not a time with an offset, such as 2026-01-31T12:00:00Z")


def shown(value: object) -> str:
    """Write a value for a message, in a line's worth; whatever it is, this does not fail."""
    match value:
        case str():
            text = repr(str(value[: _LINE + 1]))
        case int() if value.bit_length() > _LINE * 8:
            return "a very large integer"
        case None | bool() | datetime() | timedelta():
            text = write_json(value)
        case int() | float() | Decimal():
            text = str(value)
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LINE else text[: _LINE - 3] + "..."


def _read_bool(value: object) -> object:
    if value is True or value is False:
        return value
    raise Mismatch(f"{shown(value)} is not true or false")


def _read_int(value: object) -> object:
    if type(value) is int:
        if -MAX_INT <= value <= MAX_INT:
            return value
        raise Mismatch("an integer beyond 2^53")
    raise Mismatch(f"{shown(value)} is not an integer")


def _read_decimal(value: object) -> object:
    number: Decimal | None = None
    if type(value) is Decimal:
        number = value
    elif type(value) is int and -(10**MAX_DIGITS) < value < 10**MAX_DIGITS:
        number = Decimal(value)
    elif type(value) is float:
        number = Decimal(repr(value))
    elif type(value) is str and NUMERAL.fullmatch(value):
        number = Decimal(value)
    if number is None:
        raise Mismatch(f"{shown(value)} is not a decimal number")
    if not number.is_finite():
        raise Mismatch("not a finite number")
    _, digits, exponent = number.as_tuple()
    if len(digits) > MAX_DIGITS or not -MAX_DIGITS <= int(exponent) <= MAX_DIGITS:
        raise Mismatch(f"a decimal of more than {MAX_DIGITS} digits")
    return number


def _read_str(value: object) -> object:
    if type(value) is not str:
        raise Mismatch(f"{shown(value)} is not a string")
    if len(value) > MAX_TEXT:
        raise Mismatch(f"a string longer than {MAX_TEXT} characters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mismatch("a string with half a surrogate pair") from None
    return value


def _read_time(value: object) -> object:
    if type(value) is str:
        return parse_time(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise Mismatch("a time outside the years 1 to 9999") from None
    raise Mismatch(f"{shown(value)} is not a time with an offset")


def _read_duration(value: object) -> object:
    if type(value) is str:
        return -parse_duration(value[1:]) if value.startswith("-PT") else parse_duration(value)
    if isinstance(value, timedelta):
        return value
    raise Mismatch(f"{shown(value)} is not a duration such as 15m")


def _read_number(value: object) -> object:
    """Read an untyped number as it would come back from JSON: without a fraction, an integer."""
    number = _read_decimal(value)
    if isinstance(number, Decimal) and number.as_tuple().exponent == 0:
        return _read_int(int(number))
    return number


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Tell whether a value is a list, in either of the ways lists are kept."""
    return isinstance(value, list | tuple)


def is_object(value: object) -> TypeGuard[Mapping[object, object]]:
    """Tell whether a value is an object in JSON's sense."""
    return isinstance(value, Mapping)


def read_json(value: object, depth: int = 0) -> object:
    """Copy untyped JSON data, with floats as exact decimals."""
    if depth > MAX_NESTING:
        raise Mismatch(f"data nested more than {MAX_NESTING} deep")
    if is_list(value):
        if len(value) > MAX_ITEMS:
            raise Mismatch(f"a list of more than {MAX_ITEMS} items")
        return [read_json(item, depth + 1) for item in value]
    if is_object(value):
        return {str(_read_str(key)): read_json(item, depth + 1) for key, item in value.items()}
    match value:
        case None | bool():
            return value
        case int():
            return _read_int(int(value))
        case str():
            return _read_str(str(value))
        case float() | Decimal():
            return _read_number(value)
        case datetime() | timedelta():
            return as_plain(value)
        case _:
            raise Mismatch(f"{shown(value)} is not JSON data")


_READERS: dict[str, Reader] = {
    "bool": _read_bool,
    "int": _read_int,
    "decimal": _read_decimal,
    "str": _read_str,
    "time": _read_time,
    "duration": _read_duration,
    "json": read_json,
}


def reader(type_: Type) -> Reader:
    """Return the function that reads a value of a type, or raises `Mismatch`."""
    core = _core_reader(type_)
    bounds = tuple(_bound_check(bound) for bound in type_.bounds)
    nullable = type_.nullable
    if not bounds and not nullable:
        return core

    def read(value: object) -> object:
        if value is None and nullable:
            return None
        result = core(value)
        for holds, text in bounds:
            if not holds(result):
                raise Mismatch(f"{shown(value)} is not {text}")
        return result

    return read


def _core_reader(type_: Type) -> Reader:
    if type_.kind == "enum":
        members = frozenset(type_.members)
        wanted = " | ".join(type_.members)

        def read_member(value: object) -> object:
            if type(value) is str and value in members:
                return value
            raise Mismatch(f"{shown(value)} is not one of {wanted}")

        return read_member
    if type_.kind == "list" and type_.item is not None:
        item = reader(type_.item)

        def read_list(value: object) -> object:
            if not is_list(value):
                raise Mismatch(f"{shown(value)} is not a list")
            if len(value) > MAX_ITEMS:
                raise Mismatch(f"a list of more than {MAX_ITEMS} items")
            return tuple(item(part) for part in value)

        return read_list
    return _READERS[type_.kind]


_HOLDS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _bound_check(bound: Bound) -> tuple[Callable[[object], bool], str]:
    """Return the test of a bound, and the bound in words."""
    if isinstance(bound.limit, str):
        search = compile_pattern(bound.limit)
        return lambda value: search(str(value)), f"matching {bound.limit!r}"
    limit, holds = Decimal(bound.limit), _HOLDS[bound.op]
    if bound.of_length:
        text = f"of length {bound.op} {bound.limit}"
        return lambda value: holds(Decimal(_length(value)), limit), text
    return lambda value: holds(_amount(value), limit), f"{bound.op} {bound.limit}"


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) or is_list(value) else 0


def _amount(value: object) -> Decimal:
    return Decimal(value) if isinstance(value, int | Decimal) else Decimal()


def as_plain(value: object) -> object:
    """Return a value as JSON data: times and durations as text, decimals as numbers."""
    if is_list(value):
        return [as_plain(item) for item in value]
    if is_object(value):
        return {str(key): as_plain(item) for key, item in value.items()}
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case timedelta():
            return format_duration(value)
        case _:
            return value


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def write_json(value: object) -> str:
    """Return data as JSON text, with the digits of decimals kept."""
    return _ENCODER.encode(as_plain(value)).decode()


_DECODER = msgspec.json.Decoder(float_hook=Decimal)


def decode_json(text: str | bytes) -> object:
    """Read JSON text, with the digits of its numbers kept; raises `msgspec.DecodeError`."""
    return _DECODER.decode(text)


def name_type(type_: Type) -> str:
    """Write a type for a message, without its bounds."""
    return write_type(Type(type_.kind, type_.nullable, type_.members, type_.item))


def write_type(type_: Type) -> str:
    """Write a type as it is declared."""
    if type_.kind == "list" and type_.item is not None:
        core = f"list of {write_type(type_.item)}"
    elif type_.kind == "enum":
        core = " | ".join(type_.members)
    else:
        core = type_.kind
    if type_.nullable and type_.kind not in {"json", "null"}:
        core += " | null"
    return core + "".join(f" {_write_bound(bound)}" for bound in type_.bounds)


def _write_bound(bound: Bound) -> str:
    if isinstance(bound.limit, str):
        return f"matches '{bound.limit}'"
    return f"{'len ' if bound.of_length else ''}{bound.op} {bound.limit}"
