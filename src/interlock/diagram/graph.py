"""What every form draws: a contract as nodes and edges with their texts."""

from __future__ import annotations

import re
import unicodedata
from itertools import count as count_from
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interlock.contract.expression.expr import write_expression
from interlock.contract.expression.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.contract.model import Contract, Row, State, StateKind, Timer

Kind = Literal["initial", "operational", "snapshot", "success", "error", "terminal", "unknown"]
KINDS: tuple[Kind, ...] = (
    "initial",
    "operational",
    "snapshot",
    "success",
    "error",
    "terminal",
    "unknown",
)
ANY_TEXT = "any state"
ANY_ID = "any_state"

# Signs that turn the order of the others around, and two that XML does not allow.
_UNSAFE = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"
_PLAIN = re.compile(r"(?!s\d+$)[A-Za-z][A-Za-z0-9_]*")
# Words that mean something to a reader of Mermaid or Graphviz, or to the engine under one.
_TAKEN = re.compile(
    "accdescr|acctitle|any_state|as|choice|class|classdef|click|constructor|default|digraph"
    "|direction|edge|end|fork|graph|hasownproperty|hide|href|join|node|note|prototype|root|scale"
    "|state|statediagram|strict|style|subgraph|tolocalestring|tostring|valueof",
    re.IGNORECASE,
)


class Label(Struct, frozen=True):
    """One reason to take an edge: its event (or `always`), its guard, its deadline."""

    event: str
    guard: str = ""
    after: str = ""


class Node(Struct, frozen=True):
    """A state as it is drawn: its text, its look, and the lines under its name."""

    name: str
    id: str
    kind: Kind
    is_end: bool = False
    details: tuple[str, ...] = ()
    count: int | None = None
    text: str = ""


class Edge(Struct, frozen=True):
    """All the ways from one node to another; no source means any state that has not ended."""

    source: int | None
    target: int
    labels: tuple[Label, ...]


class Graph(Struct, frozen=True):
    """A contract as it is drawn; edges and the first state point into `nodes`."""

    name: str
    version: str
    initial: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    any_details: tuple[str, ...] = ()
    text: str = ""

    @property
    def has_any(self) -> bool:
        """Tell whether there is something to say about any state at all."""
        return bool(self.any_details) or any(edge.source is None for edge in self.edges)


def clean_text(text: str) -> str:
    """Return a text on one line that every form can hold, and that is never empty."""
    if not text:
        return "(no name)"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_clean, text))


def _clean(sign: str) -> str:
    if sign.isspace():
        return " "
    hidden = unicodedata.category(sign) in {"Cc", "Cs"} or sign in _UNSAFE
    return "\N{REPLACEMENT CHARACTER}" if hidden else sign


def shorten(text: str, length: int) -> str:
    """Cut a text that is longer than allowed, and show that it was cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def write_label(label: Label, *, longest: int) -> str:
    """Return a label on one line, its guard no longer than allowed."""
    guard = f"[{shorten(label.guard, longest)}]" if label.guard else ""
    return " ".join(part for part in (label.event, guard, label.after) if part)


def build_graph(contract: Contract, *, counts: Mapping[str, int], details: bool) -> Graph:
    """Return the nodes and edges of a contract, states it only mentions among them."""
    names = list(dict.fromkeys(_names(contract, counts)))
    ids = dict(zip(names, _ids(names), strict=True))
    index = {name: number for number, name in enumerate(names)}
    found: dict[tuple[int | None, int], list[Label]] = {}
    for row in contract.any:
        if row.to is not None:
            _note(found, (None, index[row.to]), _label(row, (), details=details))
    for name, state in contract.states.items():
        for row in (*state.rows, *state.always):
            if row.to is not None:
                key = (index[name], index[row.to])
                _note(found, key, _label(row, state.timers, details=details))
    return Graph(
        name=clean_text(contract.name),
        version=clean_text(contract.version),
        initial=index[contract.initial],
        nodes=tuple(_node(contract, name, ids[name], counts, details=details) for name in names),
        edges=tuple(Edge(source, target, tuple(ls)) for (source, target), ls in found.items()),
        any_details=_stays(contract.any, ()) if details else (),
        text=clean_text(contract.text) if contract.text else "",
    )


def _names(contract: Contract, counts: Mapping[str, int]) -> Iterable[str]:
    yield from contract.states
    yield contract.initial
    for state in contract.states.values():
        yield from (row.to for row in (*state.rows, *state.always) if row.to is not None)
    yield from (row.to for row in contract.any if row.to is not None)
    yield from (name for name, live in counts.items() if live)


def _ids(names: list[str]) -> Iterable[str]:
    numbers = count_from(1)
    for name in names:
        plain = _PLAIN.fullmatch(name) and not _TAKEN.fullmatch(name)
        yield name if plain else f"s{next(numbers)}"


def _note(
    found: dict[tuple[int | None, int], list[Label]], key: tuple[int | None, int], label: Label
) -> None:
    labels = found.setdefault(key, [])
    if label not in labels:
        labels.append(label)


def _label(row: Row, timers: tuple[Timer, ...], *, details: bool) -> Label:
    due = () if row.event is None else (timer for timer in timers if timer.event == row.event)
    after = ", ".join(_after(timer) for timer in due)
    guard = _guard(row) if details else ""
    return Label("always" if row.event is None else clean_text(row.event), guard, after)


def _guard(row: Row) -> str:
    if row.when is not None:
        return clean_text(write_expression(row.when))
    return "else" if row.otherwise else ""


def _after(timer: Timer) -> str:
    return f"{'every' if timer.repeat else 'after'} {format_duration(timer.after)}"


def _node(
    contract: Contract, name: str, id_: str, counts: Mapping[str, int], *, details: bool
) -> Node:
    state = contract.states.get(name)
    if state is None:
        return Node(clean_text(name), id_, "unknown", count=counts.get(name))
    return Node(
        name=clean_text(name),
        id=id_,
        kind=_kind(contract, name, state.kind, state),
        is_end=state.end is not None,
        details=tuple(_details(state)) if details else (),
        count=counts.get(name),
        text=clean_text(state.text) if state.text else "",
    )


def _kind(contract: Contract, name: str, kind: StateKind | None, state: State) -> Kind:
    if kind is not None:
        return kind
    match state.end:
        case "ok":
            return "success"
        case "error":
            return "error"
        case None:
            return "initial" if name == contract.initial else "operational"


def _details(state: State) -> Iterable[str]:
    """Say what happens in a state that no edge shows."""
    yield from (f"enter: {clean_text(effect.label or effect.intent)}" for effect in state.enter)
    yield from (f"{hook.on}: {clean_text(hook.label or hook.route)}" for hook in state.hooks)
    yield from (f"exit: {clean_text(effect.label or effect.intent)}" for effect in state.exit)
    shown = {row.event for row in state.rows}
    for timer in state.timers:
        if timer.event is None or timer.event not in shown:
            what = clean_text(timer.event or timer.notice or "notice")
            yield f"{_after(timer)}: {what}"
    yield from _stays((*state.rows, *state.always), state.timers)
    if state.ignore:
        yield f"ignore: {clean_text(', '.join(state.ignore))}"


def _stays(rows: tuple[Row, ...], timers: tuple[Timer, ...]) -> tuple[str, ...]:
    labels = (_label(row, timers, details=True) for row in rows if row.to is None)
    return tuple(
        write_label(Label(f"{label.event}: stay", label.guard, label.after), longest=1_000)
        for label in dict.fromkeys(labels)
    )
