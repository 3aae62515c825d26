"""Reading a contract in its native form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from interlock.contract import keys
from interlock.contract.counters import Counter, apply_counters
from interlock.contract.model import (
    ADVANCERS,
    ENDS,
    STATE_KINDS,
    Contract,
    Event,
    Field,
    Migration,
    Param,
    Play,
    Requirement,
    Row,
    State,
)
from interlock.contract.native.parts import (
    STAY,
    read_effects,
    read_hook,
    read_rows,
    read_rule,
    read_timers,
)
from interlock.contract.problem import NOWHERE, Mark, did_you_mean
from interlock.contract.source.node import Node, as_json, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.contract.reading import Reading

OPEN = "*"
FLAGS = ("strict", "require_consumer", "ack_gate", "keep_refused_first", "two_step")


def read_native(root: Node, reading: Reading) -> Contract | None:
    """Read a native contract; problems go to the reading."""
    top = reading.mapping(root, keys.CONTRACT, "contract")
    name = reading.name(top.get("contract"), "contract")
    if name is None and "contract" not in top:
        reading.report("bad_value", "the contract has no name", at=root, hint="contract: NAME")
    context, is_open = _read_fields(top.get("context"), reading, "context")
    context = {name: null_until_set(field) for name, field in context.items()}
    events = _read_events(top, reading)
    states = {
        state_name: _read_state(state_name, node, reading, top["states"].keys)
        for state_name, node in reading.mapping(top.get("states"), None, "states").items()
    }
    if not states:
        reading.report("no_states", "the contract has no states", at=top.get("states", root))
        return None
    flags: Any = {flag: reading.flag(top.get(flag), flag) for flag in FLAGS}
    contract = Contract(
        name=name or "unnamed",
        version=_read_version(top.get("version"), reading),
        initial=reading.name(top.get("initial"), "initial") or next(iter(states)),
        states=states,
        events=events,
        any=read_rows(top.get("any"), reading, "any"),
        context=context,
        open=is_open,
        merge=reading.choice(top.get("payload"), ("merge", "keep"), "payload") == "merge",
        touched=reading.names(top.get("touched"), "touched"),
        indexed=reading.names(top.get("indexed"), "indexed"),
        begins=reading.events(top.get("begins"), "begins"),
        internal=_internal_events(states),
        on_error=reading.event(top.get("on_error"), "on_error"),
        advance=reading.choice(top.get("advance"), ADVANCERS, "advance") or "consumer",
        publish=reading.events(top.get("publish"), "publish"),
        params=_read_params(top.get("params"), reading),
        migrate=_read_migrations(top.get("migrate"), reading),
        tests=_read_tests(top.get("tests"), reading),
        text=reading.text(top.get("text"), "text"),
        mark=root.mark,
        places=reading.places,
        **flags,
    )
    _hint_at_events(contract, reading)
    return apply_counters(contract, _read_counters(top.get("counters"), contract, reading))


def _hint_at_events(contract: Contract, reading: Reading) -> None:
    """Tell where a key of a state was probably meant as the event of that name."""
    for index, found in enumerate(reading.problems):
        key = found.where.split(".")[2:3]
        if found.where.startswith("states.") and set(key) & keys.STATE.keys() & set(
            contract.events
        ):
            hint = f"`{key[0]}` is a key of a state; for the event write `on: {{{key[0]}: ...}}`"
            reading.problems[index] = msgspec.structs.replace(found, hint=hint)


def _read_version(node: Node | None, reading: Reading) -> str:
    version = reading.text(node, "version", "1")
    if all(part.isdecimal() and part.isascii() and len(part) < 10 for part in version.split(".")):
        return version
    if node is not None:
        reading.wrong(node, "a version such as 2 or 1.0.0", "version")
    return "1"


def _internal_events(states: dict[str, State]) -> tuple[str, ...]:
    names = (row.event for state in states.values() for row in state.always)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _read_fields(node: Node | None, reading: Reading, where: str) -> tuple[dict[str, Field], bool]:
    fields: dict[str, Field] = {}
    is_open = False
    for name, value in reading.mapping(node, None, where).items():
        if name == OPEN:
            if value.value != "json":
                reading.wrong(value, "`json`, the only type of undeclared fields", where)
            is_open = True
        elif field := reading.field(name, value, f"{where}.{name}"):
            fields[name] = field
    return fields, is_open


def null_until_set(field: Field) -> Field:
    """Let a context field without a default be null until it is set."""
    if field.default is not UNSET:
        return field
    nullable = msgspec.structs.replace(field.type, nullable=True)
    return msgspec.structs.replace(field, type=nullable, default=None)


def _read_events(top: Mapping[str, Node], reading: Reading) -> dict[str, Event]:
    codes = {
        name: reading.number(node, f"codes.{name}")
        for name, node in reading.mapping(top.get("codes"), None, "codes").items()
    }
    events: dict[str, Event] = {}
    for name, mark, node in _event_entries(top.get("events"), reading):
        fields, is_open = _read_fields(node, reading, f"events.{name}")
        events[name] = Event(
            name=name,
            fields=tuple(fields.values()),
            open=is_open,
            code=codes.pop(name, None),
            mark=mark,
        )
    for name in codes:
        mark = top["codes"].keys[name]
        reading.report("unknown_event", f"a code for the unknown event {name!r}", at=mark)
    coded = (one for one in events.values() if one.code is not None)
    reading.codes = {str(one.code): one.name for one in coded if str(one.code) not in events}
    return events


def _event_entries(node: Node | None, reading: Reading) -> list[tuple[str, Mark, Node | None]]:
    """Return the events with their payloads, also of a plain list of names."""
    if node is not None and isinstance(node.value, list):
        items = ((reading.name(item, "events"), item.mark) for item in node.value)
        return [(name, mark, None) for name, mark in items if name is not None]
    entries = reading.mapping(node, None, "events")
    keys_of = node.keys if node is not None else {}
    return [(name, keys_of.get(name, NOWHERE), payload) for name, payload in entries.items()]


def _read_state(name: str, node: Node, reading: Reading, marks: Mapping[str, Mark]) -> State:
    where = f"states.{name}"
    if name == STAY:
        told = f"no state can be named {STAY!r}: as a target it means to stay"
        reading.report("bad_value", told, at=marks.get(name, node.mark), where=where)
    entries = reading.mapping(node, None, where)
    own = {key: value for key, value in entries.items() if key in keys.STATE}
    rows = read_rows(_only_events(node, entries), reading, where)
    rows += read_rows(own.get("on"), reading, f"{where}.on")
    always = own.get("always")
    return State(
        name=name,
        rows=rows,
        always=_read_always(always, reading, f"{where}.always"),
        enter=read_effects(own.get("enter"), reading, f"{where}.enter"),
        exit=read_effects(own.get("exit"), reading, f"{where}.exit"),
        timers=read_timers(own.get("after"), reading, f"{where}.after"),
        hooks=tuple(
            read_hook(item, reading, f"{where}.hooks")
            for item in reading.items(own.get("hooks"), f"{where}.hooks")
        ),
        rules=tuple(
            read_rule(item, reading, f"{where}.rules")
            for item in reading.items(own.get("rules"), f"{where}.rules")
        ),
        ignore=reading.events(own.get("ignore"), f"{where}.ignore"),
        end=reading.choice(own.get("end"), ENDS, f"{where}.end"),
        kind=reading.choice(own.get("kind"), STATE_KINDS, f"{where}.kind"),
        recoverable=_read_optional_flag(own.get("recoverable"), reading, f"{where}.recoverable"),
        required=reading.names(own.get("required"), f"{where}.required"),
        requirements=_read_requirements(own.get("requirements"), reading, where),
        category=reading.text(own.get("category"), f"{where}.category"),
        text=reading.text(own.get("text"), f"{where}.text"),
        mark=marks.get(name, node.mark),
    )


def _only_events(node: Node, entries: Mapping[str, Node]) -> Node:
    rows = {key: value for key, value in entries.items() if key not in keys.STATE}
    return Node(value=rows, mark=node.mark, keys=node.keys)


def _read_optional_flag(node: Node | None, reading: Reading, where: str) -> bool | None:
    return None if node is None else reading.flag(node, where)


def _read_requirements(node: Node | None, reading: Reading, where: str) -> tuple[Requirement, ...]:
    items = reading.items(node, f"{where}.requirements")
    return tuple(Requirement(reading.text(item, where), item.mark) for item in items)


def _read_always(node: Node | None, reading: Reading, where: str) -> tuple[Row, ...]:
    if node is None:
        return ()
    return read_rows(Node(value={"always": node}, mark=node.mark), reading, where, always=True)


def _read_counters(node: Node | None, contract: Contract, reading: Reading) -> tuple[Counter, ...]:
    found: list[Counter] = []
    for name, value in reading.mapping(node, None, "counters").items():
        where = f"counters.{name}"
        entries = reading.mapping(value, keys.COUNTER, where)
        limit = entries.get("max")
        if limit is not None and isinstance(limit.value, int) and limit.value < 1:
            reading.wrong(limit, "a maximum of at least 1", where)
        up = reading.events(entries.get("up"), where)
        reset = reading.events(entries.get("reset"), where)
        for event in (*up, *reset):
            if event not in contract.events:
                hint = did_you_mean(event, contract.events)
                told = f"the contract lists no event {event!r}"
                at = reading.places.get((where, event), value.mark)
                reading.report("unknown_event", told, at=at, where=where, hint=hint)
        found.append(
            Counter(
                field=name,
                limit=None if limit is None else reading.number(limit, where),
                up=up,
                reset=reset,
                mark=value.mark,
            )
        )
    return tuple(found)


def _read_params(node: Node | None, reading: Reading) -> tuple[Param, ...]:
    return tuple(
        Param(code, as_json(value), value.mark)
        for code, value in reading.mapping(node, None, "params").items()
    )


def _read_migrations(node: Node | None, reading: Reading) -> tuple[Migration, ...]:
    found: list[Migration] = []
    for version, value in reading.mapping(node, None, "migrate").items():
        where = f"migrate.{version}"
        entries = reading.mapping(value, keys.MIGRATION, where)
        states = reading.mapping(entries.get("states"), None, where)
        found.append(
            Migration(
                version=version,
                states={old: reading.text(new, where) for old, new in states.items()},
                updates=reading.updates(entries.get("set"), where),
                mark=value.mark,
            )
        )
    return tuple(found)


def _read_tests(node: Node | None, reading: Reading) -> tuple[Play, ...]:
    return tuple(
        _read_test(item, reading, f"tests[{index}]")
        for index, item in enumerate(reading.items(node, "tests"))
    )


def _read_test(node: Node, reading: Reading, where: str) -> Play:
    entries = reading.mapping(node, keys.TEST, where)
    given = dict(reading.mapping(entries.get("given"), None, f"{where}.given"))
    for part in ("given", "context"):
        node_of = entries.get(part)
        for field, mark in node_of.keys.items() if node_of is not None else ():
            reading.places.setdefault((f"{where}.{part}", field), mark)
    state = given.pop("state", None)
    intents, outcomes = entries.get("intents"), entries.get("outcomes")
    return Play(
        name=reading.text(entries.get("name"), where),
        state=reading.name(state, where),
        context={name: plain(value) for name, value in given.items()},
        events=tuple(
            read_played(item, reading, f"{where}.events")
            for item in reading.items(entries.get("events"), f"{where}.events")
        ),
        expect=reading.name(entries.get("expect"), where),
        expect_context={
            name: plain(value)
            for name, value in reading.mapping(entries.get("context"), None, where).items()
        },
        intents=None if intents is None else reading.names(intents, where),
        outcomes=None if outcomes is None else reading.names(outcomes, where),
        mark=node.mark,
    )


def read_played(node: Node, reading: Reading, where: str) -> tuple[str, object]:
    """Read an event as it is played: a name, or a name with its payload."""
    if isinstance(node.value, dict):
        if len(node.value) == 1:
            [(name, payload)] = node.value.items()
            reading.places.setdefault((where, name), node.keys.get(name, node.mark))
            return reading.codes.get(name, name), plain(payload)
        reading.wrong(node, "one event: a name, or {name: payload}", where)
        return "", None
    return reading.event(node, where) or "", None
