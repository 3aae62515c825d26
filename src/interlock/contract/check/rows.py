"""Faults of the rows of one state and event: which may be meant at once, never, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.graph import Graph, Path, path_to
from interlock.contract.check.overlap import Possible, together
from interlock.contract.check.places import Placed, shown
from interlock.contract.check.quantities import Effort, Frame
from interlock.contract.expr import conjuncts, write_expression
from interlock.contract.model import Contract, Effect, Event, Row
from interlock.contract.problem import Problem, Severity, problem
from interlock.contract.tables import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_COMPARED = 32


class Group(NamedTuple):
    """The rows tried one after another for an event, and those of them that are judged here."""

    rows: Sequence[Placed]
    judged: Sequence[int]
    event: Event | None
    name: str
    path: Path


def check_rows(
    contract: Contract, rows: tuple[Placed, ...], graph: Graph | None, *, warn: bool
) -> Iterator[Problem]:
    """Report rows that contradict or hide one another, and data that no row is for."""
    effort = Effort()
    for group in _groups(contract, rows, graph):
        frame = Frame(scope_of(contract, group.event), effort)
        for position in group.judged:
            yield from _check_row(group, position, frame, warn=warn)
        if warn and group.event is not None and group.judged:
            yield from _check_cover(group, frame)


def _groups(contract: Contract, rows: tuple[Placed, ...], graph: Graph | None) -> Iterator[Group]:
    wild: dict[str, list[Placed]] = {}
    own: dict[str, dict[str | None, list[Placed]]] = {}
    for placed in rows:
        name = None if placed.always else str(placed.row.event)
        if placed.state is None:
            wild.setdefault(str(placed.row.event), []).append(placed)
        else:
            own.setdefault(placed.state.name, {}).setdefault(name, []).append(placed)
    for state, events in own.items():
        path = path_to(graph, state) if graph else ()
        ended = contract.states[state].end is not None
        for name, found in events.items():
            beside = [] if ended or name is None else wild.get(name, [])
            yield _group(contract, name, found, beside, path)
    for name, found in wild.items():
        yield _group(contract, name, found, [], _path_to_wild(contract, graph, name, own))


def _group(
    contract: Contract, name: str | None, own: list[Placed], beside: list[Placed], path: Path
) -> Group:
    if name is None:  # `always` rows are tried as they are written, whatever their priority
        return Group(own, range(len(own)), None, "always", path)
    tried = sorted([*own, *beside], key=lambda placed: -placed.row.priority)
    mine = {id(placed) for placed in own}
    judged = [at for at, placed in enumerate(tried) if id(placed) in mine]
    event = contract.events.get(name) or Event(name=name, open=True)
    return Group(tried, judged, event, name, (*path, name))


def _path_to_wild(
    contract: Contract,
    graph: Graph | None,
    event: str,
    own: Mapping[str, Mapping[str | None, object]],
) -> Path:
    """Return the way to a state where a row for every state is the first for its event."""
    for name, state in contract.states.items():
        if graph and name in graph.came and not state.end and event not in own.get(name, {}):
            return (*path_to(graph, name), event)
    return ()


def _check_row(group: Group, position: int, frame: Frame, *, warn: bool) -> Iterator[Problem]:
    """Compare a row with those tried before it, and report the gravest fault."""
    if position == 0:
        return
    placed = group.rows[position]
    before = group.rows[max(0, position - MAX_COMPARED) : position]
    equals = [one for one in before if _is_equal(one, placed)]
    twin = next((one for one in equals if _is_same(one.row, placed.row)), None)
    if twin is not None:
        if warn:
            yield _duplicate(group, placed, twin)
        return
    clash = next((one for one in equals if _guard(one.row) == _guard(placed.row)), None)
    if clash is not None:
        both = "have no guard" if placed.row.when is None else "have the same guard"
        yield _clash(group, placed, f"it and {shown(clash)} {both}", severity="error")
    elif warn:
        yield from _judge(group, placed, before, frame)


def _judge(
    group: Group, placed: Placed, before: Sequence[Placed], frame: Frame
) -> Iterator[Problem]:
    """Report, as a warning, a row that is never taken or may be meant together with another."""
    certain = next((one for one in before if one.row.when is None), None)
    if certain is not None:
        yield _shadowed(group, placed, f"{shown(certain)} is always taken before it")
        return
    row = placed.row
    rivals = [one for one in before if _is_equal(one, placed) and not _is_alike(one.row, row)]
    if row.when is None:
        if rivals and not row.otherwise:
            told = f"it has no guard, so it is also meant where {shown(rivals[-1])} is"
            yield _clash(group, placed, told, severity="warning")
        return
    guards = [one.row.when for one in before if one.row.when is not None]
    if together(frame, [row.when], guards) is None:
        yield _shadowed(group, placed, "wherever its guard holds, one before it holds too")
        return
    found = [(one, both) for one in rivals if (both := together(frame, [one.row.when, row.when]))]
    if found:
        rival, both = next((pair for pair in found if pair[1].sure), found[0])
        yield _clash(group, placed, _told_of(rival, both), severity="warning")


def _told_of(rival: Placed, both: Possible) -> str:
    if not both.sure:
        return f"it is undecided whether its guard and that of {shown(rival)} can hold together"
    data = f", as for {both.example}" if both.example else ""
    return f"its guard and that of {shown(rival)} can hold together{data}"


def _is_equal(one: Placed, other: Placed) -> bool:
    """Tell whether neither row goes first by its priority or by being the state's own."""
    same_kind = (one.state is None) == (other.state is None)
    return same_kind and (one.always or one.row.priority == other.row.priority)


def _guard(row: Row) -> frozenset[str]:
    return frozenset(write_expression(part) for part in conjuncts(row.when))


def _outcome(row: Row) -> tuple[object, ...]:
    updates = {update.field: write_expression(update.value) for update in row.updates}
    return row.to, updates, [_effect(effect) for effect in row.effects]


def _effect(effect: Effect) -> tuple[object, ...]:
    payload = {one.name: write_expression(one.value) for one in effect.arguments}
    return effect.intent, payload, effect.done, effect.failed


def _is_alike(one: Row, other: Row) -> bool:
    """Tell whether two rows do the same."""
    return one.to == other.to and _outcome(one) == _outcome(other)


def _is_same(one: Row, other: Row) -> bool:
    """Tell whether two rows do the same under the same condition."""
    return _is_alike(one, other) and _guard(one) == _guard(other)


def _duplicate(group: Group, placed: Placed, other: Placed) -> Problem:
    return problem(
        "duplicate_transition",
        f"the same row for {group.name} stands twice; the other is {shown(other)}",
        mark=placed.mark,
        where=placed.where,
        hint="remove one of the two",
        severity="warning",
    )


def _clash(group: Group, placed: Placed, reason: str, *, severity: Severity) -> Problem:
    hint = "the written order decides: make the guards exclude one another, or give priorities"
    if placed.row.when is None:
        hint = "guard one of them, or write the last as `else:`"
    return problem(
        "nondeterministic",
        f"more than one row for {group.name} can be meant: {reason}",
        mark=placed.mark,
        where=placed.where,
        hint=hint,
        severity=severity,
        witness=group.path,
    )


def _shadowed(group: Group, placed: Placed, reason: str) -> Problem:
    return problem(
        "shadowed_transition",
        f"this row for {group.name} is never taken: {reason}",
        mark=placed.mark,
        where=placed.where,
        hint="move it up, or remove it",
        severity="warning",
        witness=group.path,
    )


def _check_cover(group: Group, frame: Frame) -> Iterator[Problem]:
    """Report data that no row of an event is for."""
    guards = [placed.row.when for placed in group.rows if placed.row.when is not None]
    if len(guards) < len(group.rows) or not guards:
        return
    left = together(frame, [], guards) if len(guards) <= MAX_COMPARED else Possible(sure=False)
    if left is None:
        return
    many = "its guard" if len(guards) == 1 else "none of its guards"
    if not left.sure:
        reason = f"it cannot be excluded that {many} {'fails' if len(guards) == 1 else 'holds'}"
    else:
        reason = f"{many} {'does not hold' if len(guards) == 1 else 'holds'}"
        reason += f" for {left.example}" if left.example else ""
    first = group.rows[group.judged[0]]
    yield problem(
        "partial_guards",
        f"some data is refused: {reason}",
        mark=first.mark,
        where=first.where.rpartition("[")[0],
        hint="add a row with `else:` if nothing is to be refused",
        severity="warning",
        witness=group.path,
    )
