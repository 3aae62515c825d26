"""Changes of what one state does: its rows, effects, timers, hooks and its end."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interlock.contract.expression.expr import all_of, conjuncts, write_expression
from interlock.contract.expression.values import as_plain, format_duration, shown
from interlock.contract.model import rows_by_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interlock.contract.model import Argument, Contract, Effect, Hook, Row, Rule, State, Timer

Kind = Literal["compatible", "needs a map", "breaking"]


class Change(Struct, frozen=True, kw_only=True):
    """One difference between two versions, and what it means for instances, senders, consumers."""

    kind: Kind
    where: str
    message: str
    hint: str = ""


def compatible(where: str, message: str, hint: str = "") -> Change:
    """Return a change that breaks nobody; it may still change what migrated instances do."""
    return Change(kind="compatible", where=where, message=message, hint=hint)


def needs_map(where: str, message: str, hint: str = "") -> Change:
    """Return a change that instances in flight survive only with a map under `migrate:`."""
    return Change(kind="needs a map", where=where, message=message, hint=hint)


def breaking(where: str, message: str, hint: str = "") -> Change:
    """Return a change that senders or consumers must know of beforehand."""
    return Change(kind="breaking", where=where, message=message, hint=hint)


def compare_states(
    old: Contract, new: Contract, before: State, after: State, *, mapped: bool
) -> Iterator[Change]:
    """Yield what changed between a state and the one that goes by its name or takes its place."""
    where = f"states.{before.name}"
    yield from _compare_answers(old, new, before, after)
    yield from compare_rows(where, before.rows, after.rows, answered(new, after))
    yield from compare_rows(f"{where}.always", before.always, after.always)
    for key, one, other in (
        ("enter", before.enter, after.enter),
        ("exit", before.exit, after.exit),
    ):
        yield from _compare_texts(
            f"{where}.{key}", map(write_effect, one), map(write_effect, other), "asks for"
        )
    yield from _compare_texts(
        f"{where}.after",
        map(_write_timer, before.timers),
        map(_write_timer, after.timers),
        "waits",
        "a migration recomputes what is due from the time of entry",
    )
    yield from _compare_texts(
        f"{where}.hooks", map(_write_hook, before.hooks), map(_write_hook, after.hooks), "hands out"
    )
    yield from _compare_texts(
        f"{where}.rules", map(_write_rule, before.rules), map(_write_rule, after.rules), "tells"
    )
    yield from _compare_marks(where, before, after, mapped=mapped)


def answered(contract: Contract, state: State) -> set[str]:
    """Return the events that a state answers, be it by ignoring them."""
    return {*rows_by_event(contract, state), *state.ignore}


def _compare_answers(old: Contract, new: Contract, before: State, after: State) -> Iterator[Change]:
    known = new.events.keys() | set(new.internal)
    now = answered(new, after)
    for event in rows_by_event(old, before) | dict.fromkeys(before.ignore):
        if event in known and event not in now:
            message = f"{after.name} no longer answers {event}: who sends it there is refused"
            yield breaking(f"states.{before.name}.{event}", message)
    for event in after.ignore:
        if event not in before.ignore and event in answered(old, before):
            yield compatible(f"states.{before.name}.ignore", f"{event} is now ignored")


def compare_rows(
    where: str, before: Sequence[Row], after: Sequence[Row], still: set[str] | None = None
) -> Iterator[Change]:
    """Yield the rows that came, went or changed; if it is said, only of events still answered."""
    events = dict.fromkeys(row.event for row in (*before, *after))
    for event in events:
        place = f"{where}.{event}" if event else where
        if still is not None and event not in still:
            continue
        one = [row for row in before if row.event == event]
        other = [row for row in after if row.event == event]
        texts = [write_row(row) for row in one], [write_row(row) for row in other]
        if texts[0] != texts[1] and sorted(texts[0]) == sorted(texts[1]):
            yield compatible(place, "its rows are tried in another order")
            continue
        yield from (compatible(place, told) for told in _told_rows(one, other))


def _told_rows(before: list[Row], after: list[Row]) -> Iterator[str]:
    """Say in words what became of the rows of one event, the most alike taken for the same."""
    kept = {write_row(row) for row in before} & {write_row(row) for row in after}
    left = [row for row in before if write_row(row) not in kept]
    came = [row for row in after if write_row(row) not in kept]
    for row in left:
        same = next((other for other in came if other.to == row.to), None)
        same = same or next((other for other in came if _guard(other) == _guard(row)), None)
        if same is None:
            yield f"the row {write_row(row)} is gone"
            continue
        came.remove(same)
        yield _told_row(row, same)
    for row in came:
        yield f"a new row {write_row(row)}"


def _told_row(before: Row, after: Row) -> str:
    parts: list[str] = []
    if before.to != after.to:
        parts.append(f"leads to {_target(after)} instead of {_target(before)}")
    if _guard(before) != _guard(after):
        parts.append(f"is taken {_guard(after)}, before {_guard(before)}")
    for verb, one, other in (
        ("sets", _updates(before), _updates(after)),
        ("asks for", _effects(before), _effects(after)),
        ("notes", _notes(before), _notes(after)),
        ("is", _flags(before), _flags(after)),
    ):
        if one != other:
            parts.append(f"{verb} {other or 'nothing'}, before {one or 'nothing'}")
    label = before.name or f"-> {_target(before)}"
    return f"the row {label} {', '.join(parts)}"


def write_row(row: Row) -> str:
    """Return a row as text, complete enough to tell whether two do the same."""
    parts = [f"-> {_target(row)}", *([] if row.when is None else [_guard(row)])]
    for word, text in (
        ("set", _updates(row)),
        ("do", _effects(row)),
        ("note", _notes(row)),
        ("being", _flags(row)),
    ):
        if text:
            parts.append(f"{word} {text}")
    return " ".join(parts)


def _target(row: Row) -> str:
    return row.to or "stay"


def _guard(row: Row) -> str:
    guard = all_of(conjuncts(row.when))
    return "in any case" if guard is None else f"when {write_expression(guard)}"


def _updates(row: Row) -> str:
    return ", ".join(f"{one.field} = {write_expression(one.value)}" for one in row.updates)


def _effects(row: Row) -> str:
    return ", ".join(map(write_effect, row.effects))


def _notes(row: Row) -> str:
    return ", ".join(map(write_expression, row.noted))


def _flags(row: Row) -> str:
    flags = {"touch": row.touch, "late": row.late, "restart timer": row.restart_timer}
    return ", ".join(name for name, is_set in flags.items() if is_set)


def write_effect(effect: Effect) -> str:
    """Return an effect as text, with its payload and what its result raises."""
    parts = [f"{effect.intent}({_arguments(effect.arguments)})"]
    parts += [f"done {effect.done}"] if effect.done else []
    parts += [f"failed {effect.failed}"] if effect.failed else []
    if effect.retry is not None:
        within = effect.retry.within
        span = "" if within is None else f" in {format_duration(within)}"
        parts.append(f"retry {effect.retry.attempts}{span}")
    parts += [] if effect.timeout is None else [f"timeout {format_duration(effect.timeout)}"]
    parts += ["cancelled on exit"] if effect.cancel_on_exit else []
    return " ".join(parts)


def _arguments(arguments: Iterable[Argument]) -> str:
    return ", ".join(f"{one.name}: {write_expression(one.value)}" for one in arguments)


def _write_timer(timer: Timer) -> str:
    payload = f"({_arguments(timer.arguments)})" if timer.arguments else ""
    words = [format_duration(timer.after), "for", (timer.event or "a notice") + payload]
    words += ["repeatedly"] if timer.repeat else []
    words += ["once"] if timer.once else []
    return " ".join(words)


def _write_hook(hook: Hook) -> str:
    said_apart = {"route", "gate", "mark", "label"}
    parts = [f"{'gate' if hook.gate else 'effect'} {hook.route}"]
    for name in hook.__struct_fields__:
        value: object = getattr(hook, name)
        if name not in said_apart and value not in (None, False, "enter", "all", 0):
            parts.append(f"{name}={as_plain(value)}")
    return " ".join(parts)


def _write_rule(rule: Rule) -> str:
    words = [f"on {rule.via}:" if rule.via else "always:", ", ".join(rule.params) or "no params"]
    words += [f"then {rule.done}"] if rule.done else []
    words += [f"or {rule.failed}"] if rule.failed else []
    return " ".join(words)


def _compare_texts(
    where: str, before: Iterable[str], after: Iterable[str], verb: str, hint: str = ""
) -> Iterator[Change]:
    one, other = list(before), list(after)
    if sorted(one) == sorted(other):
        if one != other:
            yield compatible(where, f"{verb} the same in another order")
        return
    gone = [text for text in one if text not in other]
    came = [text for text in other if text not in one]
    for old, new in zip_longest(gone, came):
        if old is None or new is None:
            message = f"now {verb} {new}" if old is None else f"no longer {verb} {old}"
        else:
            message = f"{verb} {new}, before {old}"
        yield compatible(where, message, hint)


def _compare_marks(where: str, before: State, after: State, *, mapped: bool) -> Iterator[Change]:
    if before.end is None and after.end is not None and not mapped:
        message = (
            f"{after.name} is an end now: instances that rest there end when they are migrated"
        )
        yield needs_map(f"{where}.end", message, "map the state to one that goes on")
    elif before.end != after.end:
        message = f"end is {shown(after.end)}, before {shown(before.end)}"
        yield compatible(f"{where}.end", message, "ended instances stay as they ended")
    for name in ("kind", "recoverable", "required", "category"):
        one, other = getattr(before, name), getattr(after, name)
        if one != other:
            yield compatible(f"{where}.{name}", f"{name} is {_words(other)}, before {_words(one)}")
    rules = [rule.text for rule in before.requirements], [rule.text for rule in after.requirements]
    yield from _compare_texts(f"{where}.requirements", *rules, "requires")


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "nothing"  # pyright: ignore[reportUnknownArgumentType]
    return "not said" if value is None or value == "" else str(value)
