"""Names that mean nothing: states, events, fields and parameter sets that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from interlock.contract.check.places import Asked, Placed, placed_effects, state_effects
from interlock.contract.keys import STATE
from interlock.contract.model import place_of
from interlock.contract.problem import Mark, Problem, did_you_mean, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.model import Contract, Hook, Rule

MAX_GUESSES = 25
MAX_KNOWN = 1_000
MAX_LISTED = 8

What = Literal["state", "event", "field", "param"]
_SAID: dict[What, tuple[str, str]] = {
    "state": ("unknown_state", "there is no state {!r}"),
    "event": ("unknown_event", "the contract lists no event {!r}"),
    "field": ("unknown_field", "the context has no field {!r}"),
    "param": ("unknown_param", "no parameter set {!r} is declared"),
}
_ADVICE: dict[What, str] = {
    "state": "there are: {}",
    "event": "list it under `events`",
    "field": "declare it under `context`",
    "param": "declare it under `params`",
}


class Reference(NamedTuple):
    """A name that must be known, and where it is used."""

    what: What
    name: str
    where: str
    mark: Mark


def check_names(
    contract: Contract, rows: tuple[Placed, ...], *, broken: bool = False
) -> Iterator[Problem]:
    """Report names that are not known; of a broken contract, only those that are certainly not."""
    known = _known(contract, broken=broken)
    guesses = 0
    told: set[tuple[str, str]] = set()
    for reference in _references(contract, rows):
        names = known.get(reference.what)
        if names is None or reference.name in names:
            continue
        # Rows of one key name their event once; where no event is listed, once is enough for all.
        key = reference.where.rpartition("[")[0] or reference.where
        key = key if names or reference.what != "event" else "events"
        if reference.what == "event" and (key, reference.name) in told:
            continue
        told.add((key, reference.name))
        guesses += 1
        hint = _hint(reference, names) if guesses <= MAX_GUESSES else ""
        code, text = _SAID[reference.what]
        message = text.format(reference.name[:80])
        if reference.what == "event" and _meant_key(reference, names):
            code, message = "unknown_key", f"unknown key {reference.name!r}"
            hint = did_you_mean(reference.name, STATE)
        mark = place_of(contract, reference.where, reference.name, reference.mark)
        yield problem(code, message, mark=mark, where=reference.where, hint=hint)
    if not broken:
        yield from _duplicate_codes(contract)
        yield from _duplicate_rows(rows)


def _meant_key(reference: Reference, events: set[str]) -> bool:
    """Tell whether what stands for an event in a native state is rather a misspelt key."""
    inside = reference.where.startswith("states.") and reference.where.count(".") > 1
    own = f".{reference.name}" in reference.where
    return (
        inside
        and own
        and not did_you_mean(reference.name, events)
        and bool(did_you_mean(reference.name, STATE))
    )


def _known(contract: Contract, *, broken: bool) -> dict[What, set[str]]:
    known: dict[What, set[str]] = {"state": set(contract.states)}
    if contract.events or not broken:
        known["event"] = set(contract.events)
    if contract.params or not broken:
        known["param"] = {param.code for param in contract.params}
    if not contract.open:
        known["field"] = set(contract.context)
    return known


def _hint(reference: Reference, known: set[str]) -> str:
    near = did_you_mean(reference.name, known) if len(known) <= MAX_KNOWN else ""
    if near or (reference.what == "state" and len(known) > MAX_LISTED):
        return near
    return _ADVICE[reference.what].format(", ".join(sorted(known)))


def _references(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Reference]:
    yield Reference("state", contract.initial, "initial", contract.mark)
    for placed in rows:
        yield from _of_row(contract, placed)
    for state in contract.states.values():
        where = f"states.{state.name}"
        for asked in state_effects(state):
            yield from _of_effect(asked)
        for index, timer in enumerate(state.timers):
            if timer.event is not None:
                yield Reference("event", timer.event, f"{where}.after[{index}]", timer.mark)
        for index, hook in enumerate(state.hooks):
            yield from _of_plan(hook, f"{where}.hooks[{index}]")
        for index, rule in enumerate(state.rules):
            yield from _of_plan(rule, f"{where}.rules[{index}]")
        for name in state.ignore:
            yield Reference("event", name, f"{where}.ignore", state.mark)
    yield from _of_whole(contract)
    yield from _of_versions(contract)


def _of_row(contract: Contract, placed: Placed) -> Iterator[Reference]:
    where, row = placed.where, placed.row
    if row.event is not None and not placed.always:
        event = Reference("event", row.event, where, row.mark)
        yield event
        if row.event not in contract.events and _meant_key(event, set(contract.events)):
            return
    if row.to is not None:
        yield Reference("state", row.to, where, row.mark)
    for update in row.updates:
        yield Reference("field", update.field, f"{where}.set.{update.field}", update.mark)
    for asked in placed_effects(where, "do", row.effects):
        yield from _of_effect(asked)


def _of_effect(asked: Asked) -> Iterator[Reference]:
    for key, name in (("done", asked.effect.done), ("failed", asked.effect.failed)):
        if name is not None:
            yield Reference("event", name, f"{asked.where}.{key}", asked.effect.mark)


def _of_plan(item: Hook | Rule, where: str) -> Iterator[Reference]:
    for key, name in (("via", item.via), ("done", item.done), ("failed", item.failed)):
        if name is not None:
            yield Reference("event", name, f"{where}.{key}", item.mark)
    for code in item.params or ():
        yield Reference("param", code, f"{where}.params", item.mark)


def _of_whole(contract: Contract) -> Iterator[Reference]:
    events = [("begins", name) for name in contract.begins]
    events += [("publish", name) for name in contract.publish]
    events += [] if contract.on_error is None else [("on_error", contract.on_error)]
    for where, name in events:
        yield Reference("event", name, where, contract.mark)
    for where, names in (("touched", contract.touched), ("indexed", contract.indexed)):
        for name in names:
            yield Reference("field", name, where, contract.mark)


def _of_versions(contract: Contract) -> Iterator[Reference]:
    for step in contract.migrate:
        where = f"migrate.{step.version}"
        for old, new in step.states.items():
            yield Reference("state", new, f"{where}.states.{old}", step.mark)
        for update in step.updates:
            yield Reference("field", update.field, f"{where}.set.{update.field}", update.mark)
    for index, play in enumerate(contract.tests):
        where = f"tests[{index}]"
        for key, name in (("given.state", play.state), ("expect", play.expect)):
            if name is not None:
                yield Reference("state", name, f"{where}.{key}", play.mark)
        for number, (name, _) in enumerate(play.events):
            expected = play.outcomes[number : number + 1] if play.outcomes else ()
            if name not in contract.internal and expected != ("refused:UNKNOWN_EVENT",):
                yield Reference("event", name, f"{where}.events", play.mark)
        for key, data in (("given", play.context), ("context", play.expect_context)):
            for name in data:
                yield Reference("field", name, f"{where}.{key}.{name}", play.mark)


def _duplicate_codes(contract: Contract) -> Iterator[Problem]:
    first: dict[int, str] = {}
    for event in contract.events.values():
        if event.code is None:
            continue
        other = first.setdefault(event.code, event.name)
        if other != event.name:
            message = f"the events {other!r} and {event.name!r} have the same code {event.code}"
            where = f"codes.{event.name}"
            yield problem("duplicate_name", message, mark=event.mark, where=where)


def _duplicate_rows(rows: tuple[Placed, ...]) -> Iterator[Problem]:
    first: dict[str, Placed] = {}
    for placed in rows:
        name = placed.row.name
        if not name:
            continue
        other = first.setdefault(name, placed)
        written_once = placed.mark.line and placed.mark == other.mark
        if other is not placed and not written_once:
            message = f"two rows have the name {name!r}; the other is at {other.where}"
            yield problem("duplicate_name", message, mark=placed.mark, where=placed.where)
