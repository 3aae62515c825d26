"""How a field is declared: its type, its limits and its default, in one line of text."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import msgspec
from msgspec import UNSET

from interlock.contract.expression.pattern import Unsupported, compile_pattern
from interlock.contract.expression.values import (
    NUMBERS,
    NUMERAL,
    Bound,
    Kind,
    Mismatch,
    Type,
    decode_json,
    reader,
    write_json,
    write_type,
)

PLAIN_KINDS: tuple[Kind, ...] = ("bool", "int", "decimal", "str", "time", "duration", "json")


class Undeclarable(ValueError):
    """A text that declares no type."""


_WORD = r"[A-Za-z_][A-Za-z0-9_-]*"
_DECLARATION = re.compile(
    rf"""\s*(?P<list>list\ of\s+)?(?P<types>{_WORD}(?:\s*\|\s*{_WORD})*)
    (?P<bounds>(?:\s+(?:len\s*)?(?:<=|>=|<|>)\s*[+-]?[0-9]+(?:\.[0-9]+)?|\s+matches\s+'[^']*')*)
    \s*(?:=\s*(?P<default>.*?))?\s*""",
    re.VERBOSE | re.DOTALL,
)
_BOUND = re.compile(r"(len\s*)?(<=|>=|<|>)\s*([+-]?[0-9.]+)|matches\s+'([^']*)'")
_MEANT = {
    "integer": "int",
    "number": "decimal",
    "float": "decimal",
    "double": "decimal",
    "string": "str",
    "text": "str",
    "boolean": "bool",
    "datetime": "time",
    "timestamp": "time",
    "date": "time",
    "timedelta": "duration",
    "object": "json",
    "dict": "json",
    "any": "json",
    "array": "list of str",
    "list": "list of str",
    "none": "null",
    "None": "null",
}


def parse_declaration(text: str) -> tuple[Type, object]:
    """Read `decimal > 0 = 1` into a type and its default, which may be `UNSET`."""
    match = _DECLARATION.fullmatch(text[:2_000])
    if match is None or len(text) > 2_000:  # far beyond any real declaration
        raise Undeclarable(f"{text[:60]!r} declares no type{_advice(text)}")
    words = [word.strip() for word in match["types"].split("|")]
    plain = _plain_type([word for word in words if word != "null"])
    bounds = tuple(_parse_bound(found) for found in _BOUND.finditer(match["bounds"]))
    _check_bounds(plain, bounds, of_list=match["list"] is not None)
    nullable = "null" in words or plain.kind == "json"
    if match["list"]:
        type_ = Type("list", "null" in words, item=plain, bounds=bounds)
    else:
        type_ = Type(plain.kind, nullable, plain.members, bounds=bounds)
    return type_, _parse_default(type_, match["default"])


def _advice(text: str) -> str:
    """Say what may be wrong with a text that declares no type."""
    if re.match(r"\s*(?:duration|time)\s*[<>]", text):
        return ": times and durations take no limits, guard the rows instead"
    if "[" in text:
        return ": a list is written `list of str`"
    if "?" in text:
        return ": what may be null is written `str | null`"
    return ": write `TYPE`, then limits, then `= DEFAULT`, as in `int >= 0 = 1`"


def _plain_type(words: list[str]) -> Type:
    match words:
        case []:
            raise Undeclarable("only null: write the type before it, as in `str | null`")
        case [word] if word in PLAIN_KINDS:
            return Type(word)
        case [word]:
            meant = _MEANT.get(word)
            hint = f", write {meant}" if meant else f"; there are {', '.join(PLAIN_KINDS)}"
            raise Undeclarable(f"no type {word!r}{hint}")
        case _:
            mixed = [word for word in words if word in PLAIN_KINDS or word in _MEANT]
            if mixed:
                raise Undeclarable(f"a union of types: only null may stand beside {mixed[0]}")
            if len(set(words)) != len(words):
                raise Undeclarable("a member stands twice")
            return Type("enum", members=tuple(words))


def _parse_bound(found: re.Match[str]) -> Bound:
    length, op, number, pattern = found.groups()
    if pattern is not None:
        return Bound("matches", pattern)
    try:
        limit = Decimal(number)
    except InvalidOperation:
        raise Undeclarable(f"{number!r} is not a number") from None
    whole = limit == limit.to_integral_value()
    return Bound(op, int(limit) if whole else limit, of_length=length is not None)


def _check_bounds(plain: Type, bounds: tuple[Bound, ...], *, of_list: bool) -> None:
    for bound in bounds:
        if isinstance(bound.limit, str):
            if plain.kind != "str" or of_list:
                raise Undeclarable("`matches` needs a str")
            try:
                compile_pattern(bound.limit)
            except Unsupported as reason:
                raise Undeclarable(f"the pattern {bound.limit!r}: {reason}") from None
        elif bound.of_length:
            if plain.kind != "str" and not of_list:
                raise Undeclarable("`len` needs a str or a list")
        elif plain.kind not in NUMBERS or of_list:
            raise Undeclarable(f"{bound.op} needs an int or a decimal (for a length: `len`)")


def _parse_default(type_: Type, text: str | None) -> object:
    if text is None:
        return None if type_.nullable else UNSET
    value: object = text
    if type_.kind in {"json", "list"}:
        try:
            value = decode_json(text)
        except msgspec.DecodeError:
            raise Undeclarable(f"the default {text[:40]!r} is not JSON") from None
    elif text == "null":
        value = None
    elif type_.kind == "bool":
        value = {"true": True, "false": False}.get(text, text)
    elif type_.kind == "int" and NUMERAL.fullmatch(text) and "." not in text:
        value = int(text)
    elif len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        value = text[1:-1]
    try:
        return reader(type_)(value)
    except Mismatch as reason:
        raise Undeclarable(f"the default does not fit: {reason}") from None


def write_declaration(type_: Type, default: object) -> str:
    """Write a type with its default as it is declared."""
    text = write_type(type_)
    if default is UNSET or (default is None and type_.nullable):
        return text
    if type_.kind in {"str", "enum"}:
        return f"{text} = '{default}'" if type_.kind == "str" else f"{text} = {default}"
    if isinstance(default, bool):
        return f"{text} = {'true' if default else 'false'}"
    return f"{text} = {write_json(default).strip(chr(34))}"
