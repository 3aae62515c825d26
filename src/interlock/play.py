"""Playing events through a contract: its own tests, and requests from outside."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn, cast

from msgspec import Struct

from interlock.contract.data import EMPTY, Context, Intent
from interlock.contract.expression.values import Mismatch, read_json, reader, write_json
from interlock.contract.outcome import Moved, Refused
from interlock.contract.problem import problem
from interlock.contract.tables import read_context
from interlock.machine import start, step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from interlock.contract.model import Contract, Play
    from interlock.contract.problem import Problem
    from interlock.machine import Outcome

Payload = dict[str, Any]
MAX_EVENTS = 100_000
MAX_SHOWN = 60
REQUEST_KEYS = {"state", "context", "events"}


class Played(Struct, frozen=True, kw_only=True):
    """What came of a sequence of events; `error` says why it could not even begin."""

    state: str
    context: Context
    trail: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    emitted: tuple[dict[str, Any], ...] = ()
    refusals: tuple[Refused, ...] = ()
    error: Refused | None = None


def play(
    contract: Contract,
    *,
    state: str | None = None,
    context: Mapping[str, Any] | None = None,
    events: Iterable[object],
) -> Played:
    """Step through events from a state, or from the start; a refusal does not end the play."""
    begun = begin(contract, state, context)
    if isinstance(begun, Refused):
        refused = tuple(f"refused:{begun.code}" for _ in events)
        return Played(state=begun.state, context=EMPTY, outcomes=refused, error=begun)
    here, data = begun.state, begun.context
    trail: list[str] = list(begun.trail)
    emitted: list[Intent] = list(begun.intents)
    outcomes: list[str] = []
    refusals: list[Refused] = []
    for event in events:
        outcome = step(contract, here, data, event)
        outcomes.append(outcome_word(outcome))
        if isinstance(outcome, Refused):
            refusals.append(outcome)
            continue
        here, data = outcome.state, outcome.context
        trail += outcome.trail
        emitted += outcome.intents
    return Played(
        state=here,
        context=data,
        trail=tuple(trail),
        outcomes=tuple(outcomes),
        intents=tuple(intent.name for intent in emitted),
        emitted=tuple({"name": one.name, "payload": dict(one.payload)} for one in emitted),
        refusals=tuple(refusals),
    )


def outcome_word(outcome: Outcome) -> str:
    """Return an outcome as one word, a refusal with its code."""
    return (
        f"refused:{outcome.code}"
        if isinstance(outcome, Refused)
        else type(outcome).__name__.lower()
    )


def begin(
    contract: Contract, state: str | None, context: Mapping[str, Any] | None
) -> Moved | Refused:
    """Return where a play begins: at the start, or in a given state, entered before it began."""
    if state is None:
        return start(contract, context)
    if state not in contract.states:
        message = f"there is no state {state[:MAX_SHOWN]!r}"
        return Refused(code="INVALID_TRANSITION", message=message, state=state, context=EMPTY)
    try:
        return Moved(state, read_context(contract, context), (), (state,))
    except Mismatch as reason:
        message = f"context: {reason}"
        return Refused(code="VALIDATION_ERROR", message=message, state=state, context=EMPTY)


def run_tests(contract: Contract) -> list[Problem]:
    """Play every test of a contract; each that comes out otherwise is one problem."""
    found: list[Problem] = []
    for index, test in enumerate(contract.tests):
        played = play(contract, state=test.state, context=test.context, events=test.events)
        differences = _differences(contract, test, played)
        if differences:
            found.append(
                problem(
                    "test_failed",
                    "; ".join(differences),
                    mark=test.mark,
                    where=test.name or f"tests[{index}]",
                    hint=_first_surprise(test, played),
                    witness=tuple(write_event(name, payload) for name, payload in test.events),
                )
            )
    return found


def _differences(contract: Contract, test: Play, played: Played) -> list[str]:
    if played.error is not None:
        return [f"the test cannot begin: {played.error.message}"]
    found: list[str] = []
    if test.expect is not None and test.expect != played.state:
        found.append(f"expected state {test.expect}, found {played.state}")
    for name, value in test.expect_context.items():
        found += _field_difference(contract, name, value, played.context)
    if test.outcomes is not None and test.outcomes != played.outcomes:
        found.append(f"expected outcomes {_list(test.outcomes)}, found {_list(played.outcomes)}")
    if test.intents is not None and test.intents != played.intents:
        found.append(f"expected intents {_list(test.intents)}, found {_list(played.intents)}")
    return found


def _field_difference(
    contract: Contract, name: str, value: object, context: Context
) -> tuple[str, ...]:
    field = contract.context.get(name)
    if field is None and not contract.open:
        return (f"expected {name} = {_show(value)}, but the context has no such field",)
    try:
        wanted = read_json(value) if field is None else reader(field.type)(value)
    except Mismatch as reason:
        return (f"{name} can never be {_show(value)}: {reason}",)
    found = context.get(name)
    if _equal(wanted, found):
        return ()
    return (f"expected {name} = {_show(wanted)}, found {_show(found)}",)


def _equal(one: object, other: object) -> bool:
    """Compare data as guards do: bool is no number, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("Payload", one), cast("Payload", other)
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pair = cast("Sequence[object]", one), cast("Sequence[object]", other)
        return len(pair[0]) == len(pair[1]) and all(map(_equal, *pair))
    return one == other


def _first_surprise(test: Play, played: Played) -> str:
    """Say which event was refused first without the test expecting it."""
    if played.error is not None:
        return ""
    wanted = test.outcomes or ()
    refusals = iter(played.refusals)
    for index, outcome in enumerate(played.outcomes):
        if not outcome.startswith("refused:"):
            continue
        refused = next(refusals)
        if index >= len(wanted) or wanted[index] != outcome:
            name = test.events[index][0]
            return f"event {index + 1}, {name}, was refused: {refused.code}: {refused.message}"
    return ""


def write_event(name: str, payload: object) -> str:
    """Return an event as text: its name, with its payload as JSON where it has one."""
    return name if payload is None else f"{name} {write_json(payload)}"


def _show(value: object) -> str:
    text = write_json(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _list(names: tuple[str, ...]) -> str:
    return f"[{', '.join(names)}]"


def answer_line(contract: Contract, line: str | bytes) -> str:
    """Answer one JSON request for a play with one JSON object; never raises."""
    try:
        request = _decode(line)
        state, context, events = _read_request(request)
    except Mismatch as reason:
        return write_json({"error": "VALIDATION_ERROR", "message": str(reason)})
    played = play(contract, state=state, context=context, events=events)
    answer: dict[str, object] = {
        "state": played.state.encode("utf-8", "replace").decode(),
        "context": played.context,
        "trail": played.trail,
        "outcomes": played.outcomes,
        "intents": played.intents,
        "emitted": played.emitted,
    }
    if played.error is not None:
        answer |= {"error": played.error.code, "message": played.error.message}
    return write_json(answer)


def _decode(line: str | bytes) -> object:
    try:
        return json.loads(line, parse_float=_exact, parse_constant=_no_number)
    except RecursionError:
        raise Mismatch("the request is nested too deeply") from None
    except ValueError as reason:
        raise Mismatch(f"the request is not JSON: {str(reason)[:200]}") from None


def _exact(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        raise Mismatch("a number with too large an exponent") from None


def _no_number(word: str) -> NoReturn:
    raise Mismatch(f"{word} is not a number")


def _read_request(request: object) -> tuple[str | None, dict[str, Any] | None, list[object]]:
    if not isinstance(request, dict):
        raise Mismatch("a request is an object with events, and perhaps state and context")
    entries: dict[str, Any] = request  # pyright: ignore[reportUnknownVariableType]
    unknown = next((key for key in entries if key not in REQUEST_KEYS), None)
    if unknown is not None:
        raise Mismatch(f"a request has no {unknown[:MAX_SHOWN]!r}")
    state, context, events = entries.get("state"), entries.get("context"), entries.get("events")
    if state is not None and not isinstance(state, str):
        raise Mismatch("state is not the name of a state")
    if context is not None and not isinstance(context, dict):
        raise Mismatch("context is not an object")
    if not isinstance(events, list):
        raise Mismatch("events is not a list")
    if len(events) > MAX_EVENTS:  # pyright: ignore[reportUnknownArgumentType]
        raise Mismatch(f"more than {MAX_EVENTS} events")
    return state, context, events  # pyright: ignore[reportUnknownVariableType]
