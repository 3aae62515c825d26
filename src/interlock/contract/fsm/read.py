"""Reading the FSM dialect: states and transitions in lists, with strict three-token guards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from interlock.contract.counters import Counter, apply_counters
from interlock.contract.expression.expr import Const, conjuncts, names_in
from interlock.contract.expression.values import JSON
from interlock.contract.fsm.rows import CONTINUE, Transition, read_actions, read_transitions
from interlock.contract.fsm.settings import (
    COUNTER,
    IDLE,
    STATE,
    Machine,
    Settings,
    find_near,
    gather,
    need_name,
    note_idle,
    read_milliseconds,
    read_optional_flag,
    read_settings,
    report_unknown_state,
)
from interlock.contract.model import (
    ANY,
    STATE_KINDS,
    Argument,
    Contract,
    End,
    Event,
    Field,
    Requirement,
    Row,
    State,
    StateKind,
    Timer,
)
from interlock.contract.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.contract.problem import Mark
    from interlock.contract.source.node import Node

FATAL: Final = "FATAL_ERROR"

TIMEOUT_EVENTS: Final[Mapping[str, str]] = {
    "validating": FATAL,
    "registering_postgres": "POSTGRES_FAILED",
    "registering_consul": "CONSUL_FAILED",
    "deregistering": "DEREGISTRATION_COMPLETE",
}

TIMEOUT_FLAGS: Final[Mapping[str, str]] = {
    "POSTGRES_FAILED": "postgres_applied",
    "CONSUL_FAILED": "consul_applied",
}

START_VALUES: Final[Mapping[str, object]] = {
    "postgres_applied": False,
    "consul_applied": False,
    "retry_count": 0,
}

_FIELD = r"[A-Za-z_][A-Za-z0-9_]*(?:\.length)?"
_LITERAL = r"""[+-]?[0-9]+(?:\.[0-9]+)?|'[^']*'|"[^"]*\""""
_RULE = re.compile(rf"\s*{_FIELD}\s*(?:==|!=|<=|>=|<|>)\s*(?:{_FIELD}|{_LITERAL})\s*")


def read_fsm(root: Node, reading: Reading) -> Contract | None:
    """Read a contract of the FSM dialect; problems go to the reading."""
    entries, loose = gather(root, reading)
    settings = read_settings(entries, reading)
    rows = reading.items(entries.get("transitions"), "transitions")
    machine = Machine(settings, _triggers(rows), loose)
    states = _read_states(entries.get("states"), machine, reading)
    if not states:
        reading.report("no_states", "the contract has no states", at=entries.get("states", root))
        return None
    transitions = read_transitions(rows, states, machine, reading)
    counters = _read_counter(entries.get("retry_counter"), machine, reading)
    contract = Contract(
        name=settings.name,
        version=settings.version,
        initial=_find_initial(states, settings, reading),
        states=_with_rows(states, transitions),
        events=_events(machine),
        any=tuple(row for source, row in transitions if source == ANY),
        context=_start_values(states, transitions, counters),
        open=True,
        merge=True,
        strict=settings.strict,
        internal=(CONTINUE,) if CONTINUE in machine.triggers else (),
        on_error=FATAL if FATAL in machine.triggers else None,
        text=settings.text,
        dialect="fsm",
        mark=root.mark,
    )
    _check_lists(contract, settings, reading)
    return apply_counters(contract, counters)


def _triggers(nodes: list[Node]) -> Mapping[str, Mark]:
    """Return the triggers in their written order; their faults are told with their rows."""
    aside = Reading()
    found: dict[str, Mark] = {}
    for node in nodes:
        trigger = node.value.get("trigger") if isinstance(node.value, dict) else None
        name = aside.name(trigger, "trigger")
        if trigger is not None and name is not None:
            found.setdefault(name, trigger.mark)
    return found


def _events(machine: Machine) -> dict[str, Event]:
    return {
        name: Event(name=name, open=True, mark=mark)
        for name, mark in machine.triggers.items()
        if name != CONTINUE
    }


def _with_rows(
    states: Mapping[str, State], transitions: tuple[Transition, ...]
) -> dict[str, State]:
    """Give each state its rows; those that are taken at once are sorted, as nothing else does."""
    rows: dict[str, list[Row]] = {name: [] for name in states}
    always: dict[str, list[Row]] = {name: [] for name in states}
    for source, row in transitions:
        if source != ANY:
            (always if row.event == CONTINUE else rows)[source].append(row)
    for ordered in always.values():
        ordered.sort(key=lambda row: -row.priority)
    return {
        name: replace(state, rows=tuple(rows[name]), always=tuple(always[name]))
        for name, state in states.items()
    }


def _find_initial(states: Mapping[str, State], settings: Settings, reading: Reading) -> str:
    """Return the state that is named, or else typed, or else written first."""
    typed = (state.name for state in states.values() if state.kind == "initial")
    first = next(typed, next(iter(states)))
    for named, mark in settings.initial.items():
        if named in states:
            return named
        report_unknown_state(named, mark, states, reading, "initial_state")
    return first


def _start_values(
    states: Mapping[str, State],
    transitions: tuple[Transition, ...],
    counters: tuple[Counter, ...],
) -> dict[str, Field]:
    """Declare what has a value from the start: untyped, so that odd data meets a guard."""
    mentioned = {name for state in states.values() for name in state.required}
    for _, row in transitions:
        for condition in (*conjuncts(row.when), *row.noted):
            mentioned.update(names_in(condition))
    start = {name: value for name, value in START_VALUES.items() if name in mentioned}
    start |= {counter.field: 0 for counter in counters}
    return {name: Field(name=name, type=JSON, default=value) for name, value in start.items()}


def _read_counter(node: Node | None, machine: Machine, reading: Reading) -> tuple[Counter, ...]:
    if node is None or node.value is None:
        return ()
    where = "retry_counter"
    entries = reading.mapping(node, COUNTER, where)
    storage = reading.text(entries.get("storage"), f"{where}.storage", "retry_count")
    field = storage.rpartition(".")[2]
    if not (field.isidentifier() and field.isascii()):
        hint = "as in fsm_state_context.retry_count"
        reading.wrong(entries["storage"], "the path of a field", f"{where}.storage", hint)
        field = "retry_count"
    limit = entries.get("max_value")
    counter = Counter(
        field=field,
        limit=None if limit is None else reading.number(limit, f"{where}.max_value"),
        up=_read_triggers(entries.get("increment_on"), machine, reading, where),
        reset=_read_triggers(entries.get("reset_on"), machine, reading, where),
        mark=node.mark,
    )
    return (counter,)


def _read_triggers(
    node: Node | None, machine: Machine, reading: Reading, where: str
) -> tuple[str, ...]:
    known = {name for name in machine.triggers if name != CONTINUE}
    found: list[str] = []
    for item in reading.items(node, where):
        name = reading.name(item, where)
        if name is not None and name not in known:
            told = f"no transition has the trigger {name!r}"
            hint = find_near(name, known, reading)
            reading.report("unknown_event", told, at=item, where=where, hint=hint)
        elif name is not None:
            found.append(name)
    return tuple(found)


def _read_states(node: Node | None, machine: Machine, reading: Reading) -> dict[str, State]:
    states: dict[str, State] = {}
    items = reading.items(node, "states")
    note_idle(items, "states", reading)
    for index, item in enumerate(items):
        state = _read_state(item, machine, reading, f"states[{index}]")
        if state is not None and state.name in states:
            told = f"there are two states named {state.name!r}"
            reading.report("duplicate_state", told, at=state.mark, where=f"states.{state.name}")
        elif state is not None:
            states[state.name] = state
    return states


def _read_state(node: Node, machine: Machine, reading: Reading, where: str) -> State | None:
    entries = reading.mapping(node, {*STATE, *IDLE["states"]}, where)
    name = need_name(entries, "state_name", node, reading, where)
    if name is None:
        return None
    where = f"states.{name}"
    if name == ANY:
        reading.wrong(entries["state_name"], "a state's name", where, "`*` means every state")
        return None
    kind, end = _read_kind(name, entries, machine.settings, reading)
    return State(
        name=name,
        enter=read_actions(
            entries.get("entry_actions"), machine, reading, f"{where}.entry_actions"
        ),
        exit=read_actions(entries.get("exit_actions"), machine, reading, f"{where}.exit_actions"),
        timers=_read_timers(name, entries.get("timeout_ms"), machine, reading),
        end=end,
        kind=kind,
        recoverable=read_optional_flag(entries, "is_recoverable", reading, where),
        required=reading.names(entries.get("required_data"), f"{where}.required_data"),
        requirements=_read_rules(entries.get("validation_rules"), reading, where),
        text=reading.text(entries.get("description"), where),
        mark=entries["state_name"].mark,
    )


def _read_kind(
    name: str, entries: Mapping[str, Node], settings: Settings, reading: Reading
) -> tuple[StateKind | None, End | None]:
    """Return a state's type and end; the lists speak where the state itself does not."""
    where = f"states.{name}"
    kind = reading.choice(entries.get("state_type"), STATE_KINDS, where)
    terminal = read_optional_flag(entries, "is_terminal", reading, where)
    if kind == "terminal" and terminal is False:
        told = "a state of type terminal cannot have is_terminal: false"
        reading.report("kind_mismatch", told, at=entries["is_terminal"], where=where)
        return None, None
    if "state_type" not in entries:
        kind = _listed_kind(name, settings)
    if terminal is None:
        listed = name in settings.terminal and "state_type" not in entries
        terminal = listed or kind == "terminal"
    failed = kind == "error" or (kind == "terminal" and name in settings.error)
    return kind, ("error" if failed else "ok") if terminal else None


def _listed_kind(name: str, settings: Settings) -> StateKind | None:
    if name in settings.error:
        return "error"
    if name in settings.success:
        return "success"
    return "terminal" if name in settings.terminal else None


def _check_lists(contract: Contract, settings: Settings, reading: Reading) -> None:
    """Report listed names that no state has, and states that are not what their list says."""
    lists = {
        "success_states": (settings.success, "of type success"),
        "terminal_states": (settings.terminal, "terminal"),
        "error_states": (settings.error, "of type error"),
    }
    for where, (names, wanted) in lists.items():
        for name, mark in names.items():
            state = contract.states.get(name)
            if state is None:
                report_unknown_state(name, mark, contract.states, reading, where)
            elif not _fits_list(state, where):
                told = f"{name} stands in {where}, but is not {wanted}"
                hint = f"its state_type is {state.kind}" if state.kind else ""
                reading.report("kind_mismatch", told, at=mark, where=where, hint=hint)


def _fits_list(state: State, where: str) -> bool:
    match where:
        case "success_states":
            return state.kind == "success"
        case "terminal_states":
            return state.end is not None
        case _:
            return state.kind in {"error", "terminal"}


def _read_timers(
    name: str, node: Node | None, machine: Machine, reading: Reading
) -> tuple[Timer, ...]:
    where = f"states.{name}.timeout_ms"
    after = read_milliseconds(node, reading, where)
    if node is None or after is None:
        return ()
    event = TIMEOUT_EVENTS.get(name, FATAL)
    if event not in machine.triggers:
        told = f"no transition has the trigger {event}, so the time-out is only a notice"
        reading.report("unknown_event", told, at=node, where=where, severity="warning")
        return (Timer(after=after, notice=f"{name} lasts too long", mark=node.mark),)
    flag = TIMEOUT_FLAGS.get(event)
    arguments = () if flag is None else (Argument(flag, Const(value=False)),)
    return (Timer(after=after, event=event, arguments=arguments, mark=node.mark),)


def _read_rules(node: Node | None, reading: Reading, where: str) -> tuple[Requirement, ...]:
    where = f"{where}.validation_rules"
    rules: list[Requirement] = []
    for item in reading.items(node, where):
        text = reading.text(item, where)
        if text and not _RULE.fullmatch(text):
            reading.report(
                "syntax",
                f"{text[:60]!r} is no validation rule, so nothing checks it",
                at=item,
                where=where,
                hint="as in `a != null`, `a.length >= 1`, `a != b`, `a == true`",
                severity="warning",
            )
        if text:
            rules.append(Requirement(text, item.mark))
    return tuple(rules)
