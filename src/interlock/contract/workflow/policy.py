"""Reading the policy half of a workflow: parameter sets, rules with their hooks, time-outs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from interlock.contract.expression.values import Mismatch, parse_time
from interlock.contract.model import Hook, Param, Rule, Timer
from interlock.contract.source.node import Node, as_json, plain
from interlock.contract.workflow.terms import (
    COMPLETE,
    FOR,
    HOOK,
    PARAM,
    POLICY,
    RULE,
    TIMEOUT,
    Lexicon,
    Term,
    find_event,
    find_state,
    fold,
    nearest,
    need,
    note_environment,
    read_terms,
    read_timer,
    spellings,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from interlock.contract.reading import Reading

_UNORDERED = -1
_NAMES = {"policy_name", "for", "def_name", "display_name", "description", "$schema"}


class Part(Struct, frozen=True):
    """What a policy says about one state."""

    rules: tuple[Rule, ...] = ()
    hooks: tuple[Hook, ...] = ()
    timers: tuple[Timer, ...] = ()


class Policy(Struct, frozen=True):
    """A policy as read: its parameter sets, its parts by state, and its hash."""

    params: tuple[Param, ...]
    parts: Mapping[str, Part]
    hash: str


class _Scope(NamedTuple):
    """What the rules of one policy are read against."""

    reading: Reading
    lexicon: Lexicon | None
    params: frozenset[str]


def read_policy(node: Node, reading: Reading, lexicon: Lexicon | None) -> Policy:
    """Read a policy; without the definition's names only its shape is checked."""
    top = read_terms(node, POLICY, reading, "policy")
    reading.text(top.get("policy_name"), "policy.policy_name")
    note_environment(top, reading, "policy")
    _check_target(top, reading, lexicon)
    params = _read_params(top.get("params"), reading)
    scope = _Scope(reading, lexicon, frozenset(param.code for param in params))
    rules: dict[str, list[Rule]] = {}
    hooks: dict[str, list[Hook]] = {}
    for index, rule in enumerate(reading.items(top.get("rules"), "policy.rules")):
        _read_rule(rule, scope, f"policy.rules[{index}]", rules, hooks)
    timers = _read_timeouts(top.get("timeouts"), reading, lexicon)
    parts = {
        state: Part(
            tuple(rules.get(state, ())),
            _in_order(hooks.get(state, ())),
            tuple(timers.get(state, ())),
        )
        for state in dict.fromkeys((*rules, *hooks, *timers))
    }
    return Policy(params, parts, policy_hash(node))


def _check_target(top: Mapping[str, Node], reading: Reading, lexicon: Lexicon | None) -> None:
    """Warn where a policy says that it is for another definition than the one beside it."""
    target, where = top.get("for"), "policy.for"
    nested = target is not None and not isinstance(target.value, str)
    given = read_terms(target, FOR, reading, where) if nested else {"definition": target}
    for node in (given.get("definition"), top.get("def_name")):
        name = reading.text(node, where)
        if lexicon is not None and name and fold(name) != fold(lexicon.name):
            told = f"the policy is for {name[:60]!r}, the definition is {lexicon.name!r}"
            reading.report("bad_value", told, at=node, where=where, severity="warning")
    version = reading.text(given.get("version"), where)
    if lexicon is not None and version and version != lexicon.version:
        told = f"the policy is for version {version[:60]}, the definition has {lexicon.version}"
        reading.report("bad_value", told, at=given.get("version"), where=where, severity="warning")


def _read_params(node: Node | None, reading: Reading) -> tuple[Param, ...]:
    found: dict[str, Param] = {}
    for index, item in enumerate(reading.items(node, "policy.params")):
        where = f"policy.params[{index}]"
        entries = read_terms(item, PARAM, reading, where)
        code = reading.name(entries.get("code"), where)
        written = item.value if isinstance(item.value, dict) else entries
        data = entries.get("data") or written.get("data")  # null is data, too
        if code is None:
            need(entries, "code", item, reading, where)
        elif code in found:
            told = f"the parameter set {code!r} stands twice"
            reading.report("duplicate_name", told, at=entries["code"], where=where)
        else:
            found[code] = Param(code, b"{}" if data is None else as_json(data), item.mark)
    return tuple(found.values())


def _read_rule(
    node: Node,
    scope: _Scope,
    where: str,
    rules: dict[str, list[Rule]],
    hooks: dict[str, list[Hook]],
) -> None:
    reading = scope.reading
    entries = read_terms(node, RULE, reading, where)
    state = find_state(entries.get("state"), scope.lexicon, reading, f"{where}.state")
    need(entries, "state", node, reading, where)
    if auto := entries.get("auto"):
        told = "`auto` has no effect: only a time-out raises an event by itself"
        hint = "give the state a time-out with an event, or let a consumer send it"
        reading.report(
            "setting_without_effect", told, at=auto, where=where, hint=hint, severity="warning"
        )
    params = _param_codes(entries.get("params"), scope, f"{where}.params")
    done, failed = _read_complete(entries.get("complete"), scope, f"{where}.complete")
    rule = Rule(
        via=find_event(entries.get("via"), scope.lexicon, reading, f"{where}.via"),
        params=params or (),
        done=done,
        failed=failed,
        mark=node.mark,
    )
    gate = _is_gate(entries, reading, where, default=True)
    emitted = [
        _read_hook(item, rule, scope, f"{where}.emit[{index}]", gate=gate)
        for index, item in enumerate(reading.items(entries.get("emit"), f"{where}.emit"))
    ]
    if state is None:
        return
    if rule.via or rule.params or rule.done or rule.failed:
        rules.setdefault(state, []).append(rule)
    hooks.setdefault(state, []).extend(hook for hook in emitted if hook is not None)


def _read_hook(node: Node, rule: Rule, scope: _Scope, where: str, *, gate: bool) -> Hook | None:
    reading = scope.reading
    if isinstance(node.value, str):
        node = Node(value={"route": node}, mark=node.mark)
    entries = read_terms(node, HOOK, reading, where)
    route = reading.name(entries.get("route"), where)
    need(entries, "route", node, reading, where)
    gate = _is_gate(entries, reading, where, default=gate)
    done, failed = _read_complete(entries.get("complete"), scope, f"{where}.complete")
    if not gate and (done or failed):
        told = "an effect decides nothing: its `complete` has no effect"
        hint = "make it a gate"
        reading.report(
            "setting_without_effect",
            told,
            at=entries["complete"],
            where=where,
            hint=hint,
            severity="warning",
        )
    own = _param_codes(entries.get("params"), scope, f"{where}.params")
    words: dict[str, Any] = {
        "on": _read_side(entries, reading, where),
        "ack_mode": _read_word(entries.get("ack_mode"), ("all", "any"), reading, where) or "all",
    }
    hook = Hook(
        route=route or "",
        gate=gate,
        via=rule.via,
        order=_read_order(entries.get("order"), reading, where),
        group=reading.name(entries.get("group"), where),
        params=(rule.params or None) if own is None else own,
        done=(done or rule.done) if gate else None,
        failed=(failed or rule.failed) if gate else None,
        not_before=_read_delay(entries.get("not_before"), reading, f"{where}.not_before"),
        deadline=_read_delay(entries.get("deadline"), reading, f"{where}.deadline"),
        always=_read_word(entries.get("send"), ("always",), reading, where) is not None,
        label=reading.text(entries.get("display_name"), where),
        mark=node.mark,
        **words,
    )
    return None if route is None else hook


def _read_complete(node: Node | None, scope: _Scope, where: str) -> tuple[str | None, str | None]:
    entries = read_terms(node, COMPLETE, scope.reading, where)
    done, failed = (
        find_event(entries.get(key), scope.lexicon, scope.reading, f"{where}.{key}")
        for key in ("success", "failure")
    )
    return done, failed


def _param_codes(node: Node | None, scope: _Scope, where: str) -> tuple[str, ...] | None:
    """Return the parameter sets named, each as a code or as a mapping with its code."""
    if node is None:
        return None
    reading = scope.reading
    found: list[str] = []
    for item in node.value if isinstance(node.value, list) else [node]:
        named: Node | None = item
        if isinstance(item.value, dict):
            entries = read_terms(item, PARAM, reading, where)
            need(entries, "code", item, reading, where)
            named = entries.get("code")
        code = reading.name(named, where)
        if code is None:
            continue
        if code in scope.params:
            found.append(code)
        else:
            hint = nearest(code, scope.params, reading)
            told = f"there is no parameter set {code[:60]!r}"
            reading.report("unknown_param", told, at=item, where=where, hint=hint)
    return tuple(found)


def _is_gate(entries: Mapping[str, Node], reading: Reading, where: str, *, default: bool) -> bool:
    kind = _read_word(entries.get("type"), ("gate", "effect"), reading, where)
    blocking = entries.get("blocking")
    gate = default if blocking is None else reading.flag(blocking, where, default=default)
    if kind is None:
        return gate
    if blocking is not None and gate != (kind == "gate"):
        told = f"`type: {kind}` and `blocking: {blocking.raw}` contradict each other"
        reading.report("bad_value", told, at=blocking, where=where, hint="keep one of them")
    return kind == "gate"


def _read_side(entries: Mapping[str, Node], reading: Reading, where: str) -> str:
    side = _read_word(entries.get("on"), ("enter", "exit"), reading, where)
    entering = reading.flag(entries.get("on_entry"), where, default=side != "exit")
    return "enter" if entering else "exit"


def _read_word(
    node: Node | None, words: tuple[str, ...], reading: Reading, where: str
) -> str | None:
    if node is not None and isinstance(node.value, str) and node.value.lower() in words:
        return node.value.lower()
    return reading.choice(node, words, where)


def _read_order(node: Node | None, reading: Reading, where: str) -> int:
    order = reading.number(node, f"{where}.order", _UNORDERED)
    if node is not None and order < 0:
        reading.wrong(node, "a stage: a whole number that is not negative", f"{where}.order")
    return order


def _in_order(hooks: Iterable[Hook]) -> tuple[Hook, ...]:
    """Put the hooks without a stage into one after all others."""
    hooks = tuple(hooks)
    last = max((hook.order for hook in hooks), default=_UNORDERED) + 1
    return tuple(
        msgspec.structs.replace(hook, order=last) if hook.order < 0 else hook for hook in hooks
    )


def _read_delay(node: Node | None, reading: Reading, where: str) -> timedelta | None:
    if node is not None and isinstance(node.value, str) and _is_time(node.value):
        hint = "write the time from entering the state, such as PT30M"
        reading.wrong(node, "a duration", where, hint)
        return None
    return reading.duration(node, where)


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except Mismatch:
        return False
    return True


def _read_timeouts(
    node: Node | None, reading: Reading, lexicon: Lexicon | None
) -> dict[str, list[Timer]]:
    found: dict[str, list[Timer]] = {}
    for index, item in enumerate(reading.items(node, "policy.timeouts")):
        where = f"policy.timeouts[{index}]"
        entries = read_terms(item, TIMEOUT, reading, where)
        state = find_state(entries.get("state"), lexicon, reading, f"{where}.state")
        need(entries, "state", item, reading, where)
        timer = read_timer(entries, item, reading, lexicon, where)
        if timer is not None and state is not None:
            found.setdefault(state, []).append(timer)
    return found


def policy_hash(node: Node) -> str:
    """Return the SHA-256 of what a policy says, without names, texts and choice of spelling."""
    entries = _respell(plain(node), POLICY)
    rules = _respell_all(entries.get("rules"), RULE)
    for rule in rules:
        rule["emit"] = _respell_all(rule.get("emit"), HOOK)
    material = {
        "params": _respell_all(entries.get("params"), PARAM),
        "rules": rules,
        "timeouts": _respell_all(entries.get("timeouts"), TIMEOUT),
    }
    text = json.dumps(material, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _respell_all(value: object, terms: Mapping[str, Term]) -> list[dict[str, Any]]:
    items: list[object] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return [_respell(item, terms) for item in items]


def _respell(value: object, terms: Mapping[str, Term]) -> dict[str, Any]:
    given: dict[str, object] = value if isinstance(value, dict) else {"": value}  # pyright: ignore[reportUnknownVariableType]
    spelled = spellings(terms)
    named = {spelled.get(key, key): item for key, item in given.items()}
    return {key: item for key, item in named.items() if key not in _NAMES and item is not None}
