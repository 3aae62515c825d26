"""Walking through a contract: the shortest event sequences that together take every row."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from heapq import heappop, heappush
from itertools import groupby
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from interlock.contract.expression.values import as_plain, write_json
from interlock.contract.model import ANY, Row, rows_by_event
from interlock.contract.outcome import Moved, Refused, Stayed
from interlock.machine import start, step
from interlock.walk.trials import Payload, first_contexts, payloads, prepare_trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.data import Context
    from interlock.contract.model import Contract
    from interlock.walk.trials import Trials

MAX_STEPS = 100_000
MAX_EVENTS = 60
MAX_ALIKE = 3
MAX_ALIKE_AIMED = 48
CROWD = 40
LINE = 88

Goal = tuple[str, ...]


class Path(Struct, frozen=True, kw_only=True):
    """Events from a new instance on, with the states they lead through and the rows they take."""

    events: tuple[str | dict[str, Payload], ...]
    states: tuple[str, ...]
    rows: tuple[str, ...]
    intents: tuple[str, ...] = ()
    context: Payload = {}


class Missed(Struct, frozen=True, kw_only=True):
    """A row that no path takes, and why."""

    row: str
    reason: str = "not reached"


class Walk(Struct, frozen=True, kw_only=True):
    """The paths through a contract, none the beginning of another, and the rows off them."""

    paths: tuple[Path, ...]
    missed: tuple[Missed, ...] = ()


class _Place(Struct, eq=False):
    """An instance somewhere on its way, with the step that led here."""

    outcome: Moved | Stayed
    goals: frozenset[Goal]
    before: _Place | None = None
    event: tuple[str, Payload | None] | None = None
    given: Payload = {}
    steps: int = 0


def walk(contract: Contract, *, limit: int = MAX_STEPS) -> Walk:
    """Return short event sequences that together take every row that can be reached.

    At most `limit` steps are tried; a new instance is given only what has no default, unless some
    row is reached only otherwise.
    """
    places = sorted(_select(_search(contract, limit)), key=lambda place: place.steps)
    labels = _labels(contract)
    taken = {id(row) for place in places for way in _way(place) for row in way.outcome.rows}
    return Walk(
        paths=tuple(_path_to(place, labels) for place in places),
        missed=tuple(Missed(row=label) for row, label in labels.items() if row not in taken),
    )


def show_paths(found: Walk) -> str:
    """Return paths as text: the events of each, where they lead, and the rows not reached."""
    lines: list[str] = []
    for path in found.paths:
        given = f"given {write_json(path.context)}: " if path.context else ""
        events = (one if isinstance(one, str) else _show_event(one) for one in path.events)
        lines.append(f"{given}{', '.join(events) or '(no event)'}")
        lines.append(f"    {' -> '.join(path.states)}")
    lines += [f"{missed.reason}: {missed.row}" for missed in found.missed]
    return "\n".join(lines)


def _show_event(event: dict[str, Payload]) -> str:
    return ", ".join(f"{name} {write_json(payload)}" for name, payload in event.items())


def _labels(contract: Contract) -> dict[int, str]:
    """Return how each row is called: its name, or its place and its target."""
    labels: dict[int, str] = {}
    known: Counter[str] = Counter()
    for state, row in _rows_with_place(contract):
        label = row.name or f"{state}.{row.event or 'always'} -> {row.to or 'stay'}"
        known[label] += 1
        labels[id(row)] = label if known[label] == 1 else f"{label} ({known[label]})"
    return labels


def _rows_with_place(contract: Contract) -> Iterator[tuple[str, Row]]:
    for state in contract.states.values():
        for row in (*state.rows, *state.always):
            yield state.name, row
    for row in contract.any:
        yield ANY, row


def _row_goal(row: Row) -> Goal:
    return ("row", str(id(row)))  # equal rows of two states are two goals


def _all_goals(contract: Contract) -> set[Goal]:
    return {
        *(_row_goal(row) for _, row in _rows_with_place(contract)),
        *(("state", name) for name in contract.states),
        *(
            ("timer", state.name, timer.event)
            for state in contract.states.values()
            for timer in state.timers
            if timer.event is not None
        ),
    }


def _goals_of(contract: Contract, state: str, event: str, outcome: Moved | Stayed) -> set[Goal]:
    goals: set[Goal] = {_row_goal(row) for row in outcome.rows}
    goals |= {("state", name) for name in outcome.trail}
    if state in contract.states and any(t.event == event for t in contract.states[state].timers):
        goals.add(("timer", state, event))
    return goals


def _rows_around(contract: Contract, goals: set[Goal]) -> tuple[Row, ...]:
    """Return the rows among goals, with those tried before and after each."""
    found: list[Row] = []
    for state in contract.states.values():
        for rows in (state.always, *rows_by_event(contract, state).values()):
            found += rows if any(_row_goal(row) in goals for row in rows) else ()
    return tuple(found)


class _Search:
    """A search by breadth, in which crowded states wait for the others."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.trials: Trials = prepare_trials(contract)
        self.open = _all_goals(contract)
        self.found: list[_Place] = []
        self.queue: list[tuple[int, int, _Place]] = []
        self.seen: set[tuple[str, str]] = set()
        self.crowds: Counter[str] = Counter()
        self.tried = 0
        self.alike = MAX_ALIKE

    def begin(self, given: Payload) -> None:
        """Add a new instance to the places to go on from."""
        outcome = start(self.contract, given)
        if not isinstance(outcome, Refused):
            goals = _goals_of(self.contract, "", "", outcome)
            self.reach(_Place(outcome, frozenset(goals), given=given))

    def reach(self, place: _Place) -> bool:
        """Note what a place is the first to reach, and tell whether it is new itself."""
        fresh = place.goals & self.open
        if fresh:
            self.open -= fresh
            self.found.append(place)
        outcome = place.outcome
        matter = [outcome.context.get(name) for name in self.trials.matter]
        key = (outcome.state, write_json(matter))
        if key in self.seen or place.steps >= MAX_EVENTS:
            return False
        self.seen.add(key)
        self.crowds[outcome.state] += 1
        rank = place.steps + self.crowds[outcome.state] // CROWD
        heappush(self.queue, (rank, len(self.seen), place))
        return True

    def widen(self) -> None:
        """Begin again with payloads that aim at what is not reached."""
        self.trials = prepare_trials(self.contract, _rows_around(self.contract, self.open))
        self.alike = MAX_ALIKE_AIMED
        self.queue.clear()
        self.seen.clear()
        self.crowds.clear()

    def run(self, limit: int) -> None:
        """Go on from the nearest places until everything is reached or the limit is."""
        last = self.tried + limit
        while self.queue and self.open and self.tried < last:
            self.leave(heappop(self.queue)[2])

    def leave(self, place: _Place) -> None:
        """Try every event of a place's state with every payload worth it."""
        state, context = place.outcome.state, place.outcome.context
        for name in self.contract.tables.plans[state]:
            alike: Counter[tuple[int, ...]] = Counter()
            for payload in payloads(self.trials, name, context):
                following = self.follow(place, state, context, (name, payload))
                if following is None:
                    continue
                rows = tuple(id(row) for row in following.outcome.rows)
                if alike[rows] < self.alike or following.goals & self.open:
                    alike[rows] += self.reach(following)

    def follow(
        self, place: _Place, state: str, context: Context, event: tuple[str, Payload | None]
    ) -> _Place | None:
        """Return the place an event leads to, if it is not refused."""
        self.tried += 1
        outcome = step(self.contract, state, context, event)
        if isinstance(outcome, Refused):
            return None
        goals = frozenset(_goals_of(self.contract, state, event[0], outcome))
        return _Place(outcome, goals, place, event, place.given, place.steps + 1)


def _search(contract: Contract, limit: int) -> list[_Place]:
    search = _Search(contract)
    firsts = first_contexts(search.trials)
    for given in firsts[:1]:
        search.begin(given)
    search.run(limit // 3)
    for given in firsts[1:]:
        search.begin(given)
    search.run(limit // 3)
    if search.open:
        search.widen()
        for given in first_contexts(search.trials):
            search.begin(given)
        search.run(limit // 3)
    return search.found


def _way(place: _Place) -> list[_Place]:
    """Return the places from the start to a place."""
    found: list[_Place] = []
    here: _Place | None = place
    while here is not None:
        found.append(here)
        here = here.before
    return found[::-1]


def _select(places: list[_Place]) -> list[_Place]:
    """Return few of the places, whose ways together pass all that is reached on any way."""
    passed = {id(place): _passed(place) for place in places}
    chosen: list[_Place] = []
    covered: set[Goal] = set()
    for place in sorted(places, key=lambda place: -place.steps):
        if not passed[id(place)] <= covered:
            chosen.append(place)
            covered |= passed[id(place)]
    for place in sorted(chosen, key=lambda place: place.steps):
        others = [passed[id(other)] for other in chosen if other is not place]
        if passed[id(place)] <= set[Goal]().union(*others):
            chosen.remove(place)
    return chosen


def _passed(place: _Place) -> set[Goal]:
    return {goal for passed in _way(place) for goal in passed.goals}


def _path_to(place: _Place, labels: dict[int, str]) -> Path:
    way = _way(place)
    events = [passed.event for passed in way if passed.event is not None]
    return Path(
        events=tuple(name if data is None else {name: data} for name, data in events),
        states=tuple(state for passed in way for state in passed.outcome.trail),
        rows=tuple(labels[id(row)] for passed in way for row in passed.outcome.rows),
        intents=tuple(intent.name for passed in way for intent in passed.outcome.intents),
        context=place.given,
    )


_TOP = """\
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import interlock

CONTRACT = interlock.load(@)


def play(
    events: Sequence[object], given: Mapping[str, Any] | None = None
) -> tuple[list[str], list[str]]:
    \"\"\"Return the states visited and the intents emitted; a refusal fails the test.\"\"\"
    outcome = interlock.start(CONTRACT, given)
    assert not isinstance(outcome, interlock.Refused), outcome.message
    states, intents = list(outcome.trail), [intent.name for intent in outcome.intents]
    for event in events:
        outcome = interlock.step(CONTRACT, outcome.state, outcome.context, event)
        assert not isinstance(outcome, interlock.Refused), outcome.message
        states += outcome.trail
        intents += [intent.name for intent in outcome.intents]
    return states, intents
"""


def as_pytest(contract: Contract, source_name: str, *, found: Walk | None = None) -> str:
    """Return a test module that plays paths through the contract of a file, one test for each."""
    walked = walk(contract) if found is None else found
    name = re.sub(r"[\"\\\\]", " ", contract.name)[:40]
    title = f'"""Paths through {name}: every row that can be reached is taken."""\n'
    names: Counter[str] = Counter()
    cases = [_write_case(path, _claim(path, names)) for path in walked.paths]
    text = "\n\n".join([_TOP.replace("@", _flat(source_name)), *cases])
    if "Decimal(" in text:
        text = text.replace("from typing", "from decimal import Decimal\nfrom typing", 1)
    missed = "".join(f"# {one.reason}: {one.row}\n" for one in walked.missed)
    return f"{title}\n{text}" + (f"\n\n{missed}" if missed else "")


def _claim(path: Path, names: Counter[str]) -> str:
    """Return the name of a path's test, which says what it shows."""
    events = [one if isinstance(one, str) else next(iter(one)) for one in path.events]
    runs = [(name, len(list(run))) for name, run in groupby(events)]
    words = [name if count == 1 else f"{name}_{count}_times" for name, count in runs]
    claim = _slug("_then_".join(words) or "a_new_instance", "_leads_to_", path.states[-1])
    if len(claim) > LINE - 25:
        many = f"{len(events)}_events_from_{events[0]}" if events else "a_new_instance"
        claim = _slug(many, "_lead_to_", path.states[-1])[: LINE - 25].strip("_")
    names[claim] += 1
    return claim if names[claim] == 1 else f"{claim}_way_{names[claim]}"


def _slug(*words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", "".join(words).lower()).strip("_")


def _write_case(path: Path, claim: str) -> str:
    given = f"    given: dict[str, object] = {_spread(as_plain(path.context), 4)}\n"
    return (
        f"def test_{claim}() -> None:\n"
        f"    events: list[object] = {_spread(as_plain(path.events), 4)}\n"
        f"{given if path.context else ''}"
        f"    states, intents = play(events{', given' if path.context else ''})\n"
        f"    assert states == {_spread(list(path.states), 4)}\n"
        f"    assert intents == {_spread(list(path.intents), 4)}\n"
    )


def _spread(value: object, indent: int) -> str:
    """Write a list or an object as Python, an item a line."""
    pad, flat = " " * (indent + 4), _flat(value)
    lines: list[str] = []
    signs = "[]"
    if isinstance(value, dict):
        signs = "{}"
        for key, item in cast("Payload", value).items():
            start_of_line = f"{pad}{_flat(key)}: "
            lines.append(start_of_line + _fit(item, indent + 4, len(start_of_line)))
    elif isinstance(value, list):
        lines += [pad + _fit(item, indent + 4, len(pad)) for item in cast("list[object]", value)]
    if not lines:
        return flat
    return signs[0] + "\n" + "".join(f"{line},\n" for line in lines) + " " * indent + signs[1]


def _fit(value: object, indent: int, used: int) -> str:
    """Write a value in the rest of a line, or an item a line where it is too long."""
    flat = _flat(value)
    return flat if used + len(flat) < LINE else _spread(value, indent)


def _flat(value: object) -> str:
    match value:
        case str():
            return repr(value) if '"' in value else json.dumps(value, ensure_ascii=False)
        case Decimal():
            whole = value == value.to_integral_value() and value.as_tuple().exponent == 0
            return f"Decimal({value})" if whole else f'Decimal("{value}")'
        case list():
            return f"[{', '.join(map(_flat, cast('list[object]', value)))}]"
        case dict():
            entries = cast("Payload", value).items()
            return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in entries) + "}"
        case _:
            return repr(value)
