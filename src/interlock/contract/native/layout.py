"""Laying out plain data as YAML that readers of YAML 1.1 and 1.2 take alike, or as JSON."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Data = Mapping[str, object]

WIDTH = 96
STATE_WIDTH = 64
BLOCKS = {"events", "codes", "counters", "params", "states", "any", "migrate", "tests"}
_SAFE = r"[A-Za-z0-9_.+\-*/<>=()%|'!$&^~]"
_PLAIN = re.compile(
    rf"""[A-Za-z_](?:(?:{_SAFE}|\ )*{_SAFE})?
    | (?:[0-9]+(?:ms|[smhdw]))+ | [0-9]+\ in\ [0-9a-zA-Z]+ | [0-9]+(?:\.[0-9]+){{2,}}""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_CONSTANTS = {"true", "false", "null"}
# What YAML 1.1 or 1.2 takes for something else than a text.
_WORDS = _CONSTANTS | {"y", "n", "yes", "no", "on", "off"}
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_LONG = 0xFFFF


class Formula(NamedTuple):
    """An expression's text: a number or a constant needs no quotes in it."""

    text: str


class Verbatim(NamedTuple):
    """JSON that is written byte for byte."""

    text: str


def write_yaml(tree: Data, comments: Mapping[str, str]) -> str:
    """Return a contract's plain data as YAML, with comments behind the events they are about."""
    lines: list[str] = []
    for key, value in tree.items():
        if key not in BLOCKS:
            lines += _entry(key, value, "")
            continue
        entries = _section(key, value, comments)
        lines += [*([""] if lines else []), f"{key}:", *entries]
    return "\n".join(lines) + "\n"


def _section(key: str, value: object, comments: Mapping[str, str]) -> list[str]:
    """Return the lines of a part of the contract that is always a block."""
    if isinstance(value, list):
        return _items(cast("list[object]", value), "  ")
    lines: list[str] = []
    apart = False
    for name, item in cast("Data", value).items():
        entry = _entry(name, item, "  ", width=STATE_WIDTH if key == "states" else WIDTH)
        if key == "events":
            entry[0] += _comment(comments.get(name, ""))
        if key == "states" and lines and (apart or len(entry) > 1):
            lines.append("")
        apart = len(entry) > 1
        lines += entry
    return lines


def _comment(text: str) -> str:
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return f"  # {words}" if words else ""


def _entry(key: str, value: object, pad: str, *, width: int = WIDTH) -> list[str]:
    """Return the lines of a mapping's entry: one line if it is short enough, else a block."""
    head = f"{pad}{write_scalar(key)}:"
    line = f"{head} {_write_flow(value, write_scalar)}"
    return [line] if _is_leaf(value) or len(line) <= width else [head, *_block(value, pad + "  ")]


def _is_leaf(value: object) -> bool:
    return not value or not isinstance(value, dict | list)


def _block(value: object, pad: str) -> list[str]:
    if isinstance(value, list):
        return _items(cast("list[object]", value), pad)
    entries = cast("Data", value).items()
    return [line for key, item in entries for line in _entry(key, item, pad)]


def _items(items: list[object], pad: str) -> list[str]:
    lines: list[str] = []
    for item in items:
        line = f"{pad}- {_write_flow(item, write_scalar)}"
        if _is_leaf(item) or len(line) <= WIDTH:
            lines.append(line)
        else:
            first, *rest = _block(item, pad + "  ")
            lines += [f"{pad}- {first.lstrip()}", *rest]
    return lines


def _write_flow(value: Any, scalar: Callable[[object], str]) -> str:  # any data
    match value:
        case Verbatim(text=text):
            return text
        case dict():
            entries = cast("Data", value).items()
            parts = (f"{scalar(key)}: {_write_flow(item, scalar)}" for key, item in entries)
            return "{" + ", ".join(parts) + "}"
        case list():
            items = cast("list[object]", value)
            return "[" + ", ".join(_write_flow(item, scalar) for item in items) + "]"
        case _:
            return scalar(value)


def write_scalar(value: object) -> str:
    """Return a text, number, truth or null as it is written in YAML."""
    match value:
        case Formula(text=text) if _is_constant(text):
            return text
        case Formula(text=text) | str(text):
            is_word = text.lower() in _WORDS
            return text if _PLAIN.fullmatch(text) and not is_word else _quote(text)
        case None | bool():
            return json.dumps(value)
        case Decimal():
            return format(value, "f") if abs(value.adjusted()) < WIDTH else str(value)
        case _:
            return str(value)


def _quote(text: str) -> str:
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) <= _LONG else f"\\U{ord(sign):08x}"


def write_json(value: object) -> str:
    """Return plain data as JSON, with a line for each entry of a mapping."""
    return _write_json(value, "") + "\n"


def _write_json(value: object, pad: str) -> str:
    if not isinstance(value, dict) or not value:
        return _write_flow(value, _json_scalar)
    inner = pad + "  "
    entries = (
        f"{inner}{_json_scalar(key)}: {_write_json(item, inner)}"
        for key, item in cast("Data", value).items()
    )
    return "{\n" + ",\n".join(entries) + f"\n{pad}}}"


def _json_scalar(value: object) -> str:
    match value:
        case Formula(text=text) if _is_constant(text):
            return text
        case Formula(text=text) | str(text):
            return json.dumps(text, ensure_ascii=False)
        case _:
            return write_scalar(value)


def _is_constant(text: str) -> bool:
    return text in _CONSTANTS or _NUMBER.fullmatch(text) is not None
