"""Made-up values: small and plain data of a type, for walking through a contract."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from interlock.contract.expression.operators import EXACT
from interlock.contract.expression.pattern import Unsupported, compile_pattern
from interlock.contract.expression.values import Bound, Mismatch, Type, is_list, reader, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_LENGTH = 1_000
MAX_MEMBERS = 16
SECOND = timedelta(seconds=1)
_MICROSECOND = timedelta(microseconds=1)
_PLACES = Decimal("0.000001")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)

_CHARACTERS = "aA1 -_.@:/#" + "".join(map(chr, range(33, 127)))
_ESCAPED = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"} | dict.fromkeys("bBAZ", "")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_REPEAT = re.compile(r"(?:\?|\*|\+|\{([0-9]{0,3})(?:,[0-9]*)?\})[?+]?")
_SET = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")


class Length(NamedTuple):
    """A value that is only known by its length."""

    size: int


def values_of(type_: Type) -> list[object]:
    """Return values of a type, the plainest first; none where none is found."""
    values = [*_plain_values(type_), *(value for bound in type_.bounds for value in _at(bound))]
    if type_.nullable:
        values.append(None)
    return fitting(type_, values) or fitting(type_, blended(values, values))


def fitting(type_: Type, values: Iterable[object]) -> list[object]:
    """Return the values that a type allows, each once, as they are read."""
    read = reader(type_)
    found: dict[str, object] = {}
    for value in (spelled for given in values for spelled in _spell(type_, given)):
        try:
            fits = read(value)
            found.setdefault(write_json(fits), fits)
        except Mismatch:
            continue
    return list(found.values())


def _plain_values(type_: Type) -> list[object]:
    match type_.kind:
        case "bool":
            return [True, False]
        case "int" | "decimal" | "json":
            return [1, 0]
        case "str":
            return ["a", ""]
        case "enum":
            return list(type_.members[:MAX_MEMBERS])
        case "time":
            return [NEW_YEAR]
        case "duration":
            return [timedelta(hours=1), timedelta()]
        case "list" if type_.item is not None:
            return [*([item] for item in values_of(type_.item)[:2]), []]
        case _:
            return []


def _spell(type_: Type, value: object) -> list[object]:
    """Return a value as it is, or values of a type that have the length it stands for."""
    if not isinstance(value, Length):
        return [value]
    if type_.kind == "list" and type_.item is not None:
        return [[item] * value.size for item in values_of(type_.item)[:1]]
    return ["a" * value.size]


def _at(bound: Bound) -> list[object]:
    if isinstance(bound.limit, str):
        return list(texts_matching(bound.limit))
    return of_length(bound.limit) if bound.of_length else near(bound.limit)


def near(value: object) -> list[object]:
    """Return a value and what lies just beside it."""
    match value:
        case None:
            return []
        case bool():
            return [value, not value]
        case int() | Decimal():
            return [value, value + 1, value - 1]
        case timedelta() if abs(value) < timedelta.max / 2:
            return [value, value + SECOND, value - SECOND]
        case datetime() if 1 < value.year < 9999:  # the years Python knows
            return [value, value + SECOND, value - SECOND]
        case str():
            return [value, f"not {value}"]
        case _:
            return [value]


def blended(values: Sequence[object], wanted: Sequence[object]) -> Iterator[object]:
    """Yield values that may be like one value and also as another is wanted."""
    numbers = sorted({Decimal(one) for one in (*values, *wanted) if _is_number(one)})
    for low, high in pairwise(numbers):
        yield EXACT.divide(EXACT.add(low, high), Decimal(2))
    for text in values:
        if isinstance(text, str):
            yield from (
                text[:at] + one + text[at + 1 :] for at in range(len(text)) for one in "bB2"
            )
    for asked in {repr(one): one for one in wanted}.values():
        for value in values:
            yield from _blend(value, asked)


def _is_number(value: object) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _blend(value: object, asked: object) -> Iterable[object]:
    if isinstance(asked, Length):
        return _lengthen(value, asked.size)
    if isinstance(value, str) and isinstance(asked, str):
        laid_over = [value[:at] + asked + value[at + len(asked) :] for at in range(len(value))]
        return [*laid_over, value + asked, asked + value]
    return [[*value, *asked]] if is_list(value) and is_list(asked) else []


def _lengthen(value: object, size: int) -> Iterable[object]:
    """Return a value cut to a length, or with its last or its first part repeated up to it."""
    if isinstance(value, str):
        more = size - len(value)
        return [(value + (value[-1:] or "a") * more)[:size], (value[:1] or "a") * more + value]
    return [([*value] + [value[-1]] * size)[:size]] if is_list(value) and value else []


def measure(value: object) -> Decimal | None:
    """Return a value's place on the line of numbers; times and durations in microseconds."""
    match value:
        case bool():
            return None
        case int() | Decimal():
            return Decimal(value)
        case timedelta():
            return Decimal(value // _MICROSECOND)
        case datetime():
            return Decimal((value - NEW_YEAR) // _MICROSECOND)
        case _:
            return None


def crossing(one: tuple[object, Decimal], other: tuple[object, Decimal]) -> list[object]:
    """Return the values at and around which the line through two points crosses zero."""
    like = one[0]
    start, end = measure(like), measure(other[0])
    if start is None or end is None:
        return []
    try:
        slope = EXACT.divide(EXACT.subtract(other[1], one[1]), EXACT.subtract(end, start))
        place = EXACT.subtract(start, EXACT.divide(one[1], slope))
        whole = int(place.to_integral_value(ROUND_FLOOR))
        match like:
            case int():
                return [*near(whole), *near(EXACT.quantize(place, _PLACES).normalize())]
            case timedelta():
                return near(whole * _MICROSECOND)
            case _:
                return near(NEW_YEAR + whole * _MICROSECOND)
    except ArithmeticError:
        return []


def of_length(length: object) -> list[object]:
    """Return lengths about a length."""
    if not isinstance(length, int):
        return []
    lengths = (length, length + 1, length - 1)
    return [Length(size) for size in lengths if 0 <= size <= MAX_LENGTH]


def texts_matching(pattern: str) -> list[str]:
    """Return a short text that a pattern matches and one that it does not, where they are found."""
    try:
        search = compile_pattern(pattern)
        guesses = [_Sampler(pattern).choice(), *_CHARACTERS, "abc", "123", "a@b.cd"]
    except (Unsupported, ValueError, LookupError, RecursionError):
        return []
    matching = next((text for text in guesses if search(text)), None)
    other = next((text for text in ("", "?", "\n", *_CHARACTERS) if not search(text)), None)
    return [text for text in (matching, other) if text is not None]


class _Sampler:
    """Reads a pattern and writes the shortest text it describes, as far as it is understood."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def choice(self) -> str:
        first = self.sequence()
        while self.pattern.startswith("|", self.at):
            self.at += 1
            self.sequence()
        return first

    def sequence(self) -> str:
        parts: list[str] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            part = self.atom()
            repeat = _REPEAT.match(self.pattern, self.at)
            if repeat is not None:
                self.at = repeat.end()
                least = 1 if repeat.group().startswith("+") else int(repeat.group(1) or 0)
                part *= least
            parts.append(part)
        return "".join(parts)

    def atom(self) -> str:
        if group := _GROUP.match(self.pattern, self.at):
            self.at = group.end()
            inner = self.choice()
            self.at += 1
            return inner
        if members := _SET.match(self.pattern, self.at):
            self.at = members.end()
            one = re.compile(members.group())
            return next((sign for sign in _CHARACTERS if one.match(sign)), "")
        sign = self.pattern[self.at]
        self.at += 1
        if sign == "\\":
            escaped = self.pattern[self.at]
            self.at += 1
            return _ESCAPED.get(escaped, _CONTROLS.get(escaped, escaped))
        if sign == "(":
            raise ValueError("a group of another kind")
        return {".": "a", "^": "", "$": ""}.get(sign, sign)
