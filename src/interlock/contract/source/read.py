"""Read the text of a contract, YAML or JSON, into a tree that knows where everything stands.

The meanings are those of the YAML 1.2 core schema. PyYAML only cuts the text into events; no
constructor of it is used. Text that is JSON as a whole is cut here, because PyYAML refuses some
of what JSON allows (tabs, long keys, surrogate pairs). Nothing here recurses or raises.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
)

from interlock.contract.problem import Mark, Problem, problem
from interlock.contract.source.build import (
    SURROGATE,
    Frame,
    Tree,
    close_collection,
    complain,
    halt,
    open_collection,
    shorten,
    take_alias,
    take_scalar,
)
from interlock.contract.source.node import Node, is_json
from interlock.contract.source.text import (
    decode,
    line_starts,
    mark_at,
    reason_of,
    weigh,
)

Loader: TypeAlias = "type[yaml.SafeLoader | yaml.CSafeLoader]"


MAX_BYTES = 1_048_576


LOADER: Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]",
)


_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)


_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^\s,:"\[\]{}]+')


# YAML 1.2 reads these as ordinary characters, PyYAML as line breaks or not at all.
_MISREAD = re.compile("[\x85\u2028\u2029\ufeff]")


_HALF = re.compile(r"\\(?=u[dD][89a-fA-F])")


_ESCAPE = re.compile(r"\\(?:(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


_WIDE_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})")


_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def read_source(text: str | bytes, *, loader: Loader = LOADER) -> tuple[Node | None, list[Problem]]:
    """Return the tree of a source, or none where it cannot be read, and all its problems."""
    if len(text) > MAX_BYTES or (isinstance(text, str) and weigh(text) > MAX_BYTES):
        told = f"the file is larger than {MAX_BYTES} bytes"
        return None, [problem("too_large", told, mark=Mark(1, 1), hint="split it")]
    decoded = decode(text) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    if isinstance(decoded, Problem):
        return None, [decoded]
    root = Frame(Mark(1, 1), 0, None, [], {})
    reading = Tree(decoded, line_starts(decoded), [root], [], {}, {})
    if decoded.lstrip()[:1] in ("{", "[", '"') and is_json(decoded):
        _read_json(reading)
    else:
        _read_yaml(reading, loader)
    if reading.halted:
        return None, reading.problems
    if not root.items:
        complain(reading, "the file is empty", Mark(1, 1))
    return next(iter(root.items), None), reading.problems


def _read_json(reading: Tree) -> None:
    for token in _JSON_TOKEN.finditer(reading.text):
        word, (start, end) = token[0], token.span()
        match word[0]:
            case "{" | "[":
                open_collection(reading, start, mapping=word == "{", flow=True)
            case "}" | "]":
                close_collection(reading, end)
            case '"':
                written = json.loads(word) if "\\" in word else word[1:-1]
                take_scalar(reading, written, (start, end), quoted=True)
            case _:
                take_scalar(reading, word, (start, end))
        if reading.halted:
            return


def _read_yaml(reading: Tree, loader: Loader) -> None:
    if not _is_readable(reading):
        return
    end = 0
    try:
        for event in yaml.parse(_veil(reading), Loader=loader):
            start = event.start_mark.index if event.start_mark else end
            end = event.end_mark.index if event.end_mark else start
            _take(reading, event, start, end)
            if reading.halted:
                return
    except yaml.MarkedYAMLError as fault:
        _explain(reading, fault)
    except (yaml.YAMLError, ValueError, OverflowError) as fault:
        told = f"the text cannot be read: {shorten(str(fault))}"
        halt(reading, told, mark_at(reading.lines, end))


def _is_readable(reading: Tree) -> bool:
    if found := _FORBIDDEN.search(reading.text):
        code = ord(found[0])
        half = SURROGATE.match(found[0])
        hint = "it is half of a character" if half else f'in double quotes, write "\\u{code:04x}"'
        told = f"the character U+{code:04X} cannot stand here"
        halt(reading, told, mark_at(reading.lines, found.start()), f"remove it; {hint}")
    # PyYAML compares each of these lines with all before it.
    elif found := _TAG_DIRECTIVE.search(reading.text):
        mark = mark_at(reading.lines, found.start())
        halt(reading, "a %TAG line is not read", mark, "remove it")
    return not reading.halted


def _veil(reading: Tree) -> str:
    """Swap, one for one, what PyYAML would misread for characters that the text does not use."""
    text = reading.text
    hard = {*_MISREAD.findall(text), *_HALF.findall(text)}
    if hard:
        used = {ord(char) for char in text}
        used.update(int(digits, 16) for digits in _WIDE_ESCAPE.findall(text))
        free = (chr(code) for code in range(0x30000, 0x10FFFE) if code not in used)
        reading.veil = dict(zip(sorted(hard), free, strict=False))
    if slash := reading.veil.get("\\"):
        text = _ESCAPE.sub(lambda found: slash + found[1] if found[1] else found[0], text)
    for char in hard - {"\\"}:
        text = text.replace(char, reading.veil[char])
    if "\t" in text and text.lstrip()[:1] in ("{", "["):
        # Within brackets a line's indentation means nothing, so spaces do as well as tabs.
        text = _INDENT.sub(lambda found: " " * len(found[0]), text)
    return text


def _unveil(reading: Tree, written: str, style: str | None) -> str:
    for char, stand_in in reading.veil.items():
        if char != "\\" or style != '"':
            written = written.replace(stand_in, char)
    slash = reading.veil.get("\\")
    if not slash or style != '"':
        return written
    # Last, for a pair may spell a character that stands in for another.
    halves = re.sub(f"{slash}u(.{{4}})", lambda found: chr(int(found[1], 16)), written)
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _explain(reading: Tree, fault: yaml.MarkedYAMLError) -> None:
    said, place, context = fault.problem or "", fault.problem_mark, fault.context_mark
    if context and "expected ':'" in said:
        place = context
    index = min(place.index if place else 0, len(reading.text))
    mark = mark_at(reading.lines, index)
    before = reading.text[reading.lines[mark.line - 1] : index]
    message, hint = reason_of(said, reading.text[index : index + 1], before)
    opened = context.line + 1 if context else mark.line
    halt(reading, message, mark, hint.replace("{line}", str(opened)))


def _take(reading: Tree, event: yaml.Event, start: int, end: int) -> None:
    if isinstance(event, ScalarEvent):
        written, span, quoted = event.value, (start, end), bool(event.style)
        if reading.veil:
            written = _unveil(reading, written, event.style)
        take_scalar(reading, written, span, quoted=quoted, tag=event.tag, anchor=event.anchor)
    elif isinstance(event, CollectionEndEvent):
        close_collection(reading, end)
    elif isinstance(event, CollectionStartEvent):
        mapping, flow = isinstance(event, MappingStartEvent), bool(event.flow_style)
        open_collection(
            reading, start, mapping=mapping, flow=flow, tag=event.tag, anchor=event.anchor
        )
    elif isinstance(event, AliasEvent):
        take_alias(reading, event.anchor or "", start)
    elif isinstance(event, DocumentStartEvent):
        reading.documents += 1
        if reading.documents > 1:
            mark = mark_at(reading.lines, start)
            halt(reading, "a second document begins here", mark, "write one per file")
