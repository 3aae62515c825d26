"""What is written down and can do nothing: keys that contradict or cancel one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.model import place_of
from interlock.contract.problem import Mark, Problem, Severity, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.contract.check.places import Placed
    from interlock.contract.model import Contract, Hook, Rule, State


def check_idle(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Problem]:
    """Report what can do nothing, and names that stand for two things at once."""
    for placed in rows:
        if placed.row.restart_timer and placed.row.to is not None:
            told = "a row that moves begins the deadlines anew by itself; `restart` adds nothing"
            yield _idle(told, placed.mark, placed.where)
    for state in contract.states.values():
        yield from _check_state(contract, state)
    for name in contract.internal:
        if name in contract.events:
            told = f"{name!r} is listed under `events` and stands for an `always` row, too"
            mark = contract.events[name].mark
            hint = "an event the machine takes itself is not listed"
            yield _fault("duplicate_name", told, mark, f"events.{name}", hint=hint)
    yield from _check_ways(contract, rows)
    yield from _check_wild(contract, rows)
    yield from _check_begins(contract)
    yield from _check_tests(contract)
    yield from _check_versions(contract)


def _check_state(contract: Contract, state: State) -> Iterator[Problem]:
    where = f"states.{state.name}"
    answered = {row.event for row in state.rows}
    for event in state.ignore:
        if event in answered:
            mark = place_of(contract, f"{where}.ignore", event, state.mark)
            told = f"{event!r} has a row here, so it is not ignored"
            yield _idle(told, mark, f"{where}.ignore")
    for index, timer in enumerate(state.timers):
        place = f"{where}.after[{index}]"
        if timer.once and timer.repeat:
            told = "a deadline is either `once` or `repeat`"
            yield _fault("bad_value", told, timer.mark, place)
        if timer.event is not None and timer.notice:
            told = "a deadline that raises an event gives no notice"
            yield _idle(told, timer.mark, place)


def _check_ways(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Problem]:
    """Report hooks and rules for an event that never leads into their state."""
    ways = {(placed.row.event, placed.row.to) for placed in rows}
    for state in contract.states.values():
        plans: dict[str, Hook | Rule] = {f"rules[{i}]": rule for i, rule in enumerate(state.rules)}
        hooks = {f"hooks[{i}]": hook for i, hook in enumerate(state.hooks) if hook.on == "enter"}
        for key, plan in (plans | hooks).items():
            if plan.via in contract.events and (plan.via, state.name) not in ways:
                told = f"{plan.via!r} never leads into {state.name}, so this is never told"
                yield _idle(told, plan.mark, f"states.{state.name}.{key}")


def _check_wild(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Problem]:
    """Report rows of `any` that every state answers before them."""
    open_states = [state for state in contract.states.values() if state.end is None]
    for placed in rows:
        row = placed.row
        if placed.state is None and open_states and row.priority == 0:
            first = (_answers_first(state, str(row.event)) for state in open_states)
            if all(first):
                told = f"this row for {row.event} is never taken: every state has its own answer"
                yield _fault(
                    "shadowed_transition", told, placed.mark, placed.where, severity="warning"
                )


def _answers_first(state: State, event: str) -> bool:
    own = any(row.event == event and row.when is None and row.priority >= 0 for row in state.rows)
    return own or event in state.ignore


def _check_begins(contract: Contract) -> Iterator[Problem]:
    initial = contract.states.get(contract.initial)
    if initial is None:
        return
    answered = {row.event for row in (*initial.rows, *contract.any)} | set(initial.ignore)
    for event in contract.begins:
        if event in contract.events and event not in answered:
            told = f"{event!r} begins a generation, but {initial.name} has no row for it"
            yield _idle(told, place_of(contract, "begins", event, contract.mark), "begins")


def _check_tests(contract: Contract) -> Iterator[Problem]:
    for index, test in enumerate(contract.tests):
        expected = (test.expect, test.expect_context, test.intents, test.outcomes)
        if all(part is None or part == {} for part in expected):
            told = "a test that expects nothing cannot fail"
            hint = "say `expect`, `context`, `intents` or `outcomes`"
            place = f"tests[{index}]"
            yield _fault(
                "setting_without_effect", told, test.mark, place, hint=hint, severity="warning"
            )


def _check_versions(contract: Contract) -> Iterator[Problem]:
    own = _parts(contract.version)
    for step in contract.migrate:
        if _parts(step.version) >= own:
            told = f"version {step.version} is not older than {contract.version}"
            yield _idle(told, step.mark, f"migrate.{step.version}")


def _parts(version: str) -> tuple[int, ...]:
    """Return a version as numbers; what is none is older than all."""
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()


def _idle(message: str, mark: Mark, where: str) -> Problem:
    return _fault("setting_without_effect", message, mark, where, severity="warning")


def _fault(
    code: str, message: str, mark: Mark, where: str, *, hint: str = "", severity: Severity = "error"
) -> Problem:
    return problem(code, message, mark=mark, where=where, hint=hint, severity=severity)
