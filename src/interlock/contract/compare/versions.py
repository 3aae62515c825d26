"""What a new version of a contract means for those who live with the old one.

Instances in flight are pinned to their version until they are migrated; senders and consumers meet
the new version at once. So a change is `compatible`, or `needs a map` under `migrate:`, or is
`breaking` for who sends events or serves intents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from interlock.contract.compare.states import (
    Change,
    Kind,
    breaking,
    compare_rows,
    compare_states,
    compatible,
    needs_map,
)
from interlock.contract.data import is_required
from interlock.contract.expression.declare import write_declaration
from interlock.contract.expression.values import Bound, Type, shown, write_type
from interlock.contract.model import rows_by_event

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from interlock.contract.model import Contract, Effect, Event, Field, Migration, Row, State

__all__ = ["Change", "Kind", "compare", "verdict"]

ALIKE = 0.5
Traits = set[tuple[str, ...]]
_GRAVITY: tuple[Kind, ...] = ("compatible", "needs a map", "breaking")
_SETTINGS = ("merge", "strict", "on_error", "require_consumer", "ack_gate", "keep_refused_first")
_LISTS = ("owned", "touched", "indexed", "internal")


def compare(old: Contract, new: Contract) -> list[Change]:
    """Return what changed from one version to another; equal machines have no changes."""
    if old.hash == new.hash:
        return []
    migration = next((step for step in new.migrate if step.version == old.version), None)
    found = [
        *_compare_wholes(old, new),
        *_compare_all_states(old, new, migration),
        *_compare_events(old, new),
        *_compare_contexts(old, new, migration),
        *_compare_routes(old, new),
        *_compare_params(old, new),
    ]
    same = [compatible("contract", "the same is said in another order, or twice")]
    return list(dict.fromkeys(found)) or same


def verdict(changes: Sequence[Change]) -> Kind:
    """Return the gravest kind among changes."""
    return _GRAVITY[max((_GRAVITY.index(change.kind) for change in changes), default=0)]


def _compare_wholes(old: Contract, new: Contract) -> Iterator[Change]:
    if old.name != new.name:
        message = f"{new.name} is another contract: instances of {old.name} do not belong to it"
        yield breaking("contract", message, f"call it {old.name}")
    if _number(new.version) <= _number(old.version):
        message = f"version {new.version} is not above {old.version}: it cannot be installed yet"
        yield compatible("version", message, "raise the version")
    if old.initial != new.initial:
        message = f"new instances begin in {new.initial}, before in {old.initial}"
        yield compatible("initial", message)
    if old.open and not new.open:
        message = "undeclared fields are no longer kept: contexts that hold some do not fit"
        yield needs_map("context", message, "declare the fields that are in use")
    elif new.open and not old.open:
        yield compatible("context", "undeclared fields are kept now")
    for name in (*_SETTINGS, "two_step", "advance"):
        one, other = getattr(old, name), getattr(new, name)
        if one != other:
            yield compatible(name, f"{name} is {_say(other)}, before {_say(one)}")
    for name in _LISTS:
        one, other = getattr(old, name), getattr(new, name)
        yield from (compatible(name, f"{gone} is not in it now") for gone in _without(one, other))
        yield from (compatible(name, f"{came} is in it now") for came in _without(other, one))
    for name, what in (("begins", "begins a new generation"), ("publish", "is published")):
        one, other = getattr(old, name), getattr(new, name)
        yield from (breaking(name, f"{gone} no longer {what}") for gone in _without(one, other))
        yield from (compatible(name, f"{came} now {what}") for came in _without(other, one))


def _without(names: Iterable[str], others: Container[str]) -> list[str]:
    return [name for name in names if name not in others]


def _number(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".") if part.isdecimal()]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _say(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None else str(value)


def _compare_all_states(
    old: Contract, new: Contract, migration: Migration | None
) -> Iterator[Change]:
    mapped = {} if migration is None else migration.states
    added, gone = _without(new.states, old.states), _without(old.states, new.states)
    fresh = {*added, *gone}
    was, now = _traits(old, gone, fresh), _traits(new, added, fresh)
    for name, before in old.states.items():
        target = mapped.get(name)
        if name in new.states:
            mapping = target in new.states
            yield from compare_states(old, new, before, new.states[name], mapped=mapping)
        elif target in new.states:
            yield compatible(f"states.{name}", f"is gone; instances there go on in {target}")
            yield from compare_states(old, new, before, new.states[str(target)], mapped=True)
        else:
            hint = _map_hint(old.version, name, was[name], now)
            yield needs_map(f"states.{name}", "is gone: instances there have nowhere to go", hint)
    for name in added:
        yield compatible(f"states.{name}", "is new")
    yield from compare_rows("any", old.any, new.any)


def _map_hint(version: str, name: str, before: Traits, added: Mapping[str, Traits]) -> str:
    """Suggest the added state that does most of what a state did."""
    likeness = {
        other: len(before & after) / max(len(before | after), 1) for other, after in added.items()
    }
    best = max(likeness, key=likeness.__getitem__, default="")
    found = likeness.get(best, 0) >= ALIKE
    target, reason = (best, f"if it is called {best} now") if found else ("...", "say where to go")
    return f"{reason}: migrate: {{{version}: {{states: {{{name}: {target}}}}}}}"


def _traits(contract: Contract, names: Collection[str], fresh: set[str]) -> dict[str, Traits]:
    """Return what some states are known by: rows, the ways into them, effects and ends."""

    def known(name: str | None) -> str:
        return "?" if name in fresh or name is None else name

    found: dict[str, Traits] = {name: set() for name in names}
    for state in contract.states.values() if names else ():
        for event, row in _rows(contract, state):
            if state.name in found:
                found[state.name].add(("row", event, known(row.to)))
            if row.to in found:
                found[row.to].add(("into", known(state.name), event))
    for name, traits in found.items():
        state = contract.states[name]
        traits.add(("end", str(state.end)))
        traits |= {("asks", effect.intent) for effect in (*state.enter, *state.exit)}
    return found


def _rows(contract: Contract, state: State) -> Iterator[tuple[str, Row]]:
    for event, rows in rows_by_event(contract, state).items():
        for row in rows:
            yield event, row
    for row in state.always:
        yield "always", row


def _compare_events(old: Contract, new: Contract) -> Iterator[Change]:
    used = {
        event
        for state in old.states.values()
        for event in (*rows_by_event(old, state), *state.ignore)
    }
    for name, before in old.events.items():
        where = f"events.{name}"
        after = new.events.get(name)
        if after is not None:
            yield from _compare_event(where, before, after)
        elif name in used:
            yield breaking(where, "is gone: who sends it is refused as UNKNOWN_EVENT")
        else:
            yield compatible(where, "is gone; no state answered it")
    yield from (compatible(f"events.{name}", "is new") for name in _without(new.events, old.events))


def _compare_event(where: str, before: Event, after: Event) -> Iterator[Change]:
    if before.code != after.code:
        if before.code is not None:
            yield breaking(where, f"is no longer known by the code {before.code}")
        if after.code is not None:
            yield compatible(where, f"is known by the code {after.code} now")
    if before.open and not after.open:
        yield breaking(where, "undeclared payload fields are refused now")
    elif after.open and not before.open:
        yield compatible(where, "undeclared payload fields are taken now")
    yield from _compare_payloads(where, before, after)


def _compare_payloads(where: str, before: Event, after: Event) -> Iterator[Change]:
    fields = {field.name: field for field in after.fields}
    for field in before.fields:
        place = f"{where}.{field.name}"
        now = fields.pop(field.name, None)
        if now is not None:
            yield from _compare_payload_field(place, field, now)
        elif after.open:
            yield compatible(place, "is not declared any more, but still taken as it comes")
        else:
            yield breaking(place, "is gone: payloads that carry it are refused")
    for field in fields.values():
        place, text = f"{where}.{field.name}", write_declaration(field.type, field.default)
        if is_required(field):
            hint = "give it a default or let it be null"
            yield breaking(
                place, f"is required now ({text}): payloads without it are refused", hint
            )
        elif before.open and field.type.kind != "json":
            yield breaking(place, f"was taken as it came, must be {text} now")
        else:
            yield compatible(place, f"may be given now ({text})")


def _compare_payload_field(where: str, before: Field, after: Field) -> Iterator[Change]:
    if not fits(before.type, after.type):
        message = f"must be {write_type(after.type)} now, before {write_type(before.type)}"
        yield breaking(
            where, message, "take what was valid before, or name the new event otherwise"
        )
    elif before.type != after.type:
        message = f"may be {write_type(after.type)} now, before {write_type(before.type)}"
        yield compatible(where, message)
    if is_required(after) and not is_required(before):
        yield breaking(where, "is required now: payloads without it are refused")
    elif before.default != after.default:
        yield compatible(where, f"is {_default(after)} when not given, before {_default(before)}")


def _default(field: Field) -> str:
    return "required" if field.default is UNSET else shown(field.default)


def _compare_contexts(
    old: Contract, new: Contract, migration: Migration | None
) -> Iterator[Change]:
    set_there = set[str]() if migration is None else {one.field for one in migration.updates}
    gone = [field for name, field in old.context.items() if name not in new.context]
    for name, after in new.context.items():
        where, before = f"context.{name}", old.context.get(name)
        text = write_declaration(after.type, after.default)
        if before is not None:
            yield from _compare_field(where, before, after, is_set=name in set_there)
        elif name in set_there:
            yield compatible(where, f"is new ({text}); migrated instances have it set")
        elif twin := next((one for one in gone if one.type == after.type), None):
            message = f"is new ({text}) and {twin.name} is gone: migrated instances lose its value"
            hint = (
                f"if it is the same: migrate: {{{old.version}: {{set: {{{name}: {twin.name}}}}}}}"
            )
            yield needs_map(where, message, hint)
        elif after.default is UNSET:
            hint = f"migrate: {{{old.version}: {{set: {{{name}: ...}}}}}}, or a default"
            yield needs_map(where, f"is new ({text}) and has no value in old instances", hint)
        else:
            yield compatible(where, f"is new ({text})")
    for field in gone:
        yield compatible(f"context.{field.name}", "is gone: migrated instances drop it")


def _compare_field(where: str, before: Field, after: Field, *, is_set: bool) -> Iterator[Change]:
    types = f"is {write_type(after.type)} now, before {write_type(before.type)}"
    if is_set:
        if before.type != after.type:
            yield compatible(where, f"{types}; migrated instances have it set")
    elif not fits(before.type, after.type):
        hint = "set it under `migrate:` for instances of the old version"
        yield breaking(where, f"{types}: values in flight may not fit", hint)
    elif before.type != after.type:
        yield compatible(where, types)
    if before.default != after.default:
        yield compatible(where, f"begins as {_default(after)}, before {_default(before)}")


def fits(old: Type, new: Type) -> bool:
    """Tell whether every value of a type is also one of another."""
    if new.kind == "json":
        return True
    if old.nullable and not new.nullable:
        return False
    match old.kind, new.kind:
        case "enum", "enum":
            alike = set(old.members) <= set(new.members)
        case "list", "list":
            alike = old.item is not None and new.item is not None and fits(old.item, new.item)
        case ("int", "decimal") | ("enum", "str"):
            alike = True
        case one, other:
            alike = one == other
    return alike and all(any(_implies(one, wanted) for one in old.bounds) for wanted in new.bounds)


def _implies(one: Bound, wanted: Bound) -> bool:
    """Tell whether what keeps one bound keeps another."""
    if one == wanted:
        return True
    if isinstance(one.limit, str) or isinstance(wanted.limit, str):
        return False
    if one.of_length != wanted.of_length or one.op[0] != wanted.op[0]:
        return False
    beyond = one.limit > wanted.limit if one.op[0] == ">" else one.limit < wanted.limit
    return beyond or (one.limit == wanted.limit and one.op in (wanted.op, wanted.op[0]))


def _compare_routes(old: Contract, new: Contract) -> Iterator[Change]:
    """Yield intents and hooks whose consumers get nothing any more, or less than before."""
    before, after = _intents(old), _intents(new)
    for name, arguments in before.items():
        where = f"intents.{name}"
        if name not in after:
            yield breaking(where, "is never asked for any more: its consumers get nothing")
            continue
        for gone in sorted(arguments - after[name]):
            yield breaking(where, f"its payload no longer has {gone}")
        for came in sorted(after[name] - arguments):
            yield compatible(where, f"its payload has {came} now")
    unserved = "is new: it waits until somebody serves it"
    yield from (compatible(f"intents.{name}", unserved) for name in _without(after, before))
    one, other = _hook_routes(old), _hook_routes(new)
    for gone in _without(one, other):
        yield breaking(f"hooks.{gone}", "is never handed out any more: its consumers get nothing")
    yield from (compatible(f"hooks.{came}", unserved) for came in _without(other, one))


def _hook_routes(contract: Contract) -> dict[str, None]:
    return {hook.route: None for state in contract.states.values() for hook in state.hooks}


def _intents(contract: Contract) -> dict[str, set[str]]:
    """Return all intents with the fields their payloads may have."""
    found: dict[str, set[str]] = {}
    for state in contract.states.values():
        rows = (*state.rows, *state.always, *contract.any)
        effects: list[Effect] = [*state.enter, *state.exit]
        effects += [effect for row in rows for effect in row.effects]
        for effect in effects:
            found.setdefault(effect.intent, set()).update(one.name for one in effect.arguments)
    return found


def _compare_params(old: Contract, new: Contract) -> Iterator[Change]:
    before = {param.code: param.data for param in old.params}
    after = {param.code: param.data for param in new.params}
    for code, data in before.items():
        if code not in after:
            yield compatible(f"params.{code}", "is gone: consumers are not told it any more")
        elif after[code] != data:
            yield compatible(f"params.{code}", "has other data; pinned instances keep the old")
    yield from (compatible(f"params.{code}", "is new") for code in _without(after, before))
