"""The tree that every form of a contract is read into."""

from __future__ import annotations

from datetime import timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, cast, get_args

import msgspec
from msgspec import UNSET, Struct

from interlock.contract.expression.declare import write_declaration
from interlock.contract.expression.expr import Const, Expr, all_of, conjuncts, write_expression
from interlock.contract.expression.values import Type, as_plain, decode_json, is_list, is_object
from interlock.contract.problem import NOWHERE, Mark

if TYPE_CHECKING:
    from interlock.contract.tables import Tables

StateKind = Literal["initial", "operational", "snapshot", "success", "error", "terminal"]
End = Literal["ok", "error"]
Advancer = Literal["consumer", "engine"]
HookOn = Literal["enter", "exit"]
AckMode = Literal["all", "any"]
STATE_KINDS: tuple[StateKind, ...] = get_args(StateKind)
ENDS: tuple[End, ...] = get_args(End)
ADVANCERS: tuple[Advancer, ...] = get_args(Advancer)
HOOK_ON: tuple[HookOn, ...] = get_args(HookOn)
ACK_MODES: tuple[AckMode, ...] = get_args(AckMode)
ANY = "*"
MAX_HOPS = 16


class Field(Struct, frozen=True, kw_only=True):
    """A declared piece of data: of the context, or of an event's payload."""

    name: str
    type: Type
    default: object = UNSET
    mark: Mark = NOWHERE


class Event(Struct, frozen=True, kw_only=True):
    """Something that may happen to an instance, with the types of its payload."""

    name: str
    fields: tuple[Field, ...] = ()
    open: bool = False
    code: int | None = None
    text: str = ""
    mark: Mark = NOWHERE


class Update(Struct, frozen=True):
    """A context field and the expression of its new value."""

    field: str
    value: Expr
    mark: Mark = NOWHERE


class Argument(Struct, frozen=True):
    """A field of an intent's payload and the expression of its value."""

    name: str
    value: Expr
    mark: Mark = NOWHERE


class Retry(Struct, frozen=True):
    """How often an effect is tried, and within what time at most."""

    attempts: int
    within: timedelta | None = None


class Effect(Struct, frozen=True, kw_only=True):
    """A side effect to ask for: the intent's name, its payload, and the events of its result."""

    intent: str
    arguments: tuple[Argument, ...] = ()
    done: str | None = None
    failed: str | None = None
    retry: Retry | None = None
    timeout: timedelta | None = None
    cancel_on_exit: bool = False
    label: str = ""
    mark: Mark = NOWHERE


class Row(Struct, frozen=True, kw_only=True):
    """One answer to an event in a state: where to go, if the guard holds, and what to change."""

    event: str | None
    to: str | None = None
    when: Expr | None = None
    noted: tuple[Expr, ...] = ()
    updates: tuple[Update, ...] = ()
    effects: tuple[Effect, ...] = ()
    priority: int = 0
    otherwise: bool = False
    touch: bool = False
    late: bool = False
    restart_timer: bool = False
    name: str = ""
    text: str = ""
    mark: Mark = NOWHERE
    when_mark: Mark = NOWHERE

    def __repr__(self) -> str:
        """Show which row it is."""
        name = f" {self.name}" if self.name else ""
        return f"<Row{name} {self.event or 'always'} -> {self.to or 'stay'}>"


class Timer(Struct, frozen=True, kw_only=True):
    """A deadline of a stay: after so long raise an event, or only a notice."""

    after: timedelta
    event: str | None = None
    arguments: tuple[Argument, ...] = ()
    repeat: bool = False
    once: bool = False
    notice: str = ""
    mark: Mark = NOWHERE


class Hook(Struct, frozen=True, kw_only=True):
    """A work item that entering (or leaving) a state hands to consumers."""

    route: str
    gate: bool = False
    via: str | None = None
    on: HookOn = "enter"
    order: int = 0
    group: str | None = None
    ack_mode: AckMode = "all"
    params: tuple[str, ...] | None = None
    done: str | None = None
    failed: str | None = None
    not_before: timedelta | None = None
    deadline: timedelta | None = None
    always: bool = False
    label: str = ""
    mark: Mark = NOWHERE


class Rule(Struct, frozen=True, kw_only=True):
    """What consumers are told on entering a state: parameter sets and the next events."""

    via: str | None = None
    params: tuple[str, ...] = ()
    done: str | None = None
    failed: str | None = None
    mark: Mark = NOWHERE


class Requirement(Struct, frozen=True):
    """A validation rule of a state, kept as its text and checked by the effect that validates."""

    text: str
    mark: Mark = NOWHERE


class State(Struct, frozen=True, kw_only=True):
    """One state: its rows and what happens on entering, leaving and staying."""

    name: str
    rows: tuple[Row, ...] = ()
    always: tuple[Row, ...] = ()
    enter: tuple[Effect, ...] = ()
    exit: tuple[Effect, ...] = ()
    timers: tuple[Timer, ...] = ()
    hooks: tuple[Hook, ...] = ()
    rules: tuple[Rule, ...] = ()
    ignore: tuple[str, ...] = ()
    end: End | None = None
    kind: StateKind | None = None
    recoverable: bool | None = None
    required: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    category: str = ""
    text: str = ""
    mark: Mark = NOWHERE


class Param(Struct, frozen=True):
    """A named parameter set, its data kept byte for byte."""

    code: str
    data: bytes
    mark: Mark = NOWHERE


class Migration(Struct, frozen=True, kw_only=True):
    """How instances of an older version fit this one: their states and changed fields."""

    version: str
    states: dict[str, str] = {}
    updates: tuple[Update, ...] = ()
    mark: Mark = NOWHERE


class Play(Struct, frozen=True, kw_only=True):
    """A test of the contract: events to play from a given state, and what must come out."""

    name: str = ""
    state: str | None = None
    context: dict[str, object] = {}
    events: tuple[tuple[str, object], ...] = ()
    expect: str | None = None
    expect_context: dict[str, object] = {}
    intents: tuple[str, ...] | None = None
    outcomes: tuple[str, ...] | None = None
    mark: Mark = NOWHERE


class Contract(Struct, frozen=True, kw_only=True, dict=True):
    """A lifecycle as declared, whatever form it was declared in."""

    name: str
    version: str = "1"
    initial: str
    states: dict[str, State]
    events: dict[str, Event] = {}
    any: tuple[Row, ...] = ()
    context: dict[str, Field] = {}
    open: bool = False
    merge: bool = False
    strict: bool = False
    owned: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    on_error: str | None = None
    keep_refused_first: bool = False
    require_consumer: bool = False
    ack_gate: bool = False
    two_step: bool = False
    advance: Advancer = "consumer"
    publish: tuple[str, ...] = ()
    params: tuple[Param, ...] = ()
    migrate: tuple[Migration, ...] = ()
    tests: tuple[Play, ...] = ()
    text: str = ""
    policy: str = ""
    dialect: str = "native"
    mark: Mark = NOWHERE
    places: dict[tuple[str, str], Mark] = {}

    @cached_property
    def tables(self) -> Tables:
        """Return the contract made ready to step; built once."""
        from interlock.contract.tables import build_tables  # it reads this module

        return build_tables(self)

    @cached_property
    def hash(self) -> str:
        """Return the SHA-256 of what the machine does, without names of the whole and texts."""
        import hashlib  # only some callers ask

        return hashlib.sha256(msgspec.json.encode(_essence(self), order="sorted")).hexdigest()


def place_of(contract: Contract, where: str, name: str, default: Mark) -> Mark:
    """Return where a name was written: at the place given, or the nearest one around it."""
    while where:
        found = contract.places.get((where, name))
        if found is not None:
            return found
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return default


def all_rows(contract: Contract) -> tuple[Row, ...]:
    """Return every row as written: those of states, `always` ones, and those of `any`."""
    own = (row for state in contract.states.values() for row in (*state.rows, *state.always))
    return (*own, *contract.any)


def rows_by_event(contract: Contract, state: State) -> dict[str, tuple[Row, ...]]:
    """Return the rows a state tries for each event, in the order they are tried."""
    found: dict[str, list[Row]] = {}
    wild = () if state.end else (row for row in contract.any if row.event not in state.ignore)
    for row in (*state.rows, *wild):
        found.setdefault(str(row.event), []).append(row)
    return {
        event: tuple(sorted(rows, key=lambda row: -row.priority)) for event, rows in found.items()
    }


_TEXTS = {"text", "mark", "when_mark", "label", "notice", "otherwise", "priority"}
_APART = _TEXTS | {
    *("name", "version", "tests", "dialect", "policy"),  # not what the machine does
    *("any", "states", "places"),  # told state by state
}


def _essence(contract: Contract) -> dict[str, object]:
    """Reduce a contract to plain data in which equal machines are equal."""
    names = [name for name in contract.__struct_fields__ if name not in _APART]
    return {
        **{name: _reduce(getattr(contract, name)) for name in names},
        "states": {
            state.name: _reduce_fields(state, apart=_TEXTS | {"rows"})
            | {"rows": {e: _reduce(rows) for e, rows in rows_by_event(contract, state).items()}}
            for state in contract.states.values()
        },
    }


def _reduce(value: object) -> object:
    match value:
        case Param(code=code, data=data):
            return [code, as_plain(decode_json(data))]
        case Field():
            return [value.name, write_declaration(value.type, value.default)]
        case Row():
            reduced = _reduce_fields(value, apart=_TEXTS | {"name"})
            guard = all_of(conjuncts(value.when))
            return reduced | ({"when": write_expression(guard)} if guard else {})
        case Requirement(text=text):
            return text
        case Update(field=name, value=expr) | Argument(name=name, value=expr):
            return [name, write_expression(expr)]
        case Effect():
            told = tuple(one for one in value.arguments if not _is_log_text(value, one))
            reduced = _reduce_fields(value, apart=_TEXTS | {"arguments"})
            return reduced | ({"arguments": _reduce(told)} if told else {})
        case Event() | Timer() | Hook() | Rule() | Retry() | Migration():
            return _reduce_fields(value, apart=_TEXTS)
        case Struct():
            return write_expression(cast("Expr", value))
        case _ if is_object(value):
            return {str(key): _reduce(item) for key, item in value.items()}
        case _ if is_list(value):
            return [_reduce(item) for item in value]
        case _:
            return as_plain(value)


def _is_log_text(effect: Effect, argument: Argument) -> bool:
    """Tell whether a field of a payload is the text of a log line, which is for people."""
    constant = isinstance(argument.value, Const) and isinstance(argument.value.value, str)
    return constant and effect.intent == "log_event" and argument.name == "message"


def _reduce_fields(record: Struct, apart: set[str]) -> dict[str, object]:
    return {
        name: _reduce(value)
        for name, default in _defaults(type(record)).items()
        if name not in apart and (value := getattr(record, name)) != default
    }


@cache
def _defaults(kind: type[Struct]) -> dict[str, object]:
    """Return the fields of a kind of record with their defaults; asking msgspec is slow."""
    return {field.name: field.default for field in msgspec.structs.fields(kind)}
