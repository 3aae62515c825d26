"""Faults of the rows of one state and event: which may be meant at once, never, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.graph import Graph, Path, path_to
from interlock.contract.check.overlap import Possible, together
from interlock.contract.check.places import Placed, shown
from interlock.contract.check.quantities import Effort, Frame
from interlock.contract.expression.expr import conjuncts, write_expression
from interlock.contract.model import Contract, Effect, Event, Row
from interlock.contract.problem import Problem, Severity, problem
from interlock.contract.tables import scope_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

MAX_COMPARED = 32


class Tried(NamedTuple):
    """A row with its place, its guard as texts, and what it does as texts."""

    placed: Placed
    guard: frozenset[str]
    outcome: tuple[object, ...]

    @property
    def row(self) -> Row:
        """The row itself."""
        return self.placed.row

    @property
    def rank(self) -> tuple[bool, int]:
        """What decides which row goes first, before the order in which they are written."""
        return self.placed.state is None, 0 if self.placed.always else self.row.priority


class Group(NamedTuple):
    """The rows tried one after another for an event, and those of them that are judged here."""

    rows: Sequence[Tried]
    judged: Sequence[int]
    event: Event | None
    name: str
    path: Path


def check_rows(
    contract: Contract,
    rows: tuple[Placed, ...],
    graph: Graph,
    *,
    faulty: Collection[str] = (),
    warn: bool,
) -> Iterator[Problem]:
    """Report rows that contradict or hide one another, and data that no row is for.

    Rows beside a guard that is itself `faulty` are not judged.
    """
    effort = Effort()
    for group in _groups(contract, rows, graph):
        if any(_is_faulty(tried.placed.where, faulty) for tried in group.rows):
            continue
        frame = Frame(scope_of(contract, group.event), effort)
        if len(group.rows) > 1:
            yield from _compare(group, frame, warn=warn)
        if warn and group.event is not None and group.judged and effort.left >= 0:
            yield from _check_cover(group, frame)
    if effort.left < 0:
        message = "so many guards that not all of them were compared with one another"
        yield problem("too_large", message, mark=contract.mark, severity="warning")


def _is_faulty(where: str, faulty: Collection[str]) -> bool:
    return f"{where}.when" in faulty or where.rpartition("[")[0] in faulty


def _groups(contract: Contract, rows: tuple[Placed, ...], graph: Graph) -> Iterator[Group]:
    wild: dict[str, list[Tried]] = {}
    own: dict[str, dict[str | None, list[Tried]]] = {}
    for placed in rows:
        name = None if placed.always else str(placed.row.event)
        row = placed.row
        tried = Tried(placed, frozenset(map(write_expression, conjuncts(row.when))), _outcome(row))
        if placed.state is None:
            wild.setdefault(str(row.event), []).append(tried)
        else:
            own.setdefault(placed.state.name, {}).setdefault(name, []).append(tried)
    for state, events in own.items():
        path = path_to(graph, state)
        ended = contract.states[state].end is not None
        for name, found in events.items():
            beside = [] if ended or name is None else wild.get(name, [])
            yield _group(contract, name, found, beside, path)
    for name, found in wild.items():
        yield _group(contract, name, found, [], _path_to_wild(contract, graph, name, own))


def _group(
    contract: Contract, name: str | None, own: list[Tried], beside: list[Tried], path: Path
) -> Group:
    if name is None:  # `always` rows are tried as they are written, whatever their priority
        return Group(own, range(len(own)), None, "always", path)
    rows = sorted([*own, *beside], key=lambda tried: -tried.row.priority)
    mine = {id(tried) for tried in own}
    judged = [at for at, tried in enumerate(rows) if id(tried) in mine]
    event = contract.events.get(name) or Event(name=name, open=True)
    return Group(rows, judged, event, name, (*path, name))


def _path_to_wild(
    contract: Contract,
    graph: Graph,
    event: str,
    own: Mapping[str, Mapping[str | None, object]],
) -> Path:
    """Return the way to a state where a row for every state is the first for its event."""
    for name, state in contract.states.items():
        if name in graph.came and not state.end and event not in own.get(name, {}):
            return (*path_to(graph, name), event)
    return ()


def _compare(group: Group, frame: Frame, *, warn: bool) -> Iterator[Problem]:
    """Compare each judged row with those tried before it, and report its gravest fault."""
    first: dict[object, Tried] = {}
    for position in group.judged:
        tried = group.rows[position]
        same = first.setdefault((tried.rank, tried.guard), tried)
        if same is tried:
            if warn and frame.effort.left >= 0:
                before = group.rows[max(0, position - MAX_COMPARED) : position]
                yield from _judge(group, tried, before, frame)
        elif same.outcome != tried.outcome:
            both = "have no guard" if tried.row.when is None else "have the same guard"
            told = f"it and {shown(same.placed)} {both}"
            yield _clash(group, tried.placed, told, severity="error")
        elif warn:
            yield _duplicate(group, tried.placed, same.placed)


def _judge(group: Group, tried: Tried, before: Sequence[Tried], frame: Frame) -> Iterator[Problem]:
    """Report, as a warning, a row that is never taken or may be meant together with another."""
    placed, row = tried.placed, tried.row
    certain = next((one for one in before if one.row.when is None), None)
    if certain is not None:
        yield _shadowed(group, placed, f"{shown(certain.placed)} is always taken before it")
        return
    rivals = [one for one in before if one.rank == tried.rank and one.outcome != tried.outcome]
    if row.when is None:
        if rivals and not row.otherwise:
            told = f"it has no guard, so it is also meant where {shown(rivals[-1].placed)} is"
            yield _clash(group, placed, told, severity="warning")
        return
    guards = [one.row.when for one in before if one.row.when is not None]
    if before and together(frame, [row.when], guards) is None:
        yield _shadowed(group, placed, "wherever its guard holds, one before it holds too")
        return
    found = [(one, both) for one in rivals if (both := together(frame, [one.row.when, row.when]))]
    if found:
        rival, both = next((pair for pair in found if pair[1].sure), found[0])
        yield _clash(group, placed, _told_of(rival.placed, both), severity="warning")


def _told_of(rival: Placed, both: Possible) -> str:
    if not both.sure:
        return f"it is undecided whether its guard and that of {shown(rival)} can hold together"
    data = f", as for {both.example}" if both.example else ""
    return f"its guard and that of {shown(rival)} can hold together{data}"


def _outcome(row: Row) -> tuple[object, ...]:
    updates = {update.field: write_expression(update.value) for update in row.updates}
    return row.to, updates, [_effect(effect) for effect in row.effects]


def _effect(effect: Effect) -> tuple[object, ...]:
    payload = {one.name: write_expression(one.value) for one in effect.arguments}
    return effect.intent, payload, effect.done, effect.failed


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
    guards = [tried.row.when for tried in group.rows if tried.row.when is not None]
    if len(guards) < max(2, len(group.rows)):  # a single guard is there to refuse
        return
    left = together(frame, [], guards) if len(guards) <= MAX_COMPARED else Possible(sure=False)
    if left is None:
        return
    reason = "none of its guards holds" if left.sure else "it may be that no guard holds"
    reason += f" for {left.example}" if left.sure and left.example else ""
    first = group.rows[group.judged[0]].placed
    yield problem(
        "partial_guards",
        f"some data is refused: {reason}",
        mark=first.mark,
        where=first.where.rpartition("[")[0],
        hint="add a row with `else:` if nothing is to be refused",
        severity="warning",
        witness=group.path,
    )
