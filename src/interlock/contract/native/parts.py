"""Reading the parts of a state: rows, effects, timers, hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlock.contract import keys
from interlock.contract.expression.values import Mismatch, parse_duration
from interlock.contract.model import (
    ACK_MODES,
    HOOK_ON,
    Argument,
    Effect,
    Hook,
    Retry,
    Row,
    Rule,
    Timer,
)
from interlock.contract.problem import NOWHERE
from interlock.contract.reading import Reading, expression_mark

if TYPE_CHECKING:
    from interlock.contract.expression.expr import Expr
    from interlock.contract.source.node import Node

STAY = "stay"
_RETRY = re.compile(r"\s*([0-9]{1,6})(?:\s+in\s+(\S+))?\s*")


def read_rows(
    node: Node | None, reading: Reading, where: str, *, always: bool = False
) -> tuple[Row, ...]:
    """Read rows by event; each a target, a row, or a list of these."""
    rows: list[Row] = []
    for event, value in reading.mapping(node, None, where).items():
        place = where if always else f"{where}.{event}"
        if node is not None and event in node.keys:
            reading.places.setdefault((place, event), node.keys[event])
        answers = value.value if isinstance(value.value, list) else [value]
        if not answers:
            reading.wrong(value, "a target or rows", place)
        named = None if always else reading.codes.get(event, event)
        rows += [read_row(answer, named, reading, place) for answer in answers]
    return tuple(rows)


def read_row(node: Node, event: str | None, reading: Reading, where: str) -> Row:
    """Read one row."""
    if not isinstance(node.value, dict):
        target = reading.name(node, where)
        if target is None:
            reading.wrong(node, "a target, `stay`, or a row", where)
        return Row(event=event, to=_target(target), mark=node.mark)
    entries = reading.mapping(node, keys.ROW, where)
    for one, other in (("when", "else"), ("to", "else")):
        if one in entries and other in entries:
            hint = "`else` names the target itself and has no guard"
            reading.wrong(entries["else"], f"a row without both {one} and else", where, hint)
    if event is not None and "as" in entries:
        reading.unknown_key("as", node.keys["as"], [k for k in keys.ROW if k != "as"], where)
    when = entries.get("when")
    target = reading.name(entries.get("else", entries.get("to")), where)
    return Row(
        event=reading.name(entries.get("as"), where) if event is None else event,
        to=_target(target),
        when=None if when is None else reading.expression(when, f"{where}.when"),
        noted=_read_notes(entries.get("note"), reading, where),
        updates=reading.updates(entries.get("set"), f"{where}.set"),
        effects=read_effects(entries.get("do"), reading, f"{where}.do"),
        priority=reading.number(entries.get("priority"), where),
        otherwise="else" in entries,
        touch=reading.flag(entries.get("touch"), where),
        late=reading.choice(entries.get("late"), ("accept",), where) is not None,
        restart_timer=reading.choice(entries.get("restart"), ("timer",), where) is not None,
        name=reading.text(entries.get("name"), where),
        text=reading.text(entries.get("text"), where),
        mark=node.mark,
        when_mark=NOWHERE if when is None or "\n" in when.raw else expression_mark(when, 0),
    )


def _target(name: str | None) -> str | None:
    return None if name == STAY else name


def _read_notes(node: Node | None, reading: Reading, where: str) -> tuple[Expr, ...]:
    if node is None:
        return ()
    items = node.value if isinstance(node.value, list) else [node]
    found = (reading.expression(item, where) for item in items)
    return tuple(expr for expr in found if expr is not None)


def read_effects(node: Node | None, reading: Reading, where: str) -> tuple[Effect, ...]:
    """Read one effect or a list of effects, each a name or a mapping."""
    if node is None or node.value is None:
        return ()
    items = node.value if isinstance(node.value, list) else [node]
    found = (read_effect(item, reading, where) for item in items)
    return tuple(effect for effect in found if effect is not None)


def read_effect(node: Node, reading: Reading, where: str) -> Effect | None:
    """Read one effect."""
    if not isinstance(node.value, dict):
        name = reading.name(node, where)
        return None if name is None else Effect(intent=name, mark=node.mark)
    entries = reading.mapping(node, keys.EFFECT, where)
    name = reading.name(entries.get("do"), where)
    if name is None:
        reading.wrong(node, "an effect with its name under `do`", where)
        return None
    return Effect(
        intent=name,
        arguments=_read_arguments(entries.get("with"), reading, f"{where}.with"),
        done=reading.event(entries.get("done"), where),
        failed=reading.event(entries.get("failed"), where),
        retry=_read_retry(entries.get("retry"), reading, where),
        timeout=reading.duration(entries.get("timeout"), where),
        cancel_on_exit=reading.choice(entries.get("cancel"), ("on_exit",), where) is not None,
        label=reading.text(entries.get("label"), where),
        mark=node.mark,
    )


def _read_arguments(node: Node | None, reading: Reading, where: str) -> tuple[Argument, ...]:
    found = reading.updates(node, where)
    return tuple(Argument(one.field, one.value, one.mark) for one in found)


def _read_retry(node: Node | None, reading: Reading, where: str) -> Retry | None:
    if node is None:
        return None
    match = _RETRY.fullmatch(reading.text(node, where))
    try:
        if match is not None and int(match[1]) > 0:
            return Retry(int(match[1]), parse_duration(match[2]) if match[2] else None)
    except Mismatch:
        pass
    reading.wrong(node, "attempts and a time, such as `5 in 2m`", where)
    return None


def read_timers(node: Node | None, reading: Reading, where: str) -> tuple[Timer, ...]:
    """Read deadlines: a duration each, with an event's name or a mapping."""
    timers: list[Timer] = []
    for text, value in reading.mapping(node, None, where).items():
        try:
            after = parse_duration(text)
        except Mismatch as reason:
            mark = node.keys.get(text, value.mark) if node is not None else value.mark
            reading.report("bad_value", str(reason), at=mark, where=where)
            continue
        if after.total_seconds() <= 0:
            mark = node.keys.get(text, value.mark) if node is not None else value.mark
            reading.report("bad_value", f"{text} is not longer than zero", at=mark, where=where)
        entries = (
            reading.mapping(value, keys.TIMER, where)
            if isinstance(value.value, dict)
            else {"raise": value}
        )
        raised = entries.get("raise")
        timers.append(
            Timer(
                after=after,
                event=reading.event(raised, where) if raised and raised.value else None,
                arguments=_read_arguments(entries.get("with"), reading, f"{where}.with"),
                repeat=reading.flag(entries.get("repeat"), where),
                once=reading.flag(entries.get("once"), where),
                notice=reading.text(entries.get("notice"), where),
                mark=value.mark,
            )
        )
    return tuple(timers)


def read_hook(node: Node, reading: Reading, where: str) -> Hook:
    """Read a hook: a route, or a mapping."""
    if not isinstance(node.value, dict):
        return Hook(route=reading.name(node, where) or "", mark=node.mark)
    entries = reading.mapping(node, keys.HOOK, where)
    route = reading.name(entries.get("route"), where)
    if route is None:
        reading.wrong(node, "a hook with its `route`", where)
    params = entries.get("params")
    return Hook(
        route=route or "",
        gate=reading.choice(entries.get("type"), ("gate", "effect"), where) == "gate",
        via=reading.event(entries.get("via"), where),
        order=reading.number(entries.get("order"), where),
        group=reading.name(entries.get("group"), where),
        params=None if params is None else reading.names(params, where),
        done=reading.event(entries.get("done"), where),
        failed=reading.event(entries.get("failed"), where),
        not_before=reading.duration(entries.get("not_before"), where),
        deadline=reading.duration(entries.get("deadline"), where),
        always=reading.choice(entries.get("send"), ("always",), where) is not None,
        label=reading.text(entries.get("label"), where),
        on=reading.choice(entries.get("on"), HOOK_ON, where) or "enter",
        ack_mode=reading.choice(entries.get("ack"), ACK_MODES, where) or "all",
        mark=node.mark,
    )


def read_rule(node: Node, reading: Reading, where: str) -> Rule:
    """Read a rule."""
    entries = reading.mapping(node, keys.RULE, where)
    return Rule(
        via=reading.event(entries.get("via"), where),
        params=reading.names(entries.get("params"), where),
        done=reading.event(entries.get("done"), where),
        failed=reading.event(entries.get("failed"), where),
        mark=node.mark,
    )
