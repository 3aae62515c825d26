"""A contract made ready to step: its rows as functions, looked up by state and event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, Struct

from interlock.contract.counted import Counted, counted_row
from interlock.contract.data import (
    EMPTY,
    Context,
    Intent,
    PayloadReader,
    as_mapping,
    is_required,
    payload_reader,
    read_named,
    read_undeclared,
)
from interlock.contract.expression.evaluate import compile_condition, compile_expression
from interlock.contract.expression.expr import (
    Const,
    Expr,
    conjuncts,
    write_expression,
)
from interlock.contract.expression.operators import NoValue, TypeClash, in_words
from interlock.contract.expression.scope import Run, Scope, Typed, presence
from interlock.contract.expression.values import Mismatch, Type, read_json, reader
from interlock.contract.model import Effect, Row, State, rows_by_event

if TYPE_CHECKING:
    from interlock.contract.model import Contract, Event

Change = Callable[["Context", Mapping[str, Any]], "Context"]


class ReadyUpdate(NamedTuple):
    """A field, the function of its new value, and the reader that checks it."""

    field: str
    run: Run
    accept: Callable[[object], object] | None


class ReadyEffect(NamedTuple):
    """An intent that is the same each time, or the functions of its payload."""

    constant: Intent | None
    effect: Effect
    arguments: tuple[tuple[str, Run], ...]


class Detail(Struct, frozen=True):
    """What a row needs beyond the frequent case: for hops, computed payloads and refusals."""

    row: Row
    target: str | None
    conditions: tuple[tuple[Expr, Run], ...]
    noted: tuple[tuple[str, Run], ...]
    effects: tuple[ReadyEffect, ...]
    hops: bool


class ReadyRow(NamedTuple):
    """A row as functions: a tuple, since unpacking it is the fastest way to what a step needs."""

    guard: Run | None
    change: Change | None
    simple: str | None
    intents: tuple[Intent, ...]
    trail: tuple[str, ...]
    rows: tuple[Row, ...]
    detail: Detail


class Plan(Struct, frozen=True):
    """All a state does about one event."""

    event: str
    rows: tuple[ReadyRow, ...]
    read: PayloadReader | None
    merge: bool = False
    bare: bool = False
    plain: tuple[str, tuple[Intent, ...], tuple[str, ...], tuple[Row, ...]] | None = None
    counted: Counted | None = None


class Tables(Struct, frozen=True):
    """Everything the machine looks up."""

    plans: dict[str, dict[str, Plan]]
    always: dict[str, tuple[ReadyRow, ...]]
    enter: dict[str, tuple[ReadyEffect, ...]]
    readers: dict[str, Callable[[object], object]]
    defaults: dict[str, object]
    codes: dict[str, str]


def scope_of(contract: Contract, event: Event | None = None) -> Scope:
    """Return what the expressions of a contract may read, with or without an event."""
    return Scope(
        context={name: field.type for name, field in contract.context.items()},
        event=None if event is None else {field.name: field.type for field in event.fields},
        open_context=contract.open,
        open_event=event is not None and event.open,
    )


def row_scope(contract: Contract, event: Event | None, row: Row) -> Scope:
    """Return the scope of a row's updates, where its guard is known to hold."""
    scope = scope_of(contract, event)
    return Scope(
        scope.context, scope.event, scope.open_context, scope.open_event, presence(row.when)
    )


def build_tables(contract: Contract) -> Tables:
    """Compile every row of a contract; raises `Malformed` for one that cannot be."""
    return Tables(
        plans={state.name: _plans(contract, state) for state in contract.states.values()},
        always={
            state.name: tuple(ready_row(contract, state, None, row) for row in state.always)
            for state in contract.states.values()
            if state.always
        },
        enter={
            state.name: _ready_effects(state.enter, scope_of(contract))
            for state in contract.states.values()
        },
        readers={name: reader(field.type) for name, field in contract.context.items()},
        defaults={
            name: field.default
            for name, field in contract.context.items()
            if field.default is not UNSET
        },
        codes={str(one.code): one.name for one in contract.events.values() if one.code is not None},
    )


def _plans(contract: Contract, state: State) -> dict[str, Plan]:
    rows_of: dict[str, tuple[Row, ...]] = dict.fromkeys(state.ignore, ())
    return {
        name: _plan(contract, state, name, rows)
        for name, rows in (rows_of | rows_by_event(contract, state)).items()
    }


def _plan(contract: Contract, state: State, name: str, rows: tuple[Row, ...]) -> Plan:
    event = contract.events.get(name)
    ready = tuple(ready_row(contract, state, event, row) for row in rows)
    read = payload_reader(event)
    return Plan(
        event=name,
        rows=ready,
        read=read,
        merge=contract.merge,
        bare=read is None and not contract.merge,
        plain=_plain(contract, event, ready[0]) if ready else None,
        counted=counted_row(contract, ready[0]) if ready and _is_bare(contract, event) else None,
    )


def _is_bare(contract: Contract, event: Event | None) -> bool:
    """Tell whether an event may come without a payload and changes no context by itself."""
    demanding = event is not None and any(map(is_required, event.fields))
    return not demanding and not contract.merge


def _plain(
    contract: Contract, event: Event | None, first: ReadyRow
) -> tuple[str, tuple[Intent, ...], tuple[str, ...], tuple[Row, ...]] | None:
    """Return the parts of the outcome where they are the same each time."""
    if not _is_bare(contract, event) or first.guard or first.change or first.simple is None:
        return None
    return first.simple, first.intents, first.trail, first.rows


def ready_row(contract: Contract, state: State, event: Event | None, row: Row) -> ReadyRow:
    """Compile one row."""
    scope = scope_of(contract, event)
    inner = row_scope(contract, event, row)
    target = None if row.to is None else contract.states.get(row.to)
    effects = _ready_effects(row.effects, inner)
    if target is not None:
        outer = scope_of(contract)
        effects = (
            *_ready_effects(state.exit, outer),
            *effects,
            *_ready_effects(target.enter, outer),
        )
    constants = tuple(effect.constant for effect in effects if effect.constant is not None)
    hops = bool((target or state).always)
    is_simple = len(constants) == len(effects) and not row.noted and not hops
    return ReadyRow(
        guard=None if row.when is None else compile_condition(row.when, scope),
        change=_ready_change(
            tuple(
                _ready_update(contract, update.field, update.value, inner) for update in row.updates
            )
        ),
        simple=row.to if is_simple else None,
        intents=constants,
        trail=() if row.to is None else (row.to,),
        rows=(row,),
        detail=Detail(
            row=row,
            target=row.to,
            conditions=tuple(
                (part, compile_condition(part, scope)) for part in conjuncts(row.when)
            ),
            noted=tuple(
                (write_expression(part), compile_condition(part, scope)) for part in row.noted
            ),
            effects=effects,
            hops=hops,
        ),
    )


def _ready_update(contract: Contract, name: str, value: Expr, scope: Scope) -> ReadyUpdate:
    typed = compile_expression(value, scope)
    type_, run = typed.type, typed.run
    field = contract.context.get(name)
    if field is None:
        return ReadyUpdate(name, run, read_json)
    if isinstance(value, Const):
        fitting = Const(reader(field.type)(value.value))
        return ReadyUpdate(name, compile_expression(fitting, scope).run, None)
    return ReadyUpdate(name, run, None if _is_safe(field.type, type_) else reader(field.type))


def _ready_change(updates: tuple[ReadyUpdate, ...]) -> Change | None:
    """Return the function that makes the new context; every value is computed from the old one."""
    if not updates:
        return None

    def change(context: Context, data: Mapping[str, Any]) -> Context:
        after = context.copy()
        for name, run, accept in updates:
            try:
                value = run(context, data)
                after[name] = value if accept is None else accept(value)
            except Mismatch as reason:
                raise Mismatch(f"set {name}: {reason}") from None
            except (TypeClash, ArithmeticError) as reason:
                raise NoValue(f"set {name}: {in_words(reason)}") from None
        return Context(after)

    return change


def _is_safe(target: Type, source: Type) -> bool:
    """Tell whether a computed value needs no check, since it was checked where it came from."""
    unbounded = target.kind in {"bool", "time", "duration"} and not target.nullable
    return unbounded and target.kind == source.kind and not source.nullable


def _ready_effects(effects: tuple[Effect, ...], scope: Scope) -> tuple[ReadyEffect, ...]:
    ready: list[ReadyEffect] = []
    for effect in effects:
        arguments = tuple(
            (argument.name, _checked(compile_expression(argument.value, scope)))
            for argument in effect.arguments
        )
        constant: Intent | None = None
        if all(isinstance(argument.value, Const) for argument in effect.arguments):
            payload = Context({name: run(EMPTY, EMPTY) for name, run in arguments})
            constant = Intent(effect.intent, payload, effect)
        ready.append(ReadyEffect(constant, effect, arguments))
    return tuple(ready)


def _checked(typed: Typed) -> Run:
    """Return the function of a payload's field, refusing a number that cannot be kept."""
    run = typed.run
    if typed.type.kind not in {"int", "decimal", "json"}:
        return run
    read = reader(Type(typed.type.kind, nullable=True))
    return lambda c, e: read(run(c, e))


def read_context(contract: Contract, data: object) -> Context:
    """Read stored or given data into a context, or raise `Mismatch`."""
    tables = contract.tables
    given = as_mapping(data)
    values: dict[str, Any] = dict(tables.defaults)
    for name, value in given.items():
        read_field = tables.readers.get(name)
        if read_field is None:
            if not contract.open:
                raise Mismatch(f"the context has no field {name[:60]!r}")
            read_field = read_undeclared(name)
        values[name] = read_named(name, read_field, value)
    if len(values) < len(tables.readers) or not tables.readers.keys() <= values.keys():
        lacking = next(name for name in tables.readers if name not in values)
        raise Mismatch(f"the context lacks {lacking!r}")
    return Context(values)
