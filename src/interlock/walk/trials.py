"""What is worth trying: payloads and first contexts that guards tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, Struct

from interlock.contract.data import is_required
from interlock.contract.expression.evaluate import compile_expression
from interlock.contract.expression.expr import (
    Call,
    Compare,
    Const,
    EventField,
    Expr,
    Malformed,
    Name,
    event_fields_in,
    names_in,
)
from interlock.contract.expression.operators import EXACT, TypeClash
from interlock.contract.expression.values import JSON, Type, write_json
from interlock.contract.model import all_rows
from interlock.contract.tables import scope_of
from interlock.walk.conditions import before, conditions_of, deciding_fields, later_conditions
from interlock.walk.samples import (
    NEW_YEAR,
    SECOND,
    blended,
    crossing,
    fitting,
    measure,
    near,
    of_length,
    texts_matching,
    values_of,
)

if TYPE_CHECKING:
    from interlock.contract.expression.scope import Run, Scope
    from interlock.contract.model import Contract, Event, Row

MAX_PAYLOADS = 48
MAX_VALUES = 8
MAX_BLENDS = 400
MAX_STAKES = 60
ROUNDS = 3

Data = Mapping[str, Any]
Payload = dict[str, Any]
Field = Name | EventField
_NUMBERS = (10, 100, 1_000, 1_000_000, -1)


class _Stake(NamedTuple):
    """What a condition has to do with one field: values to try, and whether it holds for one."""

    suggest: Callable[[Data, Data], Iterable[object]]
    judge: Callable[[Data, Data, object], object]
    reads: tuple[str, ...]


class _Slot(NamedTuple):
    """A field of a payload or of a first context, with the conditions it has a part in."""

    name: str
    type: Type
    optional: bool
    stakes: tuple[_Stake, ...]


class Trials(Struct, frozen=True):
    """A contract's conditions, seen from the fields that decide them.

    Contexts that are equal in the fields of `matter` are answered alike.
    """

    slots: dict[str, tuple[_Slot, ...]]
    given: tuple[_Slot, ...]
    matter: tuple[str, ...]
    defaults: dict[str, Any]
    known: dict[tuple[str, ...], list[Payload | None]]


def prepare_trials(contract: Contract, aims: tuple[Row, ...] = ()) -> Trials:
    """Read the conditions of every row of a contract.

    Payloads bring what only later events are asked for, by being merged or by being compared
    with their payloads, where there are rows to aim at.
    """
    rows = all_rows(contract)
    later = later_conditions(contract, aims)
    slots = {
        name: _event_slots(
            contract, event, [row for row in rows if row.event == name], later, wide=bool(aims)
        )
        for name, event in contract.events.items()
    }
    given = _given_slots(contract, rows, later)
    return Trials(slots, given, deciding_fields(contract), contract.tables.defaults, {})


def payloads(trials: Trials, event: str, context: Data) -> list[Payload | None]:
    """Return payloads of an event that guards tell apart in a context, the plainest first."""
    slots = trials.slots.get(event, ())
    reads = dict.fromkeys(name for slot in slots for one in slot.stakes for name in one.reads)
    key = (event, *(write_json(context.get(name)) for name in reads))
    found = trials.known.get(key)
    if found is None:
        found = trials.known[key] = [one or None for one in _combine(slots, context, {})]
    return found


def first_contexts(trials: Trials) -> list[Payload]:
    """Return what may be given to a new instance: first as little as possible, then variations."""
    return _combine(trials.given, trials.defaults, trials.defaults)


def _event_slots(
    contract: Contract, event: Event, rows: list[Row], later: list[Expr], *, wide: bool
) -> tuple[_Slot, ...]:
    scope = scope_of(contract, event)
    now = conditions_of(rows)
    own = dict.fromkeys([*now, *(before(atom, row) for row in rows for atom in later)])
    merged = dict.fromkeys([*now, *(later if wide else ())]) if contract.merge else {}
    types = {field.name: field.type for field in event.fields}
    optional = {field.name for field in event.fields if not is_required(field)}
    if event.open:
        extra = [name for atom in own for name in event_fields_in(atom)]
        extra += [name for atom in merged for name in names_in(atom)]
        names = [name for name in extra if name not in types and name not in contract.owned]
        types |= {name: _type_in_context(contract, name) for name in names}
        optional |= set(names)
    stakes = {
        name: [
            *(stake for atom in own for stake in _stake(EventField(name), atom, scope)),
            *(stake for atom in merged for stake in _stake(Name(name), atom, scope)),
        ]
        for name in types
    }
    return tuple(
        _Slot(name, type_, name in optional, tuple(stakes[name][:MAX_STAKES]))
        for name, type_ in types.items()
    )


def _type_in_context(contract: Contract, name: str) -> Type:
    field = contract.context.get(name)
    return JSON if field is None or not contract.merge else field.type


def _given_slots(contract: Contract, rows: tuple[Row, ...], later: list[Expr]) -> tuple[_Slot, ...]:
    """Return the context fields that only the creator of an instance decides."""
    updated = {update.field for row in rows for update in row.updates}
    scope = scope_of(contract)
    slots: list[_Slot] = []
    for name, field in contract.context.items():
        stakes = [stake for atom in later for stake in _stake(Name(name), atom, scope)]
        is_free = name not in updated and stakes
        if field.default is UNSET or is_free:
            slots.append(_Slot(name, field.type, field.default is not UNSET, tuple(stakes)))
    return tuple(slots)


def _reads(expr: Expr, field: Field) -> bool:
    return field.name in (names_in if isinstance(field, Name) else event_fields_in)(expr)


def _stake(field: Field, atom: Expr, scope: Scope) -> list[_Stake]:
    """Return what an atom has to do with a field; nothing where it does not read it."""
    if not _reads(atom, field):
        return []
    try:
        holds = compile_expression(atom, scope).run
        suggest = _suggestions(field, atom, scope)
    except Malformed:
        return []

    def judge(c: Data, e: Data, value: object) -> object:
        return _value(holds, *_put(field, value, c, e))

    return [_Stake(suggest, judge, names_in(atom))]


def _suggestions(
    field: Field, atom: Expr, scope: Scope
) -> Callable[[Data, Data], Iterable[object]]:
    match atom:
        case Call(function="matches", arguments=(_, Const(value=str() as pattern))):
            texts = texts_matching(pattern)
            return lambda _c, _e: texts
        case Compare(op="in" | "not in", left=left, right=right) if _reads(left, field):
            many = compile_expression(right, scope).run
            return lambda c, e: [one for item in _items(many, c, e) for one in near(item)]
        case Compare(op="in" | "not in", left=left):
            single = compile_expression(left, scope).run
            return lambda c, e: [[value] for value in _value(single, c, e)]
        case Compare(left=left, right=right):
            beside = _beside(field, left, right, scope)
            meeting = _meeting(field, left, right, scope)
            return lambda c, e: [*beside(c, e), *meeting(c, e)]
        case Name() | EventField():
            return lambda _c, _e: (True, False)
        case _:
            return lambda _c, _e: ()


def _beside(
    field: Field, left: Expr, right: Expr, scope: Scope
) -> Callable[[Data, Data], list[object]]:
    """Suggest what stands on the other side of a comparison, and what lies just beside it."""
    own, other = (left, right) if _reads(left, field) else (right, left)
    if _reads(other, field):
        return lambda _c, _e: []
    rival = compile_expression(other, scope).run
    around = of_length if isinstance(own, Call) and own.function == "len" else near
    return lambda c, e: [one for value in _value(rival, c, e) for one in around(value)]


def _meeting(
    field: Field, left: Expr, right: Expr, scope: Scope
) -> Callable[[Data, Data], Iterable[object]]:
    """Suggest where both sides are equal, as far as they are straight lines."""
    sides = compile_expression(left, scope).run, compile_expression(right, scope).run

    def height(c: Data, e: Data, probe: object) -> Decimal | None:
        placed = _put(field, probe, c, e)
        found = [measure(value) for side in sides for value in _value(side, *placed)]
        match found:
            case [Decimal() as one, Decimal() as other]:
                return EXACT.subtract(one, other)
            case _:
                return None

    def suggest(c: Data, e: Data) -> Iterable[object]:
        for low, high in ((1, 2), (SECOND, 2 * SECOND), (NEW_YEAR, NEW_YEAR + SECOND)):
            at_low, at_high = height(c, e, low), height(c, e, high)
            if at_low is not None and at_high is not None and at_low != at_high:
                yield from crossing((low, at_low), (high, at_high))

    return suggest


def _put(field: Field, value: object, c: Data, e: Data) -> tuple[Data, Data]:
    """Return the data with a field set, or left out where the value is `UNSET`."""
    name = field.name
    if isinstance(field, Name):
        return (c if value is UNSET else {**c, name: value}), e
    rest = {other: kept for other, kept in e.items() if other != name}
    return c, rest if value is UNSET else {**rest, name: value}


def _value(run: Run, c: Data, e: Data) -> list[Any]:
    """Return what an expression comes to, in a list; an empty one where that is nothing."""
    try:
        value = run(c, e)
    except (TypeClash, ArithmeticError, LookupError, TypeError):
        return []
    return [] if value is None else [value]


def _items(run: Run, c: Data, e: Data) -> list[object]:
    found = _value(run, c, e)
    return list(found[0]) if found and isinstance(found[0], list | tuple) else []  # pyright: ignore[reportUnknownArgumentType]


def _combine(slots: tuple[_Slot, ...], context: Data, base: Data) -> list[Payload]:
    """Return combinations of the slots' values; where there are too many, few changes first."""
    plain = {slot.name: found[0] for slot in slots if (found := values_of(slot.type))}
    lists = [_choices(slot, context, {**plain, **base}) for slot in slots]
    if not all(lists):
        return []
    size = 1
    for choices in lists:
        size *= len(choices)
    chosen = product(*lists) if size <= MAX_PAYLOADS else _changes(lists)
    return [
        {slot.name: value for slot, value in zip(slots, values, strict=True) if value is not UNSET}
        for values in islice(chosen, MAX_PAYLOADS)
    ]


def _choices(slot: _Slot, context: Data, data: Data) -> list[object]:
    """Return the values to try for a slot, one of those that conditions cannot tell apart."""
    values = values_of(slot.type)
    if not slot.stakes:
        return [UNSET] if slot.optional else values[:1]
    return list(islice(_tell_apart(slot, values, context, data), MAX_VALUES))


def _tell_apart(slot: _Slot, values: list[object], context: Data, data: Data) -> Iterator[object]:
    """Yield values that conditions answer differently: plain, suggested, then like several."""
    suggested = [value for stake in slot.stakes for value in stake.suggest(context, data)]
    more = () if slot.type.kind in {"json", "bool"} else _NUMBERS
    found = fitting(slot.type, [*values[:1], *suggested, *values[1:], *more])
    if slot.optional:
        found.insert(0, UNSET)
    apart: dict[str, object] = {}
    for _ in range(ROUNDS):
        for value in found:
            verdict = write_json([stake.judge(context, data, value) for stake in slot.stakes])
            if verdict not in apart:
                apart[verdict] = value
                yield value
        blends = blended(list(apart.values()), suggested)
        found = fitting(slot.type, islice(blends, MAX_BLENDS))


def _changes(lists: list[list[object]]) -> Iterable[tuple[object, ...]]:
    """Yield the first of each list, then with one of them changed, then with two, then three."""
    first = [choices[0] for choices in lists]
    for count in range(4):
        for places in combinations(range(len(lists)), count):
            for values in product(*(lists[place][1:] for place in places)):
                changed = first.copy()
                for place, value in zip(places, values, strict=True):
                    changed[place] = value
                yield tuple(changed)
