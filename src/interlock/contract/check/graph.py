"""The contract as a graph: which rows can be taken where, and how each state is reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from interlock.contract.model import Contract, Row, State, rows_by_event

MAX_EDGES = 60_000
MAX_STEPS = 200

Path = tuple[str, ...]


class Edge(NamedTuple):
    """A way from a state: a row that may be taken there; a hop has no event."""

    source: str
    event: str | None
    target: str
    row: Row
    wild: bool = False


class Graph(Struct, frozen=True):
    """The rows tried in each state, the ways that leave it, and the shortest ways into it."""

    rows: Mapping[str, Mapping[str, tuple[Row, ...]]]
    edges: Mapping[str, tuple[Edge, ...]]
    came: Mapping[str, tuple[int, Edge | None]]
    reached: frozenset[str]
    loose: frozenset[str]


def build_graph(contract: Contract, *, unsure: Collection[str] = ()) -> Graph:
    """Return the graph of a contract; `unsure` states may have ways that were not read."""
    rows = {state.name: rows_by_event(contract, state) for state in contract.states.values()}
    wild = {id(row) for row in contract.any}
    edges: dict[str, tuple[Edge, ...]] = {}
    loose = set(unsure)
    for name, state in contract.states.items():
        found = tuple(_leaving(state, rows[name], wild))
        edges[name] = tuple(edge for edge in found if edge.target in contract.states)
        if len(found) != len(edges[name]):
            loose.add(name)
    first = [contract.initial] if contract.initial in edges else []
    came = search(first, edges.__getitem__)
    moved = [new for step in contract.migrate for new in step.states.values() if new in edges]
    reached = frozenset(search([*came, *moved], edges.__getitem__)) if moved else frozenset(came)
    return Graph(rows=rows, edges=edges, came=came, reached=reached, loose=frozenset(loose))


def _leaving(
    state: State, rows: Mapping[str, tuple[Row, ...]], wild: Collection[int]
) -> Iterator[Edge]:
    """Yield the ways from a state, the contract's own rows for every state last."""
    for row in until_certain(state.always):
        yield Edge(state.name, None, row.to or state.name, row)
    if passes_through(state):
        return
    late: list[Edge] = []
    for event, tried in rows.items():
        for row in until_certain(tried):
            edge = Edge(state.name, event, row.to or state.name, row, id(row) in wild)
            if edge.wild:
                late.append(edge)
            else:
                yield edge
    yield from late


def until_certain(rows: tuple[Row, ...]) -> Iterator[Row]:
    """Yield rows up to the first that is always taken; the rest never are."""
    for row in rows:
        yield row
        if row.when is None:
            return


def passes_through(state: State) -> bool:
    """Tell whether no instance rests in a state, since one of its `always` rows is always taken."""
    return any(row.when is None for row in state.always)


def search(
    starts: Collection[str], edges: Callable[[str], Collection[Edge]]
) -> dict[str, tuple[int, Edge | None]]:
    """Return each state that can be reached, with the events it takes and the last way into it."""
    came: dict[str, tuple[int, Edge | None]] = dict.fromkeys(starts, (0, None))
    queue: deque[tuple[int, str]] = deque((0, start) for start in starts)
    while queue:
        cost, state = queue.popleft()
        if came[state][0] < cost:
            continue
        for edge in edges(state):
            ahead = cost + (edge.event is not None)
            if edge.target in came and came[edge.target][0] <= ahead:
                continue
            came[edge.target] = (ahead, edge)
            if edge.event is None:  # a hop costs no event
                queue.appendleft((ahead, edge.target))
            else:
                queue.append((ahead, edge.target))
    return came


def steps_to(state: str, came: Mapping[str, tuple[int, Edge | None]]) -> tuple[Edge, ...]:
    """Return the ways by which a search came to a state; nothing where they are very many."""
    steps: list[Edge] = []
    while len(steps) <= MAX_STEPS:
        edge = came[state][1]
        if edge is None:
            return tuple(reversed(steps))
        steps.append(edge)
        state = edge.source
    return ()


def path_to(graph: Graph, state: str) -> Path:
    """Return the shortest event sequence from the beginning to a state."""
    return events_of(steps_to(state, graph.came)) if state in graph.came else ()


def events_of(steps: Collection[Edge]) -> Path:
    """Return the events of a sequence of ways, without its hops."""
    return tuple(step.event for step in steps if step.event is not None)


def components(edges: Mapping[str, Collection[Edge]]) -> Iterator[frozenset[str]]:
    """Yield the sets of states that all lead to one another, without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            state, rest = work[-1]
            edge = next(rest, None)
            if edge is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    yield _unwind(state, stack, on_stack)
            elif edge.target not in index:
                index[edge.target] = low[edge.target] = len(index)
                stack.append(edge.target)
                on_stack.add(edge.target)
                work.append((edge.target, iter(edges.get(edge.target, ()))))
            elif edge.target in on_stack:
                low[state] = min(low[state], index[edge.target])


def _unwind(root: str, stack: list[str], on_stack: set[str]) -> frozenset[str]:
    found: set[str] = set()
    while True:
        state = stack.pop()
        on_stack.discard(state)
        found.add(state)
        if state == root:
            return frozenset(found)
