"""Faults of waiting: events that nobody answers, and states that nobody will send an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.graph import Graph, passes_through, path_to
from interlock.contract.check.places import Asked, Placed, placed_effects, state_effects
from interlock.contract.data import is_required
from interlock.contract.model import MAX_HOPS
from interlock.contract.problem import Mark, Problem, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.contract.model import Contract, Effect, Hook, Rule, State

MAX_CLOSURE = 20_000


class Raised(NamedTuple):
    """An event that will be raised in a state: by what, and where that is written."""

    event: str
    source: str
    state: str
    where: str
    mark: Mark


def check_waits(contract: Contract, rows: tuple[Placed, ...], graph: Graph) -> Iterator[Problem]:
    """Report events raised where no row takes them, and states whose events nobody raises."""
    resting = _resting(contract, graph)
    taken = {name: {*found, *contract.states[name].ignore} for name, found in graph.rows.items()}
    late = {placed.row.event for placed in rows if placed.row.late}
    for raised in _raised(contract, rows):
        known = raised.event in contract.events and raised.state in resting
        if not known or raised.event in late:
            continue
        if not any(raised.event in taken[name] for name in resting[raised.state]):
            yield _unanswered(graph, raised)
    yield from _empty_handed(contract)
    yield from _undeliverable(contract, graph, late)


def _resting(contract: Contract, graph: Graph) -> dict[str, set[str]]:
    """Return the states in which an instance that enters each state may come to rest."""
    found: dict[str, set[str]] = {}
    budget = MAX_CLOSURE
    everything = set(contract.states)
    for name in contract.states:
        seen = {name}
        work = [name]
        while work and budget > 0:
            for edge in graph.edges[work.pop()]:
                if edge.event is None and edge.target not in seen:
                    budget -= 1
                    seen.add(edge.target)
                    work.append(edge.target)
        rests = {state for state in seen if not passes_through(contract.states[state])}
        found[name] = rests if budget > 0 else everything
    return found


def _raised(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Raised]:
    """Yield the events that effects and deadlines raise, each with the state it is raised in."""
    for state in contract.states.values():
        where = f"states.{state.name}"
        for asked in placed_effects(where, "enter", state.enter):
            yield from _results(asked, state.name)
        for index, timer in enumerate(state.timers):
            if timer.event is not None and not passes_through(state):
                source, place = "the deadline", f"{where}.after[{index}]"
                yield Raised(timer.event, source, state.name, place, timer.mark)
    for placed in rows:
        target = placed.row.to or (placed.state.name if placed.state else None)
        if target is not None:
            for asked in placed_effects(placed.where, "do", placed.row.effects):
                yield from _results(asked, target)


def _results(asked: Asked, state: str) -> Iterator[Raised]:
    effect = asked.effect
    for event in (effect.done, effect.failed):
        if event is not None:
            yield Raised(event, f"the effect {effect.intent!r}", state, asked.where, effect.mark)


def _unanswered(graph: Graph, raised: Raised) -> Problem:
    event, source, state, where, mark = raised
    return problem(
        "unknown_event",
        f"{source} raises {event!r}, but {state} has no row for it",
        mark=mark,
        where=where,
        hint=f"add a row for {event!r} to {state}, or list it there under `ignore`",
        severity="warning",
        witness=path_to(graph, state),
    )


def _empty_handed(contract: Contract) -> Iterator[Problem]:
    """Report deadlines whose event needs a payload that they do not give."""
    for state in contract.states.values():
        for index, timer in enumerate(state.timers):
            event = contract.events.get(timer.event or "")
            given = {argument.name for argument in timer.arguments}
            fields = [field for field in event.fields if is_required(field)] if event else []
            needed = [field.name for field in fields if field.name not in given]
            if event and needed:
                yield problem(
                    "type_error",
                    f"the deadline raises {event.name!r} without {', '.join(needed[:8])}",
                    mark=timer.mark,
                    where=f"states.{state.name}.after[{index}]",
                    hint="give the payload under `with`, or its fields defaults",
                    severity="warning",
                )


def _undeliverable(contract: Contract, graph: Graph, late: set[str | None]) -> Iterator[Problem]:
    """Report states that wait only for results of effects that nobody asked for on the way in."""
    results = {
        event
        for asked in _all_effects(contract)
        for event in (asked.effect.done, asked.effect.failed)
    }
    if not results - {None}:
        return
    awaited = _awaited(contract, graph)
    for name, state in contract.states.items():
        waits = set(graph.rows[name])
        outside = waits - results or waits & late or waits & awaited[name]
        goes_on = bool(state.end or state.timers or state.always or name == contract.initial)
        if not waits or outside or goes_on or name not in graph.reached:
            continue
        listed = ", ".join(sorted(waits)[:8])
        yield problem(
            "undeliverable_wait",
            f"{name} waits only for results ({listed}) of effects that nothing asks for "
            "on the way into it, and has no deadline",
            mark=state.mark,
            where=f"states.{name}",
            hint="ask for the effect on entering, or give the state a deadline under `after`",
            severity="warning",
            witness=path_to(graph, name),
        )


def _all_effects(contract: Contract) -> Iterator[Asked]:
    for state in contract.states.values():
        yield from state_effects(state)
        for row in (*state.rows, *state.always):
            yield from placed_effects("", "", row.effects)
    for row in contract.any:
        yield from placed_effects("", "", row.effects)


def _awaited(contract: Contract, graph: Graph) -> Mapping[str, set[str]]:
    """Return the events whose effects or work items were handed out on the way into each state."""
    awaited = {name: _own_results(state) for name, state in contract.states.items()}
    for name, edges in graph.edges.items():
        leaving = {
            event
            for effect in contract.states[name].exit
            for event in (effect.done, effect.failed)
            if event is not None
        }
        for edge in edges:
            asked = {e for effect in edge.row.effects for e in (effect.done, effect.failed) if e}
            awaited[edge.target] |= leaving | asked
    hops = [edge for edges in graph.edges.values() for edge in edges if edge.event is None]
    for _ in range(MAX_HOPS):  # what a state passed through asked for counts where the way ends
        for hop in hops:
            awaited[hop.target] |= awaited[hop.source]
    return awaited


def _own_results(state: State) -> set[str]:
    items: list[Effect | Hook | Rule] = [*state.enter, *state.hooks, *state.rules]
    return {event for item in items for event in (item.done, item.failed) if event is not None}
