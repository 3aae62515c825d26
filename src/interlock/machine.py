"""The machine: what a contract makes of an event. Pure, total, without clock or I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from interlock.contract.data import EMPTY, Context, Intent
from interlock.contract.expression.expr import needed_names, write_expression
from interlock.contract.expression.operators import NoValue, TypeClash, in_words
from interlock.contract.expression.scope import values_read
from interlock.contract.expression.values import Mismatch, as_plain, is_list, is_object, shown
from interlock.contract.model import MAX_HOPS
from interlock.contract.outcome import Moved, Refused, Stayed, Tried
from interlock.contract.tables import Detail, Plan, ReadyEffect, ReadyRow, read_context

if TYPE_CHECKING:
    from interlock.contract.model import Contract


class Event(Struct, frozen=True):
    """Something that happened: its name and its payload."""

    name: str
    payload: Mapping[str, Any] | None = None


Outcome = Moved | Stayed | Refused


class _Refusal(Exception):  # carries a code to the edge of a step, never further
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def step(  # noqa: C901, PLR0912  # the frequent path is one function: a call costs as much as a guard
    contract: Contract,
    state: str,
    context: Context | Mapping[str, Any] | None,
    event: object,
) -> Outcome:
    """Return what the contract makes of an event: never raises, never changes its arguments."""
    name: Any = event
    payload: object = None
    if type(event) is not str:
        name, payload = _read_event(event)
        if not isinstance(name, str):
            return _unplanned(contract, state, context, name, payload)
    try:
        plan = contract.tables.plans[state][name]
    except (KeyError, TypeError):
        return _unplanned(contract, state, context, name, payload)
    if type(context) is not Context:
        try:
            context = read_context(contract, context)
        except Mismatch as reason:
            return _refuse("VALIDATION_ERROR", f"context: {reason}", state, context)
    if plan.plain is not None and payload is None:
        target, intents, trail, rows = plan.plain
        return Moved(target, context, intents, trail, rows)
    data: Mapping[str, Any] = EMPTY
    before = context
    try:
        if plan.counted and payload is None and (counted := plan.counted(context)) is not None:
            return counted
        if payload is not None or not plan.bare:
            data = _read_payload(plan, payload)
            before = _merge(contract, context, data) if plan.merge else context
        for guard, change, simple, intents, trail, rows, detail in plan.rows:
            if guard is None or guard(before, data):
                after = before if change is None else change(before, data)
                if simple is not None:
                    return Moved(simple, after, intents, trail, rows)
                return _finish(contract, detail, state, before, after, data)
        return _none_taken(contract, plan, state, context, before, data)
    except (NoValue, TypeClash, Mismatch, ArithmeticError, _Refusal) as reason:
        return _refuse(_code_of(reason), in_words(reason), state, context)
    except (KeyError, TypeError):
        return _step_foreign(contract, state, context, event)


def _step_foreign(contract: Contract, state: str, context: Context, event: object) -> Outcome:
    """Step a context that was made for another contract, once it has been read for this one."""
    try:
        own = read_context(contract, dict(context))
    except Mismatch as reason:
        return _refuse("VALIDATION_ERROR", f"context: {reason}", state, context)
    if own == context:
        return _refuse("EVALUATION_ERROR", "an expression has no value here", state, context)
    return step(contract, state, own, event)


def start(contract: Contract, context: Mapping[str, Any] | None = None) -> Moved | Refused:
    """Return a new instance: the initial state entered, with given context fields over defaults."""
    first = contract.initial
    try:
        fresh = read_context(contract, context)
    except Mismatch as reason:
        return _refuse("VALIDATION_ERROR", f"context: {reason}", first, context)
    try:
        intents = _emit(contract.tables.enter[first], fresh, EMPTY)
        entered = _hop(contract, Moved(first, fresh, intents, (first,)))
    except (NoValue, TypeClash, Mismatch, _Refusal) as reason:
        return _refuse(_code_of(reason), str(reason), first, fresh)
    return Moved(*(getattr(entered, name) for name in Moved.__struct_fields__))


def _read_event(event: object) -> tuple[Any, object]:
    if type(event) is Event:
        return event.name, event.payload
    if is_object(event) and len(event) == 1:
        return next(iter(event.items()))
    if is_list(event) and len(event) == 2:
        return event[0], event[1]
    return event, None


def _code_of(reason: Exception) -> str:
    match reason:
        case _Refusal(code=code):
            return code
        case TypeClash():
            return "GUARD_TYPE_ERROR"
        case Mismatch():
            return "UPDATE_TYPE"
        case _:
            return "EVALUATION_ERROR"


def _read_payload(plan: Plan, payload: object) -> Mapping[str, Any]:
    try:
        if plan.read is not None:
            return plan.read(payload)
        if payload is None or (isinstance(payload, Mapping) and not payload):
            return EMPTY
    except Mismatch as reason:
        raise _Refusal("VALIDATION_ERROR", str(reason)) from None
    raise _Refusal("VALIDATION_ERROR", f"{plan.event} carries no payload")


def _merge(contract: Contract, context: Context, data: Mapping[str, Any]) -> Context:
    """Lay the payload over the context; what the machine owns stays as it is."""
    inner = data.get("payload")
    lifted = cast("Mapping[str, Any]", inner) if is_object(inner) else EMPTY
    merged = context.copy()
    for name, value in {**lifted, **data}.items():
        if name not in contract.owned:
            merged[name] = _fit(contract, name, value)
    return Context(merged)


def _fit(contract: Contract, name: str, value: object) -> object:
    """Read a merged value by the type its context field has; untyped data was read before."""
    field = contract.context.get(name)
    if field is None or field.type.kind == "json":
        return value
    try:
        return contract.tables.readers[name](value)
    except Mismatch as reason:
        raise _Refusal("VALIDATION_ERROR", f"{name}: {reason}") from None


def _finish(
    contract: Contract,
    detail: Detail,
    state: str,
    context: Context,
    after: Context,
    data: Mapping[str, Any],
) -> Outcome:
    intents = _emit(detail.effects, after, data)
    notes = _notes(detail, context, data) if detail.noted else ()
    target, rows = detail.target, (detail.row,)
    outcome = (
        Stayed(state, after, intents, (), rows, notes)
        if target is None
        else Moved(target, after, intents, (target,), rows, notes)
    )
    return _hop(contract, outcome) if detail.hops else outcome


def _emit(
    effects: tuple[ReadyEffect, ...], context: Context, data: Mapping[str, Any]
) -> tuple[Intent, ...]:
    intents: list[Intent] = []
    for constant, effect, arguments in effects:
        if constant is not None:
            intents.append(constant)
            continue
        try:
            payload = Context({name: run(context, data) for name, run in arguments})
        except (TypeClash, ArithmeticError, Mismatch) as reason:
            raise NoValue(f"{effect.intent}: {in_words(reason)}") from None
        intents.append(Intent(effect.intent, payload, effect))
    return tuple(intents)


def _hop(contract: Contract, outcome: Moved | Stayed) -> Moved | Stayed:
    """Take `always` rows at once until none holds; the whole step is one outcome."""
    always = contract.tables.always
    state, context = outcome.state, outcome.context
    intents, trail, rows = outcome.intents, outcome.trail, outcome.rows
    for _ in range(MAX_HOPS + 1):
        ready = _first_holding(always.get(state, ()), context)
        if ready is None:
            break
        if len(trail) - len(outcome.trail) == MAX_HOPS:
            raise _Refusal("HOP_LIMIT", f"more than {MAX_HOPS} `always` rows in one step")
        context = context if ready.change is None else ready.change(context, EMPTY)
        intents += _emit(ready.detail.effects, context, EMPTY)
        rows += ready.rows
        state = ready.detail.target or state
        trail += (state,)
    if len(rows) == len(outcome.rows):
        return outcome
    return Moved(state, context, intents, trail, rows, outcome.notes)


def _first_holding(rows: tuple[ReadyRow, ...], context: Context) -> ReadyRow | None:
    for ready in rows:
        try:
            if ready.guard is None or ready.guard(context, EMPTY):
                return ready
        except ArithmeticError as reason:
            raise NoValue(in_words(reason)) from None
    return None


def _notes(detail: Detail, context: Context, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the noted conditions that did not hold; they block nothing."""
    missed: list[str] = []
    for text, run in detail.noted:
        try:
            if not run(context, data):
                missed.append(text)
        except (TypeClash, ArithmeticError):
            missed.append(text)
    return tuple(missed)


def _refuse(code: str, message: str, state: object, context: object) -> Refused:
    kept: Mapping[str, Any] = context if isinstance(context, Mapping) else EMPTY  # pyright: ignore[reportUnknownVariableType]
    named = state[:200] if isinstance(state, str) else shown(state)
    return Refused(code=code, message=message, state=named, context=kept)


def _unplanned(
    contract: Contract, state: Any, context: Any, name: object, payload: object
) -> Outcome:
    """Step an event named by its code, or say why there is no row for it."""
    code = name if isinstance(name, str) else str(name) if _is_small(name) else ""
    coded = contract.tables.codes.get(code)
    if coded is not None and name not in contract.events:
        return step(contract, state, context, (coded, payload))
    known = isinstance(name, str) and (name in contract.events or name in contract.internal)
    if not known:
        return _refuse(
            "UNKNOWN_EVENT", f"the contract lists no event {shown(name)}", state, context
        )
    if not isinstance(state, str) or state not in contract.states:
        message = f"there is no state {shown(state)}"
        return _refuse("INVALID_TRANSITION", message, state, context)
    if name in contract.internal:
        message = f"{shown(name)} is taken by the machine itself, never sent"
        return _refuse("INVALID_TRANSITION", message, state, context)
    ended = " (it has ended)" if contract.states[state].end else ""
    message = f"{state}{ended} has no row for {shown(name)}"
    return _refuse("INVALID_TRANSITION", message, state, context)


def _is_small(number: object) -> bool:
    """Tell whether a value is an integer short enough to be a code."""
    return type(number) is int and number.bit_length() < 64


def _none_taken(
    contract: Contract,
    plan: Plan,
    state: str,
    context: Context,
    before: Context,
    data: Mapping[str, Any],
) -> Stayed | Refused:
    """Say which guards failed on which values; an event without rows here is ignored on purpose."""
    if not plan.rows:
        return Stayed(state, context)
    tried: list[Tried] = []
    code = "GUARD_FAILED"
    for ready in plan.rows:
        failed = next(expr for expr, run in ready.detail.conditions if not run(before, data))
        if contract.strict and any(name not in before for name in needed_names(failed)):
            code = "GUARD_FIELD_UNDEFINED"
        seen = {name: as_plain(value) for name, value in values_read(failed, before, data).items()}
        row = ready.detail.row
        label = row.name or f"{plan.event} -> {row.to or 'stay'}"
        tried.append(Tried(label, write_expression(failed), seen))
    message = "; ".join(f"{one.guard} does not hold" for one in tried[:3])
    return Refused(code=code, message=message, state=state, context=context, tried=tuple(tried))
