"""Writing any contract in the native form, as YAML that every reader of YAML takes alike."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from interlock.contract import keys
from interlock.contract.expression.declare import write_declaration
from interlock.contract.expression.expr import Const, write_expression
from interlock.contract.expression.values import as_plain, format_duration, is_list, is_object
from interlock.contract.expression.values import write_json as write_data
from interlock.contract.native.layout import Formula, Verbatim, write_json, write_yaml
from interlock.contract.native.parts import STAY
from interlock.contract.native.read import OPEN, read_native
from interlock.contract.reading import Reading
from interlock.contract.source.read import read_source
from interlock.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from interlock.contract.expression.expr import Expr
    from interlock.contract.model import (
        Argument,
        Contract,
        Effect,
        Event,
        Field,
        Hook,
        Play,
        Row,
        Rule,
        State,
        Timer,
        Update,
    )

_FLAGS = ("strict", "keep_refused_first", "require_consumer", "ack_gate", "two_step")
_NAMES = ("touched", "indexed", "begins", "publish")


def write_native(contract: Contract) -> str:
    """Return a contract as native YAML; raises `ContractError` for what the form cannot say."""
    tree = _say_contract(contract)
    comments = {event.name: event.text for event in contract.events.values() if event.text}
    text = write_yaml(tree, comments)
    # Parameter sets may hold what JSON allows and YAML does not, such as tabs.
    for written in (text, write_json(tree)):
        read = _read_back(written)
        if read is not None and _say_contract(read) == tree and read.hash == contract.hash:
            return written
    raise ContractError(f"{contract.name}: {_reason(contract)}")


def _read_back(text: str) -> Contract | None:
    root, problems = read_source(text)
    reading = Reading()
    contract = None if root is None or problems else read_native(root, reading)
    return None if reading.problems else contract


def _reason(contract: Contract) -> str:
    if STAY in contract.states:
        return f"a state named {STAY!r} cannot be a target in the native form"
    return "the native form cannot say all that this contract holds"


def _say_contract(contract: Contract) -> dict[str, object]:
    """Return a contract as plain data under the native keys, without what is at its default."""
    said: dict[str, object] = {
        "contract": contract.name,
        "version": Formula(contract.version) if contract.version.isdecimal() else contract.version,
        "text": contract.text,
        "context": _say_fields(contract.context.values(), is_open=contract.open),
        "counters": {name: {} for name in contract.owned},
        "payload": "merge" if contract.merge else "",
        **{flag: getattr(contract, flag) for flag in _FLAGS},
        "on_error": contract.on_error,
        "advance": "" if contract.advance == "consumer" else contract.advance,
        **{names: list(getattr(contract, names)) for names in _NAMES},
        "events": {event.name: _say_event(event) for event in contract.events.values()},
        "codes": {
            event.name: event.code for event in contract.events.values() if event.code is not None
        },
        "params": {param.code: Verbatim(param.data.decode()) for param in contract.params},
        "initial": contract.initial,
        "states": {state.name: _say_state(state) for state in contract.states.values()},
        "any": _say_rows(contract.any),
        "migrate": {
            old.version: _without_defaults(
                {"states": dict(old.states), "set": _say_updates(old.updates)}
            )
            for old in contract.migrate
        },
        "tests": [_say_play(play) for play in contract.tests],
    }
    if contract.initial == next(iter(contract.states), None):
        del said["initial"]
    return _without_defaults(said)


def _without_defaults(said: Mapping[str, object]) -> dict[str, object]:
    """Drop what is absent: nothing, false, and empty texts, lists and mappings."""
    return {
        key: value
        for key, value in said.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


def _say_fields(fields: Iterable[Field], *, is_open: bool) -> dict[str, object]:
    said: dict[str, object] = {
        field.name: write_declaration(field.type, field.default) for field in fields
    }
    return said | ({OPEN: "json"} if is_open else {})


def _say_event(event: Event) -> dict[str, object]:
    return _say_fields(event.fields, is_open=event.open)


def _say_state(state: State) -> dict[str, object]:
    rows = _say_rows(state.rows)
    said: dict[str, object] = {
        "text": state.text,
        "end": state.end,
        "kind": state.kind,
        "recoverable": None if state.recoverable is None else _say_flag(flag=state.recoverable),
        "category": state.category,
        "required": list(state.required),
        "requirements": [rule.text for rule in state.requirements],
        "enter": _say_effects(state.enter),
        "exit": _say_effects(state.exit),
        "after": _say_timers(state.timers),
        "hooks": [_say_hook(hook) for hook in state.hooks],
        "rules": [_say_rule(rule) for rule in state.rules],
        "ignore": list(state.ignore),
        "always": _one_or_all([_say_row(row) for row in state.always]),
        **{event: row for event, row in rows.items() if event not in keys.STATE},
        "on": {event: row for event, row in rows.items() if event in keys.STATE},
    }
    return _without_defaults(said)


def _say_flag(*, flag: bool) -> Formula:
    """Return a flag whose false means something else than its absence."""
    return Formula("true" if flag else "false")


def _say_rows(rows: Iterable[Row]) -> dict[str, object]:
    """Group rows by event: the order of rows of different events means nothing."""
    found: dict[str, list[object]] = {}
    for row in rows:
        found.setdefault(str(row.event), []).append(_say_row(row, keyed=True))
    return {event: _one_or_all(answers) for event, answers in found.items()}


def _one_or_all(items: list[object]) -> object:
    return items[0] if len(items) == 1 else items


def _say_row(row: Row, *, keyed: bool = False) -> object:
    bare = row.otherwise and row.when is None
    said = _without_defaults(
        {
            "when": _say_expression(row.when),
            "else": (row.to or STAY) if bare else None,
            "to": None if bare else row.to,
            "set": _say_updates(row.updates),
            "do": _say_effects(row.effects),
            "note": [_say_expression(part) for part in row.noted],
            "priority": row.priority or None,
            "touch": row.touch,
            "late": "accept" if row.late else None,
            "restart": "timer" if row.restart_timer else None,
            "as": None if keyed else row.event,
            "name": row.name,
            "text": row.text,
        }
    )
    if not said:
        return STAY
    return row.to if said.keys() == {"to"} else said


def _say_expression(expr: Expr | None) -> Formula | Verbatim | None:
    if isinstance(expr, Const) and (is_object(expr.value) or is_list(expr.value)):
        return Verbatim(write_data(expr.value))
    return None if expr is None else Formula(write_expression(expr))


def _say_updates(updates: Iterable[Update]) -> dict[str, object]:
    return {update.field: _say_expression(update.value) for update in updates}


def _say_arguments(arguments: Iterable[Argument]) -> dict[str, object]:
    return {argument.name: _say_expression(argument.value) for argument in arguments}


def _say_effects(effects: Iterable[Effect]) -> object:
    return _one_or_all([_say_effect(effect) for effect in effects])


def _say_effect(effect: Effect) -> object:
    retry: object = None
    if effect.retry is not None:
        count, within = effect.retry.attempts, effect.retry.within
        retry = count if within is None else f"{count} in {format_duration(within)}"
    said = _without_defaults(
        {
            "do": effect.intent,
            "with": _say_arguments(effect.arguments),
            "done": effect.done,
            "failed": effect.failed,
            "retry": retry,
            "timeout": _say_span(effect.timeout),
            "cancel": "on_exit" if effect.cancel_on_exit else None,
            "label": effect.label,
        }
    )
    return effect.intent if said.keys() == {"do"} else said


def _say_span(span: timedelta | None) -> str | None:
    return None if span is None else format_duration(span)


def _say_timers(timers: Iterable[Timer]) -> dict[str, object]:
    said: dict[str, object] = {}
    for timer in timers:
        after = format_duration(timer.after)
        while after in said:  # a key stands once, so the same time is spelled with one more zero
            after = re.sub(r"([0-9])", r"0\1", after, count=1)
        said[after] = _say_timer(timer)
    return said


def _say_timer(timer: Timer) -> object:
    said = _without_defaults(
        {
            "raise": timer.event,
            "with": _say_arguments(timer.arguments),
            "repeat": timer.repeat,
            "once": timer.once,
            "notice": timer.notice,
        }
    )
    return timer.event if said.keys() == {"raise"} else said


def _say_hook(hook: Hook) -> object:
    said = _without_defaults(
        {
            "route": hook.route,
            "type": "gate" if hook.gate else None,
            "via": hook.via,
            "on": "exit" if hook.on == "exit" else None,
            "order": hook.order or None,
            "group": hook.group,
            "ack": "any" if hook.ack_mode == "any" else None,
            "done": hook.done,
            "failed": hook.failed,
            "not_before": _say_span(hook.not_before),
            "deadline": _say_span(hook.deadline),
            "send": "always" if hook.always else None,
            "label": hook.label,
        }
    )
    if hook.params is not None:  # an empty list says that the rule's do not hold
        said["params"] = list(hook.params)
    return hook.route if said.keys() == {"route"} else said


def _say_rule(rule: Rule) -> dict[str, object]:
    said = {"via": rule.via, "params": list(rule.params), "done": rule.done, "failed": rule.failed}
    return _without_defaults(said)


def _say_play(play: Play) -> dict[str, object]:
    state = {} if play.state is None else {"state": play.state}
    said = _without_defaults(
        {
            "name": play.name,
            "given": state | {name: _say_data(value) for name, value in play.context.items()},
            "events": [
                name if payload is None else {name: _say_data(payload)}
                for name, payload in play.events
            ],
            "expect": play.expect,
            "context": _say_data(play.expect_context),
        }
    )
    for key, names in (("intents", play.intents), ("outcomes", play.outcomes)):
        if names is not None:  # an empty list says that there are none
            said[key] = list(names)
    return said


def _say_data(value: object) -> object:
    """Return data as it is read again: times and durations as text, floats as decimals."""
    plain = as_plain(value)
    if isinstance(plain, float):
        return Decimal(repr(plain))
    if isinstance(plain, list):
        return [_say_data(item) for item in cast("list[object]", plain)]
    if isinstance(plain, dict):
        found = cast("dict[str, object]", plain)
        return {name: _say_data(item) for name, item in found.items()}
    return plain
