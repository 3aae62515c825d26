"""What both halves of a workflow share: keys in all their spellings, names, time-outs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from itertools import islice
from typing import Literal, NamedTuple

from msgspec import Struct

from interlock.contract.model import Timer
from interlock.contract.problem import did_you_mean
from interlock.contract.reading import NO_KEYS, Reading
from interlock.contract.source.node import Node

STALE = "STATE_STALE"
MAX_MINUTES = 10**9
MAX_KNOWN = 200
_SHOWN = 8
_TIMED = {"state", "timeout_mode", "timeout_event", "max_retry"}


class Term(NamedTuple):
    """What a key of a workflow file means, and its other spellings."""

    meaning: str
    also: tuple[str, ...] = ()


_TEXTS: dict[str, Term] = {
    "display_name": Term("What it is called.", ("displayName", "label")),
    "description": Term("A text."),
    "$schema": Term("Without effect."),
}

TIMEOUT_TERMS: dict[str, Term] = {
    "timeout": Term("How long a stay may last, as an ISO-8601 or a short duration."),
    "timeout_minutes": Term("The same in whole minutes.", ("timeoutMinutes",)),
    "timeout_mode": Term("`once` (or 0) or `repeat` (or 1). Default once.", ("timeoutMode",)),
    "timeout_event": Term(
        "The event raised then; without one there is only a notice.",
        ("timeoutEvent", "timeoutEventCode", "timeout_event_code"),
    ),
    "max_retry": Term("Without effect.", ("maxRetry", "max_trigger")),
}

DEFINITION: dict[str, Term] = {
    "name": Term(
        "The definition's name, or a mapping of it with `version` and `description`.",
        ("definition", "def_name", "defName", "definition_name", "definitionName"),
    ),
    "version": Term("Its version. Default 1.", ("def_version", "defVersion")),
    "states": Term("The states."),
    "events": Term("The events; without them the transitions declare theirs."),
    "transitions": Term("From where to where by which event."),
    "categories": Term("The categories its states may have."),
    "policy": Term("The policy, where one file holds both."),
    "environment": Term("Without effect.", ("env", "env_code", "envCode")),
    **_TEXTS,
}

HEADER: dict[str, Term] = {key: DEFINITION[key] for key in ("name", "version", *_TEXTS)}

STATE: dict[str, Term] = {
    "name": Term("The state's name."),
    "is_initial": Term("Where instances begin.", ("isInitial", "initial")),
    "is_final": Term("Where they end.", ("isFinal", "final", "is_terminal", "isTerminal")),
    "is_error": Term("The end is a failure.", ("isError",)),
    "flags": Term("The same as bits: 1 initial, 2 final, 4 system, 8 error."),
    "category": Term("A label; `error` makes an end a failure."),
    **TIMEOUT_TERMS,
    **_TEXTS,
}

EVENT: dict[str, Term] = {
    "name": Term("The event's name."),
    "code": Term("Its number, by which it may also be named.", ("event_code", "eventCode")),
    **_TEXTS,
}

TRANSITION: dict[str, Term] = {
    "from": Term("The state it leaves.", ("from_state", "fromState")),
    "to": Term("The state it enters.", ("to_state", "toState")),
    "event": Term("The event, by code or name."),
    "event_code": Term("The same, only the code.", ("eventCode",)),
    "event_name": Term("The same, only the name.", ("eventName",)),
    **_TEXTS,
}

POLICY: dict[str, Term] = {
    "policy_name": Term("The policy's name; no part of its hash.", ("policyName",)),
    "version": Term("The policy's own version; no part of its hash.", ("policy_version",)),
    "environment": Term("Without effect.", ("env", "env_code", "envCode")),
    "for": Term("The definition it is for: `definition` and `version`."),
    "def_name": Term("The same, only the name.", ("defName", "definitionName", "name")),
    "params": Term("Named parameter sets.", ("policies",)),
    "rules": Term("What entering a state emits and tells.", ("routes",)),
    "timeouts": Term("Deadlines of stays; they replace those of the definition."),
    **_TEXTS,
}

FOR: dict[str, Term] = {
    "definition": Term("The definition's name.", ("name", "def_name", "defName")),
    "version": Term("The definition's version.", ("def_version", "defVersion")),
}

PARAM: dict[str, Term] = {
    "code": Term("The name by which rules and hooks refer to it."),
    "data": Term("Its data, kept byte for byte.", ("params",)),
    **_TEXTS,
}

RULE: dict[str, Term] = {
    "state": Term("The state that is entered."),
    "via": Term("Only when entered by this event, by code or name."),
    "params": Term("Parameter sets told to consumers and to the hooks below.", ("policy",)),
    "complete": Term("The next events, `success` and `failure`, by code or name."),
    "emit": Term("The hooks.", ("hooks",)),
    "type": Term("The default `type` of its hooks.", ("hook_type", "hookType")),
    "blocking": Term("The default `blocking` of its hooks."),
    "auto": Term("Without effect: only a time-out raises an event by itself."),
    **_TEXTS,
}

HOOK: dict[str, Term] = {
    "route": Term("The hook's name, by which consumers subscribe.", ("event", "name", "hook")),
    "type": Term("`gate` holds back what comes later, `effect` not.", ("hook_type", "hookType")),
    "blocking": Term("The same as a flag: true is a gate. Default true."),
    "order": Term("Its stage. Hooks without one come after all others.", ("order_seq", "orderSeq")),
    "group": Term("Hooks of one group complete together.", ("group_name", "groupName")),
    "ack_mode": Term("`all` consumers must settle it, or `any` one.", ("ackMode",)),
    "complete": Term("A gate's own next events instead of the rule's."),
    "params": Term("Parameter sets instead of the rule's."),
    "on": Term("`enter` or `exit`."),
    "on_entry": Term("The same as a flag: false is `exit`.", ("onEntry",)),
    "send": Term("`always`: also when its stage was decided without it."),
    "not_before": Term("Held back for so long.", ("notBefore",)),
    "deadline": Term("Given up after so long."),
    **_TEXTS,
}

COMPLETE: dict[str, Term] = {
    "success": Term("The event of success.", ("on_success", "onSuccess")),
    "failure": Term("The event of failure.", ("on_failure", "onFailure")),
}

TIMEOUT: dict[str, Term] = {"state": Term("The state."), **TIMEOUT_TERMS, **_TEXTS}


class Lexicon(Struct, frozen=True):
    """The names a definition declares: events by folded name and by code, states by folded name."""

    name: str
    version: str
    events: Mapping[str, str]
    codes: Mapping[int, str]
    states: Mapping[str, str]


def fold(name: str) -> str:
    """Return a name as workflow files compare it: without regard to case and spacing."""
    return " ".join(name.split()).casefold()


def read_terms(
    node: Node | None, terms: Mapping[str, Term], reading: Reading, where: str
) -> Mapping[str, Node]:
    """Return a mapping's entries under their main spelling; a null counts as absent."""
    if node is None or node.value is None:
        return NO_KEYS
    if not isinstance(node.value, dict):
        reading.wrong(node, "a mapping of keys and values", where)
        return NO_KEYS
    spelled = spellings(terms)
    found: dict[str, Node] = {}
    used: dict[str, str] = {}
    for key, value in node.value.items():
        mark = node.keys.get(key, node.mark)
        name = spelled.get(key)
        if name is None:
            reading.unknown_key(key, mark, tuple(spelled), where)
        elif name in used:
            told = f"{key!r} and {used[name]!r} are the same key"
            reading.report("duplicate_name", told, at=mark, where=where, hint="keep one of them")
        else:
            used[name] = key
            if value.value is not None:
                found[name] = value
    return found


def spellings(terms: Mapping[str, Term]) -> dict[str, str]:
    """Return every spelling of a table of terms with the main one it stands for."""
    return {each: name for name, term in terms.items() for each in (name, *term.also)}


def find_event(
    node: Node | None, lexicon: Lexicon | None, reading: Reading, where: str
) -> str | None:
    """Return the event meant by a code or a name; a number is tried as a code first."""
    if node is None:
        return None
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | str):
        reading.wrong(node, "an event's code or name", where)
        return None
    if lexicon is None:
        return str(value)
    found = lexicon.codes.get(value) if isinstance(value, int) else None
    found = found or lexicon.events.get(fold(str(value)))
    if found is None and isinstance(value, str) and value.isascii() and value.isdecimal():
        found = lexicon.codes.get(int(value[:20]))
    if found is None:
        kind = "name" if isinstance(value, str) else "code"
        hint = nearest(str(value), lexicon.events.values(), reading) or _codes(lexicon)
        told = f"no event has the {kind} {str(value)[:60]}"
        reading.report("unknown_event", told, at=node, where=where, hint=hint)
    return found


def nearest(word: str, known: Collection[str], reading: Reading) -> str:
    """Return a hint with the nearest name, as long as there are few names and few problems."""
    few = len(known) <= MAX_KNOWN and len(reading.problems) < MAX_KNOWN
    return did_you_mean(word, known) if few else ""


def _codes(lexicon: Lexicon) -> str:
    known = [f"{code} {name}" for code, name in islice(lexicon.codes.items(), _SHOWN)]
    more = ", ..." if len(lexicon.codes) > _SHOWN else ""
    return f"known codes: {', '.join(known)}{more}" if known else ""


def find_state(
    node: Node | None, lexicon: Lexicon | None, reading: Reading, where: str
) -> str | None:
    """Return the state meant by a name, whatever its case."""
    name = reading.name(node, where)
    if name is None or lexicon is None:
        return name
    found = lexicon.states.get(fold(name))
    if found is None:
        hint = nearest(name, lexicon.states.values(), reading)
        told = f"there is no state {name[:60]!r}"
        reading.report("unknown_state", told, at=node, where=where, hint=hint)
    return found


def need(entries: Mapping[str, Node], name: str, node: Node, reading: Reading, where: str) -> None:
    """Report a key that must be there, unless something was said about this entry already."""
    if name not in entries and (node.value is None or isinstance(node.value, dict)):
        reading.report("bad_value", f"the key {name!r} is missing", at=node, where=where)


def note_environment(entries: Mapping[str, Node], reading: Reading, where: str) -> None:
    """Warn of an environment, which is the engine's affair and not a contract's."""
    if place := entries.get("environment"):
        told = "the environment has no effect: it is the namespace an engine is opened with"
        reading.report("setting_without_effect", told, at=place, where=where, severity="warning")


def read_timer(
    entries: Mapping[str, Node],
    node: Node,
    reading: Reading,
    lexicon: Lexicon | None,
    where: str,
) -> Timer | None:
    """Return the time-out that the `timeout...` keys of an entry declare, if they declare one."""
    after = _read_span(entries, reading, where)
    repeat = _read_mode(entries.get("timeout_mode"), reading, f"{where}.timeout_mode")
    event = find_event(entries.get("timeout_event"), lexicon, reading, f"{where}.timeout_event")
    if limit := entries.get("max_retry"):
        told = f"a bound of {limit.raw} on a time-out has no effect"
        reading.report("setting_without_effect", told, at=limit, where=where, severity="warning")
    if after is None:
        if not entries.keys() & {"timeout", "timeout_minutes"} and entries.keys() & _TIMED:
            need(entries, "timeout", node, reading, where)
        return None
    silent = "timeout_event" not in entries
    return Timer(
        after=after,
        event=event,
        repeat=repeat == "repeat",
        once=repeat == "once",
        notice=STALE if silent else "",
        mark=node.mark,
    )


def _read_span(entries: Mapping[str, Node], reading: Reading, where: str) -> timedelta | None:
    minutes, text = entries.get("timeout_minutes"), entries.get("timeout")
    spans: list[timedelta] = []
    if text is not None:
        span = reading.duration(text, f"{where}.timeout")
        if span is not None:
            spans.append(span)
    match minutes:
        case Node(value=int() as count) if type(count) is int and 0 <= count < MAX_MINUTES:
            spans.append(timedelta(minutes=count))
        case Node():
            reading.wrong(minutes, "a whole number of minutes", f"{where}.timeout_minutes")
        case None:
            pass
    given = minutes or text
    if given is None or not spans:
        return None
    if spans[0] <= timedelta():
        reading.wrong(given, "a time longer than zero", where)
        return None
    if spans[-1] != spans[0]:
        told = "`timeout` and `timeout_minutes` say different times"
        reading.report("bad_value", told, at=given, where=where, hint="keep one of them")
    return spans[0]


def _read_mode(node: Node | None, reading: Reading, where: str) -> Literal["once", "repeat"]:
    word = "once" if node is None else str(node.value).lower()
    if word in {"once", "0"}:
        return "once"
    if node is not None and word not in {"repeat", "1"}:
        reading.wrong(node, "`once` or `repeat` (0 or 1)", where)
    return "repeat"
