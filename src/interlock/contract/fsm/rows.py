"""The rows of the FSM dialect: transitions with their conditions and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from interlock.contract.expression.expr import Expr, all_of
from interlock.contract.fsm.guard import GuardError, loosen, parse_guard
from interlock.contract.fsm.settings import (
    ACTION,
    CONDITION,
    IDLE,
    TRANSITION,
    Machine,
    need_name,
    note_idle,
    read_milliseconds,
    read_optional_flag,
    report_unknown_state,
)
from interlock.contract.model import ANY, Argument, Effect, Row, State
from interlock.contract.reading import expression_mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.contract.reading import Reading
    from interlock.contract.source.node import Node

CONTINUE: Final = "CONTINUE"


class Action(NamedTuple):
    """What an action's name stands for: the intent's kind and the events of its result."""

    intent: str
    done: str | None = None
    failed: str | None = None
    cancel: bool = False


_UPSERT = Action(
    "postgres.upsert_registration", "POSTGRES_SUCCEEDED", "POSTGRES_FAILED", cancel=True
)
_REGISTER = Action("consul.register", "CONSUL_SUCCEEDED", "CONSUL_FAILED", cancel=True)
_EVENT = Action("log_event")
_METRIC = Action("log_metric")

ACTION_KINDS: Final[Mapping[str, Action]] = {
    "validate_payload": Action("validate_payload", "VALIDATION_PASSED", "VALIDATION_FAILED"),
    "emit_postgres_upsert_intent": _UPSERT,
    "emit_postgres_intent": _UPSERT,
    "emit_consul_register_intent": _REGISTER,
    "emit_consul_intent": _REGISTER,
    "emit_consul_deregister_intent": Action("consul.deregister"),
    "emit_postgres_deregister_intent": Action("postgres.delete_registration"),
    "log_registration_start": _EVENT,
    "log_registration_complete": _EVENT,
    "log_partial_failure": _EVENT,
    "log_deregistration_complete": _EVENT,
    "log_failure": _EVENT,
    "log_postgres_success": _METRIC,
    "emit_registration_success_metric": _METRIC,
    "emit_partial_registration_metric": _METRIC,
    "emit_deregistration_metric": _METRIC,
    "emit_failure_metric": _METRIC,
}

UNTIMED: Final = frozenset({"log_event", "log_metric"})


class Transition(NamedTuple):
    """A row and the state it leads from."""

    source: str
    row: Row


def read_transitions(
    nodes: list[Node], states: Mapping[str, State], machine: Machine, reading: Reading
) -> tuple[Transition, ...]:
    """Read the transitions between states that exist."""
    note_idle(nodes, "transitions", reading)
    for place in ("conditions", "actions"):
        note_idle(_parts(nodes, place), place, reading)
    found = (
        _read_transition(node, states, machine, reading, f"transitions[{index}]")
        for index, node in enumerate(nodes)
    )
    return tuple(transition for transition in found if transition is not None)


def _parts(nodes: list[Node], key: str) -> list[Node]:
    lists = [node.value.get(key) for node in nodes if isinstance(node.value, dict)]
    return [item for node in lists if node and isinstance(node.value, list) for item in node.value]


def _read_transition(
    node: Node, states: Mapping[str, State], machine: Machine, reading: Reading, where: str
) -> Transition | None:
    entries = reading.mapping(node, {*TRANSITION, *IDLE["transitions"]}, where)
    name = reading.name(entries.get("transition_name"), where) or ""
    where = f"transitions.{name}" if name else where
    source = need_name(entries, "from_state", node, reading, where)
    target = need_name(entries, "to_state", node, reading, where)
    trigger = need_name(entries, "trigger", node, reading, where)
    required, noted = _read_conditions(entries.get("conditions"), machine, reading, where)
    row = Row(
        event=trigger,
        to=target,
        when=all_of(required),
        noted=noted,
        effects=read_actions(entries.get("actions"), machine, reading, f"{where}.actions"),
        priority=reading.number(entries.get("priority"), f"{where}.priority"),
        name=name,
        text=reading.text(entries.get("description"), where),
        mark=node.mark,
    )
    if read_optional_flag(entries, "is_atomic", reading, where) is False:
        told = "a transition is always atomic"
        reading.report("unsupported_setting", told, at=entries["is_atomic"], where=where)
    if source is None or target is None or trigger is None:
        return None
    return _settle(Transition(source, row), entries, states, reading, where)


def _settle(
    transition: Transition,
    entries: Mapping[str, Node],
    states: Mapping[str, State],
    reading: Reading,
    where: str,
) -> Transition | None:
    """Return the transition if both of its states exist, or report which do not."""
    source, row = transition
    ends = ("from_state", source), ("to_state", str(row.to))
    unknown = [end for end in ends if end[1] not in states and end != ("from_state", ANY)]
    for key, name in unknown:
        report_unknown_state(name, entries[key].mark, states, reading, f"{where}.{key}")
    if source == ANY and row.event == CONTINUE:
        told = f"{CONTINUE} is taken at once, so it cannot lead from every state"
        reading.report("bad_value", told, at=entries["from_state"], where=where)
        return None
    return None if unknown else transition


def _read_conditions(
    node: Node | None, machine: Machine, reading: Reading, where: str
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the guards that must hold and those that are only noted."""
    required: list[Expr] = []
    noted: list[Expr] = []
    for index, item in enumerate(reading.items(node, f"{where}.conditions")):
        place = f"{where}.conditions[{index}]"
        entries = reading.mapping(item, {*CONDITION, *IDLE["conditions"]}, place)
        guard = _read_guard(item, entries.get("expression"), machine, reading, place)
        blocks = read_optional_flag(entries, "required", reading, place)
        if guard is not None:
            (noted if blocks is False else required).append(guard)
    return tuple(required), tuple(noted)


def _read_guard(
    item: Node, node: Node | None, machine: Machine, reading: Reading, where: str
) -> Expr | None:
    if node is None:
        if isinstance(item.value, dict):
            reading.report("bad_value", "expression is missing", at=item, where=where)
        return None
    if isinstance(node.value, dict | list):
        reading.wrong(node, "a guard: `field operator value`", where)
        return None
    text = node.value if isinstance(node.value, str) else node.raw
    found = parse_guard((loosen(text) if machine.loose else None) or text)
    if isinstance(found, GuardError):
        mark = expression_mark(node, found.at)
        reading.report(found.code, found.message, at=mark, where=where, hint=found.hint)
        return None
    return found


def read_actions(
    node: Node | None, machine: Machine, reading: Reading, where: str
) -> tuple[Effect, ...]:
    """Read actions as the effects they ask for."""
    found = (_read_action(item, machine, reading, where) for item in reading.items(node, where))
    return tuple(effect for effect in found if effect is not None)


def _read_action(node: Node, machine: Machine, reading: Reading, where: str) -> Effect | None:
    """Read an action: a bare name, or a mapping whose constants go into the intent."""
    entries: Mapping[str, Node] = {"action_name": node}
    if isinstance(node.value, dict):
        entries = reading.mapping(node, {*ACTION, *IDLE["actions"]}, where)
    label = need_name(entries, "action_name", node, reading, where)
    if label is None:
        return None
    config = dict(reading.mapping(entries.get("action_config"), None, f"{where}.{label}"))
    named = reading.name(config.pop("intent_type", None), f"{where}.{label}")
    action = Action(named) if named else ACTION_KINDS.get(label, Action(label))
    limit = read_milliseconds(entries.get("timeout_ms"), reading, f"{where}.{label}")
    default = None if action.intent in UNTIMED else machine.settings.timeout
    return Effect(
        intent=action.intent,
        arguments=tuple(_read_constants(config, reading, f"{where}.{label}")),
        done=action.done if action.done in machine.triggers else None,
        failed=action.failed if action.failed in machine.triggers else None,
        timeout=limit or default,
        cancel_on_exit=action.cancel,
        label=label,
        mark=node.mark,
    )


def _read_constants(config: Mapping[str, Node], reading: Reading, where: str) -> Iterator[Argument]:
    for name, node in config.items():
        value = reading.constant(node, f"{where}.{name}")
        if value is not None:
            yield Argument(name, value, node.mark)
