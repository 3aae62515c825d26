"""Faults of cycles: `always` rows that never rest, and retries that their bound does not end."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.graph import (
    Edge,
    Graph,
    components,
    events_of,
    path_to,
    search,
    steps_to,
)
from interlock.contract.expression.expr import Arithmetic, Compare, Const, Expr, Name, conjuncts
from interlock.contract.problem import Problem, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.contract.model import Contract

MAX_RAISES = 20
MAX_NAMED = 12


def check_always(contract: Contract, graph: Graph, *, warn: bool) -> Iterator[Problem]:
    """Report `always` rows that lead back to where they began: surely, or if their guards hold."""
    hops = {
        name: tuple(edge for edge in edges if edge.event is None)
        for name, edges in graph.edges.items()
        if contract.states[name].always
    }
    endless = list(_endless(hops))
    for cycle in endless:
        yield _always_cycle(graph, cycle, sure=True)
    if not warn:
        return
    told = {edge.source for cycle in endless for edge in cycle}
    for group in components(hops):
        inner = {
            name: tuple(edge for edge in hops.get(name, ()) if edge.target in group)
            for name in group
        }
        if not told & group and any(inner.values()):
            first = next(name for name in hops if name in group)
            yield _always_cycle(graph, _way_round(first, inner), sure=False)


def _endless(hops: Mapping[str, tuple[Edge, ...]]) -> Iterator[tuple[Edge, ...]]:
    """Yield the cycles of hops that are all taken whatever the data."""
    certain = {name: edges[0] for name, edges in hops.items() if edges and not edges[0].row.when}
    done: set[str] = set()
    for start in certain:
        walk: dict[str, Edge] = {}
        state = start
        while state in certain and state not in walk and state not in done:
            walk[state] = certain[state]
            state = certain[state].target
        if state in walk:
            states = list(walk)
            yield tuple(walk[name] for name in states[states.index(state) :])
        done |= walk.keys()


def _way_round(start: str, edges: Mapping[str, tuple[Edge, ...]]) -> tuple[Edge, ...]:
    """Return a shortest way from a state back to itself."""
    counted = {  # each hop counts here, though it costs no event
        name: tuple(edge._replace(event=edge.event or "") for edge in found)
        for name, found in edges.items()
    }
    came = search([start], counted.__getitem__)
    closing = [edge for name in came for edge in edges[name] if edge.target == start]
    last = min(closing, key=lambda edge: came[edge.source][0])
    return (*steps_to(last.source, came), last)


def _always_cycle(graph: Graph, cycle: tuple[Edge, ...], *, sure: bool) -> Problem:
    way = _named(cycle)
    first = cycle[0]
    message = f"`always` rows lead round for ever: {way}"
    if not sure:
        message = f"`always` rows can lead round: {way}, unless a guard stops holding on the way"
    return problem(
        "always_cycle",
        message,
        mark=first.row.mark,
        where=f"states.{first.source}.always",
        hint="a step takes at most 16 of them: guard one row by what another changes"
        if sure
        else "a step takes at most 16 of them, else it is refused with HOP_LIMIT",
        severity="error" if sure else "warning",
        witness=path_to(graph, first.source),
    )


def _named(cycle: tuple[Edge, ...]) -> str:
    names = [edge.source for edge in cycle]
    names = names if len(names) <= MAX_NAMED else [*names[:MAX_NAMED], "..."]
    return " -> ".join([*names, cycle[0].source])


class Raise(NamedTuple):
    """A row that raises a counter up to a bound."""

    edge: Edge
    field: str
    bound: Decimal


def check_retries(contract: Contract, graph: Graph) -> Iterator[Problem]:
    """Report cycles in which a counter is raised up to its bound, and reset on the way."""
    raises = [found for edges in graph.edges.values() for edge in edges for found in _raises(edge)]
    edges = {name: _unfinished(contract, graph, name) for name in graph.edges}
    told: set[tuple[str, int]] = set()
    found = [(raised, cycle) for raised in raises[:MAX_RAISES] if (cycle := _cycle(raised, edges))]
    for raised, cycle in sorted(found, key=lambda pair: len(pair[1])):
        keys = {(raised.field, id(edge.row)) for edge in cycle}
        if keys & told:  # a detour of a cycle that is told already
            continue
        told.add((raised.field, id(raised.edge.row)))
        yield _endless_retry(raised, cycle)


def _unfinished(contract: Contract, graph: Graph, state: str) -> tuple[Edge, ...]:
    """Return the ways from a state that has not reached success; what follows is a new attempt."""
    return () if contract.states[state].kind == "success" else graph.edges[state]


def _raises(edge: Edge) -> Iterator[Raise]:
    raised = {update.field for update in edge.row.updates if _is_raised(update.field, update.value)}
    for part in conjuncts(edge.row.when) if raised else ():
        match part:
            case Compare(op="<" | "<=", left=Name(name=name), right=Const(value=bound)):
                pass
            case Compare(op=">" | ">=", left=Const(value=bound), right=Name(name=name)):
                pass
            case _:
                continue
        if name in raised and isinstance(bound, int | Decimal) and not isinstance(bound, bool):
            yield Raise(edge, name, Decimal(bound))


def _is_raised(field: str, value: Expr) -> bool:
    match value:
        case Arithmetic(op="+", left=Name(name=name), right=Const(value=int() | Decimal() as by)):
            return name == field and by > 0
        case Arithmetic(op="+", left=Const(value=int() | Decimal() as by), right=Name(name=name)):
            return name == field and by > 0
        case _:
            return False


def _cycle(raised: Raise, edges: Mapping[str, tuple[Edge, ...]]) -> tuple[Edge, ...]:
    """Return the shortest cycle that begins with a raise and resets its counter on the way."""
    if raised.edge not in edges[raised.edge.source]:
        return ()
    ahead = search([raised.edge.target], lambda name: edges[name])
    entering: dict[str, list[Edge]] = {}
    for name in ahead:
        for edge in edges[name]:
            entering.setdefault(edge.target, []).append(_turned(edge))
    home = search([raised.edge.source], lambda name: entering.get(name, ()))
    resets = [
        edge
        for name in ahead
        for edge in edges[name]
        if edge.target in home and _resets(edge, raised)
    ]
    if not resets:
        return ()
    reset = min(resets, key=lambda edge: (ahead[edge.source][0] + home[edge.target][0], edge.wild))
    rest = reversed(steps_to(reset.target, home))
    return (raised.edge, *steps_to(reset.source, ahead), reset, *map(_turned, rest))


def _turned(edge: Edge) -> Edge:
    return edge._replace(source=edge.target, target=edge.source)


def _resets(edge: Edge, raised: Raise) -> bool:
    for update in edge.row.updates:
        match update.value:
            case Const(value=int() | Decimal() as value) if not isinstance(value, bool):
                if update.field == raised.field and value < raised.bound:
                    return True
            case _:
                pass
    return False


def _endless_retry(raised: Raise, cycle: tuple[Edge, ...]) -> Problem:
    edge, field, bound = raised
    reset = next(step for step in cycle if _resets(step, raised))
    way = f"{_named(cycle)} can go on for ever"
    message = (
        f"{field} bounds {edge.event or 'always'} in {edge.source} at {bound}, "
        f"but {reset.event or 'always'} in {reset.source} resets it on the way back: {way}"
    )
    return problem(
        "endless_retry",
        message,
        mark=edge.row.mark,
        where=f"states.{edge.source}",
        hint=f"reset {field} only where the retries have led to success",
        severity="warning",
        witness=events_of(cycle),
    )
