"""Faults of the whole: states that cannot be reached, left, or brought to an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.check.graph import Edge, Graph, path_to, search
from interlock.contract.problem import Problem, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.check.places import Placed
    from interlock.contract.model import Contract, State, StateKind

_END_KINDS: dict[str, set[StateKind]] = {
    "ok": {"terminal", "success"},
    "error": {"terminal", "error"},
}


def check_ends(contract: Contract, rows: tuple[Placed, ...], graph: Graph) -> Iterator[Problem]:
    """Report ways out of ended states, and kinds that contradict what a state is."""
    for placed in rows:
        state = placed.state
        if state is not None and state.end is not None:
            event = "an `always` row" if placed.always else f"a row for {placed.row.event!r}"
            message = f"{state.name} has ended, yet it has {event}"
            yield problem(
                "transition_from_terminal",
                message,
                mark=placed.mark,
                where=placed.where,
                hint="remove the row, or the state's `end`",
                witness=path_to(graph, state.name),
            )
    for state in contract.states.values():
        where = f"states.{state.name}"
        if state.end is not None:
            for index, timer in enumerate(state.timers):
                message = f"{state.name} has ended, yet it has a deadline"
                place = f"{where}.after[{index}]"
                hint = "remove the deadline, or the state's `end`"
                code = "transition_from_terminal"
                yield problem(code, message, mark=timer.mark, where=place, hint=hint)
        reason = _kind_fault(contract, state)
        if reason:
            message = f"{state.name} is of kind {state.kind}, but {reason}"
            yield problem("kind_mismatch", message, mark=state.mark, where=f"{where}.kind")


def _kind_fault(contract: Contract, state: State) -> str:
    if state.kind is None:
        return ""
    if state.kind == "initial" and state.name != contract.initial:
        return f"instances begin in {contract.initial}"
    if state.end is None:
        return "it has no `end`" if state.kind == "terminal" else ""
    return "" if state.kind in _END_KINDS[state.end] else f"it ends with `{state.end}`"


def check_reach(contract: Contract, graph: Graph, *, warn: bool) -> Iterator[Problem]:
    """Report states that nothing leads to, and states that lead nowhere."""
    certain = not graph.loose and contract.initial in contract.states
    isolated: set[str] = set()
    if contract.dialect != "native" and certain:
        isolated = _isolated(contract, graph)
        for name, state in contract.states.items():
            if name in isolated:
                message = f"no transition leads into {name} or out of it"
                yield _about(state, "isolated_state", message, "connect or remove it")
    if certain and (warn or contract.dialect == "native"):
        for name, state in contract.states.items():
            if name not in graph.reached and name not in isolated:
                yield _unreachable(contract, state)
    for name, state in contract.states.items():
        if name not in isolated and is_trap(state, graph):
            certainly = contract.dialect == "native" or state.kind != "success"
            if certainly or warn:
                yield _trap(state, graph, error=certainly)
    if warn and certain:
        yield from _check_paths(contract, graph)


def _isolated(contract: Contract, graph: Graph) -> set[str]:
    """Return the states that no transition of their own leads into or out of."""
    linked = {contract.initial}
    for state, edges in graph.edges.items():
        for edge in edges:
            if edge.target != state:
                linked.add(edge.target)
                if not edge.wild:
                    linked.add(state)
    return contract.states.keys() - linked


def _about(
    state: State,
    code: str,
    message: str,
    hint: str,
    *,
    error: bool = True,
    witness: tuple[str, ...] = (),
) -> Problem:
    return problem(
        code,
        message,
        mark=state.mark,
        where=f"states.{state.name}",
        hint=hint,
        severity="error" if error else "warning",
        witness=witness,
    )


def _unreachable(contract: Contract, state: State) -> Problem:
    native = contract.dialect == "native"
    message = f"no sequence of events leads to {state.name}"
    hint = "lead a row to it, or remove it" if native else "only an operator's `force` gets there"
    return _about(state, "unreachable_state", message, hint, error=native)


def is_trap(state: State, graph: Graph) -> bool:
    """Tell whether a state that is no end has no way out."""
    if state.end is not None or state.name in graph.loose:
        return False
    return all(edge.target == state.name for edge in graph.edges[state.name])


def _trap(state: State, graph: Graph, *, error: bool) -> Problem:
    stays = bool(graph.edges[state.name])
    message = f"{state.name} is no end, but no row leads {'elsewhere' if stays else 'out of it'}"
    hint = "give it `end: ok` or `end: error`, or a row that leads on"
    witness = path_to(graph, state.name)
    return _about(state, "trap_state", message, hint, error=error, witness=witness)


def _check_paths(contract: Contract, graph: Graph) -> Iterator[Problem]:
    """Report states from which no end can be reached, unless another problem already says so."""
    ends = {name for name in graph.reached if contract.states[name].end is not None}
    if not ends:
        return
    stops = ends | {s.name for s in contract.states.values() if is_trap(s, graph)}
    entering: dict[str, list[Edge]] = {name: [] for name in contract.states}
    for edges in graph.edges.values():
        for edge in edges:
            back = edge._replace(source=edge.target, target=edge.source)
            entering[edge.target].append(back)
    leading = search(stops, entering.__getitem__)
    for name, state in contract.states.items():
        if name in graph.reached and name not in leading:
            message = f"no end can be reached from {name}"
            hint = f"the ends are: {', '.join(sorted(ends)[:8])}"
            path = path_to(graph, name)
            yield _about(state, "no_path_to_terminal", message, hint, error=False, witness=path)
