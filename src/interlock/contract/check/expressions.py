"""Types: that guards are conditions, and that what is set fits the fields it is set to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from interlock.contract.check.places import Asked, Placed, moved, placed_effects, state_effects
from interlock.contract.expression.evaluate import compile_condition, compile_expression
from interlock.contract.expression.expr import (
    Choice,
    Const,
    EventField,
    Expr,
    Items,
    Malformed,
    Name,
    children,
    conjuncts,
    write_expression,
)
from interlock.contract.expression.scope import Scope, assignable, presence
from interlock.contract.expression.values import Mismatch, Type, reader, write_type
from interlock.contract.model import Contract, Event, Field, Row, Timer, Update
from interlock.contract.problem import Mark, Problem, did_you_mean, problem
from interlock.contract.tables import row_scope, scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FAULTS = 10


class Fault(NamedTuple):
    """What is wrong with an expression, and at which offset."""

    code: str
    message: str
    hint: str = ""
    at: int = 0


def check_expressions(contract: Contract, rows: tuple[Placed, ...]) -> Iterator[Problem]:
    """Report expressions that cannot be compiled and values that do not fit."""
    yield from _check_fields(contract)
    for placed in rows:
        yield from _check_row(contract, placed)
    outer = scope_of(contract)
    for state in contract.states.values():
        for asked in state_effects(state):
            yield from _check_arguments(asked, outer)
        for index, timer in enumerate(state.timers):
            yield from _check_timer(contract, timer, f"states.{state.name}.after[{index}]")
    for step in contract.migrate:
        for update in step.updates:
            where = f"migrate.{step.version}.set.{update.field}"
            field = contract.context.get(update.field)
            if field is not None and isinstance(update.value, Const):
                yield from _told(_misfits(field, update.value, outer), update.mark, where)


def _check_fields(contract: Contract) -> Iterator[Problem]:
    for field in contract.context.values():
        if field.default is UNSET and not field.type.nullable:
            message = f"the field {field.name!r} has no value when an instance begins"
            hint = "it needs a default (as in `int = 0`) or `| null`"
            where = f"context.{field.name}"
            yield problem("type_error", message, mark=field.mark, where=where, hint=hint)
    if contract.merge and not contract.open:
        for event in contract.events.values():
            yield from _check_merged(contract, event)


def _check_merged(contract: Contract, event: Event) -> Iterator[Problem]:
    """Report payloads that cannot be laid over the context."""
    where = f"events.{event.name}"
    if event.open:
        message = f"{event.name!r} may carry any field, but the context it is laid over may not"
        hint = "declare the fields, or open the context with `'*': json`"
        yield problem("unknown_field", message, mark=event.mark, where=where, hint=hint)
    for field in event.fields:
        own = contract.context.get(field.name)
        place = f"{where}.{field.name}"
        if own is None:
            message = f"the context, which payloads are laid over, has no field {field.name!r}"
            hint = did_you_mean(field.name, contract.context) or "declare it under `context`"
            yield problem("unknown_field", message, mark=field.mark, where=place, hint=hint)
        elif not assignable(own.type, field.type):
            kinds = f"{write_type(field.type)} does not fit {write_type(own.type)}"
            message = f"the payload is laid over the context, where {field.name!r} differs: {kinds}"
            yield problem("type_error", message, mark=field.mark, where=place)


def _check_row(contract: Contract, placed: Placed) -> Iterator[Problem]:
    row, where = placed.row, placed.where
    event = None
    if not placed.always:
        name = str(row.event)
        event = contract.events.get(name) or Event(name=name, open=True)
    scope, inner = scope_of(contract, event), row_scope(contract, event, row)
    yield from _check_guard(row, scope, where)
    for update in row.updates:
        place = f"{where}.set.{update.field}"
        yield from _told(_update_faults(contract, update, inner), update.mark, place)
    for asked in placed_effects(where, "do", row.effects):
        yield from _check_arguments(asked, inner)
    if row.touch:
        yield from _check_touch(contract, row, where)


def _check_guard(row: Row, scope: Scope, where: str) -> Iterator[Problem]:
    for part in conjuncts(row.when):
        found = _faults(part, scope, condition=True)
        if row.when_mark.line:
            yield from _told(found, row.when_mark, f"{where}.when")
        else:
            here = [fault._replace(at=0) for fault in found]
            yield from _told(here, row.mark, f"{where}.when")
    for part in row.noted:
        here = [fault._replace(at=0) for fault in _faults(part, scope, condition=True)]
        yield from _told(here, row.mark, f"{where}.note")


def _check_arguments(asked: Asked, scope: Scope) -> Iterator[Problem]:
    for argument in asked.effect.arguments:
        place = f"{asked.where}.with.{argument.name}"
        yield from _told(_faults(argument.value, scope), argument.mark, place)


def _check_timer(contract: Contract, timer: Timer, where: str) -> Iterator[Problem]:
    """Report a payload that the event of a deadline does not take."""
    scope = scope_of(contract)
    event = contract.events.get(timer.event or "")
    fields = {field.name: field for field in event.fields} if event else {}
    for argument in timer.arguments:
        place = f"{where}.with.{argument.name}"
        found = _faults(argument.value, scope)
        field = fields.get(argument.name)
        if field is not None and not found:
            found = _misfits(field, argument.value, scope)
        elif event is not None and field is None and not event.open:
            near = did_you_mean(argument.name, fields)
            message = f"no field {argument.name!r} in the event {event.name!r}"
            found.append(Fault("unknown_field", message, near))
        yield from _told(found, argument.mark, place)


def _check_touch(contract: Contract, row: Row, where: str) -> Iterator[Problem]:
    if row.to is not None:
        message = "a `touch` row stays: it cannot lead to a state"
        yield problem("bad_value", message, mark=row.mark, where=where, hint="leave `to` out")
    if row.effects:
        message = "a `touch` row emits nothing: it cannot `do` anything"
        yield problem("bad_value", message, mark=row.mark, where=where, hint="leave `do` out")
    for update in row.updates:
        if update.field not in contract.touched:
            message = f"a `touch` row sets {update.field!r}, which is not declared as touched"
            place = f"{where}.set.{update.field}"
            hint = f"list {update.field!r} under `touched`"
            yield problem("unknown_field", message, mark=update.mark, where=place, hint=hint)


def _update_faults(contract: Contract, update: Update, scope: Scope) -> list[Fault]:
    found = _faults(update.value, scope)
    field = contract.context.get(update.field)
    if field is None:
        return found
    if not found:
        return _misfits(field, update.value, scope)
    meant = isinstance(update.value, Name) and field.type.kind in {"str", "enum"}
    if meant and found[0].code == "unknown_field":
        text = write_expression(update.value)
        fits = field.type.kind == "str" or text in field.type.members
        near = f"for the text, write \"'{text}'\"" if fits else found[0].hint
        return [found[0]._replace(hint=near)]
    return found


def _misfits(field: Field, expr: Expr, scope: Scope) -> list[Fault]:
    """Return why an expression that compiles cannot be a field's value."""
    if isinstance(expr, Choice):
        present = scope.present | presence(expr.test)
        inner = Scope(scope.context, scope.event, scope.open_context, scope.open_event, present)
        return [*_misfits(field, expr.then, inner), *_misfits(field, expr.otherwise, scope)]
    value = _constant(expr)
    if value is UNSET:
        source = compile_expression(expr, scope).type
        return [] if assignable(field.type, source) else [_misfit(field, source, expr)]
    try:
        reader(field.type)(value)
    except Mismatch:
        written = write_expression(expr)
        hint = did_you_mean(str(value), list(field.type.members)) if field.type.members else ""
        return [Fault("type_error", f"{_cut(written)} does not fit {_named(field)}", hint, expr.at)]
    return []


def _misfit(field: Field, source: Type, expr: Expr) -> Fault:
    message = f"{write_type(source)} does not fit {_named(field)}"
    hint = ""
    if source.nullable and not field.type.nullable:
        hint = "it may be null: test it with `exists(...)` in the guard, or let the field be null"
    elif field.type.kind == "int" and source.kind == "decimal":
        hint = "declare the field as decimal, or divide with `//`"
    return Fault("type_error", message, hint, expr.at)


def _named(field: Field) -> str:
    return f"the field {field.name!r}, {write_type(field.type)}"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."  # a line's worth


def _constant(expr: Expr) -> object:
    match expr:
        case Const(value=value):
            return value
        case Items(items=items):
            values = tuple(_constant(item) for item in items)
            return UNSET if UNSET in values else values
        case _:
            return UNSET


def _faults(expr: Expr, scope: Scope, *, condition: bool = False) -> list[Fault]:
    """Return what is wrong with an expression: all its unknown fields, or its first type error."""
    unknown = _unknown_fields(expr, scope)
    if unknown:
        return unknown[:MAX_FAULTS]
    try:
        if condition:
            compile_condition(expr, scope)
        else:
            compile_expression(expr, scope)
    except Malformed as reason:
        return [Fault("type_error", reason.message, reason.hint, reason.at)]
    return []


def _unknown_fields(expr: Expr, scope: Scope) -> list[Fault]:
    match expr:
        case Name(name=name, at=at) if name not in scope.context and not scope.open_context:
            near = did_you_mean(name, scope.context)
            if scope.event is not None and name in scope.event:
                near = f"did you mean `event.{name}`?"
            return [Fault("unknown_field", f"no field {name!r} in the context", near, at)]
        case EventField(name=name, at=at):
            if scope.event is None or name in scope.event or scope.open_event:
                return []
            near = did_you_mean(name, scope.event)
            if not near and name in scope.context:
                near = f"the context has one: write `{name}`"
            return [Fault("unknown_field", f"no field {name!r} in the event", near, at)]
        case _:
            return [fault for child in children(expr) for fault in _unknown_fields(child, scope)]


def _told(faults: list[Fault], mark: Mark, where: str) -> Iterator[Problem]:
    for code, message, hint, at in faults:
        yield problem(code, message, mark=moved(mark, at), where=where, hint=hint)
