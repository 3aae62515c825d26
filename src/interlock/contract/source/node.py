"""One value of a source text, and where it stands."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

from msgspec import Struct

from interlock.contract.problem import Mark

Scalar = str | int | Decimal | bool | None


class Node(Struct, frozen=True):
    """One value of a source, with its place and its text."""

    value: Scalar | dict[str, Node] | list[Node]
    mark: Mark
    quoted: bool = False
    keys: dict[str, Mark] = {}
    text: str = ""
    span: tuple[int, int] = (0, 0)

    @property
    def raw(self) -> str:
        """The exact slice of the source; empty for a block collection."""
        return self.text[self.span[0] : self.span[1]]

    def __repr__(self) -> str:
        """Show the place and the value, without the whole source."""
        shown = self.value
        if isinstance(shown, dict | list):
            shown = f"{type(shown).__name__} of {len(shown)}"
        return f"Node({self.mark.line}:{self.mark.column} {shown!r:.60})"


def plain(node: Node) -> object:
    """Return the bare value of a node: dict, list and scalars."""
    done: list[object] = [None]
    todo: list[tuple[Node, Any, Any]] = [(node, done, 0)]
    while todo:
        each, into, at = todo.pop()
        match each.value:
            case dict() as entries:
                into[at] = made = dict[str, object].fromkeys(entries)
                todo.extend((child, made, key) for key, child in entries.items())
            case list() as items:
                into[at] = row = [None] * len(items)
                todo.extend((child, row, index) for index, child in enumerate(items))
            case scalar:
                into[at] = scalar
    return done[0]


def as_json(node: Node) -> bytes:
    """Return a node as JSON: its own bytes where it was written as JSON, else a compact form."""
    text = node.raw if is_json(node.raw) else _encode(node)
    return text.encode("utf-8", "backslashreplace")


def _encode(node: Node) -> str:
    done: list[str] = []
    todo: list[Node | str] = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            done.append(each)
            continue
        match each.value:
            case dict() as entries:
                done.append("{")
                todo.append("}")
                for index, (key, child) in reversed([*enumerate(entries.items())]):
                    todo += (child, f"{',' * bool(index)}{json.dumps(key, ensure_ascii=False)}:")
            case list() as items:
                done.append("[")
                todo.append("]")
                for index, child in reversed([*enumerate(items)]):
                    todo += (child, "," * bool(index))
            case Decimal() as number:
                done.append(str(number))
            case scalar:
                done.append(json.dumps(scalar, ensure_ascii=False))
    return "".join(done)


def is_json(text: str) -> bool:
    """Tell whether a text is valid JSON as a whole."""
    try:
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
