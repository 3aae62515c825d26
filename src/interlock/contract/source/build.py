"""Building the tree of a source, value by value, without recursion and within limits."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct

from interlock.contract.problem import Mark, Problem, problem
from interlock.contract.source.node import Node, Scalar
from interlock.contract.source.text import MAX_DIGITS, MAX_EXPONENT, QUOTE_IT, mark_at, read_number

MAX_DEPTH = 64


MAX_NODES = 100_000


MAX_PROBLEMS = 100


SURROGATE = re.compile("[\ud800-\udfff]")


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+",
)


_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


_CORE = "tag:yaml.org,2002:"


_SCALAR_TAGS = ("str", "int", "float", "bool", "null")


# So many characters weigh as one more value: aliases of a long text are a bomb too.
_WEIGHT = 256


_SHOWN = 60


class Frame(Struct):
    """An open collection: a mapping has entries, a list has items."""

    mark: Mark
    start: int
    entries: dict[str, Node] | None
    items: list[Node]
    keys: dict[str, Mark]
    deepest: int = 0
    flow: bool = False
    anchor: str | None = None
    before: int = 0
    is_key: bool = False
    key: str | None = None
    awaits_key: bool = False


class Anchored(Struct, frozen=True):
    """What an alias stands for, and how much it weighs when written out."""

    node: Node
    key: str | None
    nodes: int = 1
    height: int = 0


class Tree(Struct):
    """How far one source has been read."""

    text: str
    lines: list[int]
    frames: list[Frame]
    problems: list[Problem]
    anchors: dict[str, Anchored | Frame]
    veil: dict[str, str]
    nodes: int = 0
    documents: int = 0
    halted: bool = False


def complain(
    reading: Tree, message: str, mark: Mark, hint: str = "", *, code: str = "syntax"
) -> None:
    """Report a problem that does not stop the reading."""
    if not reading.halted:
        reading.problems.append(problem(code, message, mark=mark, hint=hint))
    if len(reading.problems) == MAX_PROBLEMS:
        told = f"the rest is not read after {MAX_PROBLEMS} problems"
        halt(reading, told, mark, code="too_large")


def halt(reading: Tree, message: str, mark: Mark, hint: str = "", *, code: str = "syntax") -> None:
    """Report a problem that stops the reading."""
    if not reading.halted:
        reading.problems.append(problem(code, message, mark=mark, hint=hint))
    reading.halted = True


def take_scalar(
    reading: Tree,
    written: str,
    span: tuple[int, int],
    *,
    quoted: bool = False,
    tag: str | None = None,
    anchor: str | None = None,
) -> None:
    """Add a scalar to the tree."""
    mark = mark_at(reading.lines, span[0])
    if not written.isascii() and SURROGATE.search(written):
        complain(reading, "half of a character stands alone", mark, "write both its halves")
        written = SURROGATE.sub("\ufffd", written)
    name = _name_tag(reading, tag, _SCALAR_TAGS, mark) if tag else None
    frame = reading.frames[-1]
    is_key = frame.awaits_key
    if is_key:
        merges = written == "<<" and not quoted and tag is None
        _take_key(reading, written, mark, merges=merges)
        if anchor is None:
            return
    value = written if quoted and not name else _read_value(reading, written, name, mark)
    nodes = 1 + len(written) // _WEIGHT
    certain = quoted and isinstance(value, str)
    node = Node(value, mark, quoted=certain, text=reading.text, span=span)
    if anchor is not None:
        reading.anchors[anchor] = Anchored(node, written, nodes)
    if not is_key:
        _place(reading, node, nodes=nodes)


def _name_tag(reading: Tree, tag: str, fitting: tuple[str, ...], mark: Mark) -> str | None:
    name = "str" if tag == "!" else tag.removeprefix(_CORE)
    if name in fitting and name != tag:
        return name
    if tag != "!":
        shown = shorten(tag.replace(_CORE, "!!"))
        complain(reading, f"the tag {shown} cannot be read here", mark, "remove the tag")
    return None


def _read_value(reading: Tree, written: str, tag: str | None, mark: Mark) -> Scalar:
    if tag == "str":
        return written
    value = _resolve(reading, written, mark)
    if tag is None or _fits(value, tag):
        return Decimal(value) if tag == "float" and isinstance(value, int) else value
    told = f"{shorten(written)} does not fit the tag !!{tag}"
    complain(reading, told, mark, "remove the tag")
    return written


def _fits(value: Scalar, tag: str) -> bool:
    match value:
        case bool():
            return tag == "bool"
        case int():
            return tag in {"int", "float"}
        case Decimal():
            return tag == "float"
        case str():
            return False
        case None:
            return tag == "null"


def _resolve(reading: Tree, written: str, mark: Mark) -> Scalar:
    if written in _WORDS:
        return _WORDS[written]
    if written[0] not in "+-.0123456789":
        return written
    if _ENDLESS.fullmatch(written):
        complain(reading, f"{written} is not a finite number", mark, QUOTE_IT)
        return written
    if not _NUMBER.fullmatch(written):
        return written
    value = read_number(written)
    if value is None:
        told = f"a number has up to {MAX_DIGITS} digits and an exponent up to {MAX_EXPONENT}"
        complain(reading, told, mark, QUOTE_IT, code="too_large")
        return written
    return value


def _take_key(reading: Tree, key: str | None, mark: Mark, *, merges: bool = False) -> None:
    frame = reading.frames[-1]
    frame.awaits_key = False
    frame.key = None
    if key is None:
        complain(reading, "a mapping or a list cannot be a key", mark, QUOTE_IT)
    elif merges:
        hint = 'write the entries out; for a key of that name write "<<"'
        complain(reading, "merge keys are not read", mark, hint)
    elif first := frame.keys.get(key):
        told = f"the key {shorten(key)} stands twice; the first is in line {first.line}"
        code = "duplicate_state" if _names_states(reading) else "syntax"
        complain(reading, told, mark, "remove or rename one of them", code=code)
    else:
        frame.key = key
        frame.keys[key] = mark
        reading.nodes += len(key) // _WEIGHT


def _names_states(reading: Tree) -> bool:
    """Tell whether the innermost mapping is the one whose keys are a contract's states."""
    around = [frame.key for frame in reading.frames[:-1]]
    return around == ["states"]


def _place(reading: Tree, node: Node, *, nodes: int = 1) -> None:
    frame = reading.frames[-1]
    if frame.entries is None:
        frame.items.append(node)
    else:
        frame.awaits_key = True
        if frame.key is not None:
            frame.entries[frame.key] = node
    reading.nodes += nodes
    if reading.nodes > MAX_NODES:
        told = f"the file holds more than {MAX_NODES} values, counting what aliases stand for"
        halt(reading, told, node.mark, code="too_large")


def open_collection(
    reading: Tree,
    start: int,
    *,
    mapping: bool,
    flow: bool,
    tag: str | None = None,
    anchor: str | None = None,
) -> None:
    """Begin a mapping or a list."""
    mark = mark_at(reading.lines, start)
    if tag:
        _name_tag(reading, tag, ("map" if mapping else "seq",), mark)
    frame = Frame(mark, start, {} if mapping else None, [], {}, len(reading.frames), flow, anchor)
    frame.before = reading.nodes
    frame.awaits_key = mapping
    frame.is_key = reading.frames[-1].awaits_key
    _check_depth(reading, frame.deepest, mark)
    reading.frames.append(frame)
    if anchor is not None:
        reading.anchors[anchor] = frame


def close_collection(reading: Tree, end: int) -> None:
    """End the innermost mapping or list and add it to the tree."""
    frame = reading.frames.pop()
    parent = reading.frames[-1]
    parent.deepest = max(parent.deepest, frame.deepest)
    value = frame.items if frame.entries is None else frame.entries
    span = (frame.start, end) if frame.flow else (0, 0)
    node = Node(value, frame.mark, keys=frame.keys, text=reading.text, span=span)
    # An anchor of the same name further in takes over.
    if frame.anchor is not None and reading.anchors.get(frame.anchor) is frame:
        nodes, height = reading.nodes - frame.before + 1, frame.deepest - len(reading.frames) + 1
        reading.anchors[frame.anchor] = Anchored(node, None, nodes, height)
    if frame.is_key:
        _take_key(reading, None, frame.mark)
    else:
        _place(reading, node)


def take_alias(reading: Tree, name: str, start: int) -> None:
    """Add what an alias stands for."""
    mark = mark_at(reading.lines, start)
    found = reading.anchors.get(name)
    if not isinstance(found, Anchored):
        lack = "is not defined before this place" if found is None else "contains itself"
        complain(reading, f"the anchor {shorten(name)} {lack}", mark)
        found = Anchored(Node(None, mark), "")
    frame = reading.frames[-1]
    if frame.awaits_key:
        _take_key(reading, found.key, mark)
        return
    depth = len(reading.frames) - 1 + found.height
    frame.deepest = max(frame.deepest, depth)
    _check_depth(reading, depth, mark)
    _place(reading, found.node, nodes=found.nodes)


def _check_depth(reading: Tree, depth: int, mark: Mark) -> None:
    if depth > MAX_DEPTH:
        told = f"values are nested more than {MAX_DEPTH} deep"
        halt(reading, told, mark, code="too_large")


def shorten(text: str) -> str:
    """Return a text cut to what a message can show."""
    return f'"{text}"' if len(text) <= _SHOWN else f'"{text[:_SHOWN]}..."'
