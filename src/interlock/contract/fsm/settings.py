"""The keys of the FSM dialect in tables, and the settings of a whole machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from interlock.contract.keys import Key
from interlock.contract.problem import Mark, did_you_mean
from interlock.contract.source.node import Node, plain

if TYPE_CHECKING:
    from interlock.contract.reading import Reading

MAX_MILLISECONDS = 10**12
MAX_HINTS = 100  # a look for the nearest name is slow where thousands of names are wrong

PLACES: Final = {
    "fsm_subcontract": "The whole machine, or its settings only, beside the machine itself.",
    "state_machine": "The whole machine; its guards may also say `X is_present`, `X is_absent`.",
    "state_transitions": "The whole machine.",
    "fsm": "The whole machine.",
}

MACHINE: Final = {
    "states": Key("states", "The states."),
    "transitions": Key("transitions", "The transitions."),
    "retry_counter": Key("counter", "A counter that triggers raise and reset."),
}

SETTINGS: Final = {
    "state_machine_name": Key("name", "The contract's name; else `name` beside the machine."),
    "state_machine_version": Key("version", "The contract's version."),
    "version": Key("version", "The contract's version where the other is not given."),
    "description": Key("text", "The contract's text."),
    "initial_state": Key("name", "The initial state; else that of type initial; else the first."),
    "success_states": Key("names", "Must name states of type success."),
    "terminal_states": Key("names", "Must name states that are terminal."),
    "error_states": Key("names", "Must name states of type error, or terminal ones."),
    "strict_validation_enabled": Key("flag", "The contract's `strict`; false where absent."),
    "transition_timeout_ms": Key("milliseconds", "How long one attempt of an effect may take."),
    "conflict_resolution_strategy": Key("text", "The order of rows, always by priority."),
    "persistence_enabled": Key("flag", "Every step is stored."),
    "recovery_enabled": Key("flag", "Instances survive restarts."),
    "concurrent_transitions_allowed": Key("flag", "An instance takes one event at a time."),
    "checkpoint_interval_ms": Key("number", "Every step is stored, so there is no interval."),
    "rollback_enabled": Key("flag", "A step happens as a whole or not at all."),
    "max_checkpoints": Key("number", "The log keeps every step."),
    "state_monitoring_enabled": Key("flag", "States are always measured."),
    "event_logging_enabled": Key("flag", "Steps are always logged."),
    "operations": Key("list", "What operators do are commands of their own."),
    "recovery_strategies": Key("mapping", "Advice to operators; not read."),
}

ALWAYS: Final[Mapping[str, object]] = {
    "persistence_enabled": True,
    "recovery_enabled": True,
    "concurrent_transitions_allowed": False,
    "conflict_resolution_strategy": "priority_based",
}

WITHOUT_EFFECT: Final = frozenset(
    {
        "checkpoint_interval_ms",
        "rollback_enabled",
        "max_checkpoints",
        "state_monitoring_enabled",
        "event_logging_enabled",
        "operations",
        "recovery_strategies",
    }
)

STATE: Final = {
    "state_name": Key("name", "The state's name."),
    "state_type": Key("kind", "The state's `kind`."),
    "description": Key("text", "The state's text."),
    "is_terminal": Key("flag", "The state is an `end`: `error` if an error state, else `ok`."),
    "is_recoverable": Key("flag", "The state's `recoverable`."),
    "timeout_ms": Key("milliseconds", "A deadline under `after`, with the event of the table."),
    "entry_actions": Key("actions", "Intents of every entry."),
    "exit_actions": Key("actions", "Intents of every exit."),
    "required_data": Key("names", "The state's `required`."),
    "optional_data": Key("names", "Data that may be there; for readers only."),
    "validation_rules": Key("rules", "The state's `requirements`."),
}

TRANSITION: Final = {
    "transition_name": Key("name", "The row's name, unique in the contract."),
    "from_state": Key("name", "The state, or `*` for every state without an end."),
    "to_state": Key("name", "The target; the state itself is left and entered again."),
    "trigger": Key("name", "The event; CONTINUE is an `always` row."),
    "priority": Key("number", "Higher is tried first; 0 where absent."),
    "is_atomic": Key("flag", "Every step is atomic; false is an error."),
    "description": Key("text", "The row's text."),
    "conditions": Key("conditions", "Guards, all of which must hold."),
    "actions": Key("actions", "Intents of the row."),
}

CONDITION: Final = {
    "condition_name": Key("name", "For readers only."),
    "condition_type": Key("text", "For readers only; every condition is a guard expression."),
    "expression": Key("guard", "Exactly `field operator value`."),
    "required": Key("flag", "False: evaluated and noted, but blocks nothing."),
    "description": Key("text", "For readers only."),
}

ACTION: Final = {
    "action_name": Key("name", "The effect's label, and the intent's kind by the table below."),
    "action_type": Key("text", "For readers only; every action emits an intent."),
    "action_config": Key("mapping", "Constant fields of the intent; `intent_type` is its kind."),
    "timeout_ms": Key("milliseconds", "How long one attempt of the effect may take."),
}

COUNTER: Final = {
    "storage": Key("text", "The context field; what stands before its last dot is left out."),
    "increment_on": Key("names", "Triggers that raise it by one, within the step."),
    "reset_on": Key("names", "Triggers that set it to zero."),
    "max_value": Key("number", "Bounds the raising triggers whose guards do not mention it."),
}

IDLE: Final[Mapping[str, Collection[str]]] = {
    "states": ("version", "metadata"),
    "transitions": (
        "version",
        "metadata",
        "rollback_transitions",
        "retry_enabled",
        "max_retries",
        "retry_delay_ms",
    ),
    "conditions": ("version", "metadata", "error_message", "retry_count", "timeout_ms"),
    "actions": ("version", "metadata", "execution_order", "is_critical", "rollback_action"),
}

AROUND: Final = frozenset(
    {
        "algorithm",
        "author",
        "capabilities",
        "consumed_events",
        "contract_name",
        "contract_version",
        "dependencies",
        "description",
        "error_handling",
        "event_bus",
        "execution_mode",
        "fingerprint",
        "handler_routing",
        "handlers",
        "health_check",
        "idempotency",
        "input_model",
        "intent_emission",
        "metadata",
        "metrics",
        "name",
        "node_capabilities",
        "node_name",
        "node_type",
        "node_version",
        "output_model",
        "performance",
        "profile_tags",
        "published_events",
        "state_model",
        "tags",
        "testing_guidance",
        "tool_specification",
        "validation",
        "version",
    }
)

FALLBACKS: Final = {"state_machine_name": "name", "version": "contract_version"}


TABLES: Final[Mapping[str, Mapping[str, Key]]] = {
    "machine": MACHINE,
    "settings": SETTINGS,
    "state": STATE,
    "transition": TRANSITION,
    "condition": CONDITION,
    "action": ACTION,
    "counter": COUNTER,
}


class Gathered(NamedTuple):
    """The keys of a machine, wherever they stood, and whether its guards may be loose."""

    entries: Mapping[str, Node]
    loose: bool


class Settings(Struct, frozen=True, kw_only=True):
    """What holds for a whole machine; the lists keep the place of each name."""

    name: str
    version: str
    text: str
    initial: Mapping[str, Mark]
    success: Mapping[str, Mark]
    terminal: Mapping[str, Mark]
    error: Mapping[str, Mark]
    strict: bool
    timeout: timedelta | None


class Machine(NamedTuple):
    """What the parts of a machine need to know of the whole."""

    settings: Settings
    triggers: Mapping[str, Mark]
    loose: bool


def gather(root: Node, reading: Reading) -> Gathered:
    """Return the keys of the machine from the top level and from the places below it."""
    known = {*MACHINE, *SETTINGS}
    top = reading.mapping(root, {*known, *AROUND, *PLACES}, "contract")
    found: dict[str, Node] = {}
    places: dict[str, str] = {}
    for place in PLACES:
        for key, node in reading.mapping(top.get(place), known, place).items():
            places.setdefault(key, place)
            _keep(found, key, node, reading, place)
    for key, node in top.items():
        if key in known and not (key in AROUND and key in found):
            _keep(found, key, node, reading, "contract")
    for key, fallback in FALLBACKS.items():
        if fallback in top:
            found.setdefault(key, top[fallback])
    used = {id(node) for node in found.values()}
    _note_around(root, [key for key in top if key in AROUND and id(top[key]) not in used], reading)
    return Gathered(found, places.get("transitions") == "state_machine")


def _keep(found: dict[str, Node], key: str, node: Node, reading: Reading, where: str) -> None:
    first = found.setdefault(key, node)
    if first is not node and plain(first) != plain(node):
        told = f"{key} stands here and in line {first.mark.line}, and they differ"
        reading.report("bad_value", told, at=node, where=where, hint="keep one of them")


def _note_around(root: Node, keys: list[str], reading: Reading) -> None:
    """Say once which keys belong to the node around the machine."""
    if keys:
        reading.report(
            "setting_without_effect",
            f"keys of the node around the machine, not read here: {', '.join(keys)}",
            at=root.keys.get(keys[0], root.mark),
            where="contract",
            severity="warning",
        )


def note_idle(nodes: Iterable[Node], place: str, reading: Reading) -> None:
    """Say once for each key without effect that it stands somewhere in these nodes."""
    first: dict[str, Mark] = {}
    for node in nodes:
        if isinstance(node.value, dict):
            for key in node.value:
                if key in IDLE[place]:
                    first.setdefault(key, node.keys.get(key, node.mark))
    for key, mark in first.items():
        reading.report(
            "setting_without_effect",
            f"{key} of {place} changes nothing here",
            at=mark,
            where=place,
            severity="warning",
        )


def read_settings(entries: Mapping[str, Node], reading: Reading) -> Settings:
    """Read the settings of a machine, reporting those that cannot be had."""
    for key, node in entries.items():
        if key in ALWAYS:
            _check_always(key, node, reading)
        elif key in WITHOUT_EFFECT:
            _note_setting(key, node, reading)
    first = read_version(entries.get("state_machine_version"), reading, "state_machine_version")
    other = read_version(entries.get("version"), reading, "version")
    return Settings(
        name=reading.name(entries.get("state_machine_name"), "state_machine_name") or "unnamed",
        version=first or other or "1",
        text=reading.text(entries.get("description"), "description"),
        initial=_read_initial(entries.get("initial_state"), reading),
        success=_read_listed(entries.get("success_states"), reading, "success_states"),
        terminal=_read_listed(entries.get("terminal_states"), reading, "terminal_states"),
        error=_read_listed(entries.get("error_states"), reading, "error_states"),
        strict=reading.flag(entries.get("strict_validation_enabled"), "strict_validation_enabled"),
        timeout=read_milliseconds(
            entries.get("transition_timeout_ms"), reading, "transition_timeout_ms"
        ),
    )


def _check_always(key: str, node: Node, reading: Reading) -> None:
    wanted = ALWAYS[key]
    shown = str(wanted).lower()
    if type(node.value) is not type(wanted):
        reading.wrong(node, "true or false" if isinstance(wanted, bool) else shown, key)
    elif node.value != wanted:
        reading.report(
            "unsupported_setting",
            f"{key} cannot be {str(node.value).lower()[:60]}",
            at=node,
            where=key,
            hint=f"it is always {shown}: leave it out",
        )


def _note_setting(key: str, node: Node, reading: Reading) -> None:
    reading.report(
        "setting_without_effect",
        f"{key} changes nothing here",
        at=node,
        where=key,
        hint=SETTINGS[key].meaning,
        severity="warning",
    )


def _read_initial(node: Node | None, reading: Reading) -> Mapping[str, Mark]:
    name = reading.name(node, "initial_state")
    return {} if node is None or name is None else {name: node.mark}


def _read_listed(node: Node | None, reading: Reading, where: str) -> Mapping[str, Mark]:
    found: dict[str, Mark] = {}
    for item in reading.items(node, where):
        name = reading.name(item, where)
        if name is not None:
            found.setdefault(name, item.mark)
    return found


def read_version(node: Node | None, reading: Reading, where: str) -> str | None:
    """Read a version: a text such as 1.0.0, or its three parts."""
    if node is None:
        return None
    if isinstance(node.value, dict):
        parts = reading.mapping(node, ("major", "minor", "patch"), where)
        numbers = [reading.number(parts.get(key), where) for key in ("major", "minor", "patch")]
        text = ".".join(map(str, numbers))
    else:
        text = reading.text(node, where, "0")
    if all(part.isdecimal() and part.isascii() and len(part) < 10 for part in text.split(".")):
        return text
    reading.wrong(node, "a version such as 1.0.0", where)
    return None


def read_milliseconds(node: Node | None, reading: Reading, where: str) -> timedelta | None:
    """Read a time span given as a whole number of milliseconds above zero."""
    if node is None or node.value is None:
        return None
    number = node.value
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= MAX_MILLISECONDS:
        return timedelta(milliseconds=number)
    reading.wrong(node, f"milliseconds, from 1 to {MAX_MILLISECONDS}", where)
    return None


def need_name(
    entries: Mapping[str, Node], key: str, node: Node, reading: Reading, where: str
) -> str | None:
    """Return a name that must be there."""
    if key not in entries and isinstance(node.value, dict):
        reading.report("bad_value", f"{key} is missing", at=node, where=where)
    return reading.name(entries.get(key), f"{where}.{key}")


def read_optional_flag(
    entries: Mapping[str, Node], key: str, reading: Reading, where: str
) -> bool | None:
    """Return a boolean, or nothing where it is not given."""
    return reading.flag(entries[key], f"{where}.{key}") if key in entries else None


def report_unknown_state(
    name: str, mark: Mark, states: Collection[str], reading: Reading, where: str
) -> None:
    """Report the name of a state that does not exist."""
    hint = find_near(name, states, reading)
    reading.report("unknown_state", f"there is no state {name!r}", at=mark, where=where, hint=hint)


def find_near(name: str, known: Collection[str], reading: Reading) -> str:
    """Return a hint at the name that was meant, unless too many are wrong to look for it."""
    return did_you_mean(name, list(known)) if len(reading.problems) < MAX_HINTS else ""
