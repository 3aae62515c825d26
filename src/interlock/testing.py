"""Hypothesis strategies made from a contract, for testing what is built on it.

They need hypothesis: `pip install interlock[testing]`. All data is made from declarations: types,
bounds, nullability and enums; fields that are not declared come from what the guards read.

    from hypothesis import given
    import interlock
    from interlock.testing import contexts, events, walker

    ORDER = interlock.load("order.yaml")

    @given(contexts(ORDER), events(ORDER))
    def test_nothing_paid_is_lost(context, event):
        outcome = interlock.step(ORDER, "charging", context, event)
        assert outcome.context["paid"] == context["paid"]

    TestOrder = walker(ORDER).TestCase
"""

from __future__ import annotations

from datetime import UTC, timedelta
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from interlock.contract.data import is_required
from interlock.contract.expression.expr import Const, Expr, children, event_fields_in, names_in
from interlock.contract.expression.values import (
    JSON,
    MAX_INT,
    Bound,
    Mismatch,
    Type,
    decode_json,
    reader,
    write_json,
)
from interlock.contract.model import all_rows
from interlock.contract.outcome import Refused
from interlock.contract.tables import read_context
from interlock.errors import NotFound, SettingsError
from interlock.machine import Event, start, step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.stateful import RuleBasedStateMachine
    from hypothesis.strategies import SearchStrategy

    from interlock.contract.model import Contract

MAX_LENGTH = 20
MAX_SEQUENCE = 30
MAX_DECIMAL = 10**12
MAX_SPAN = timedelta(days=366)
PLACES = 2
DEEP = 5_000

Payload = dict[str, Any]


def _hypothesis() -> Any:  # a module that need not be installed
    try:
        import_module("hypothesis.stateful")
        return import_module("hypothesis")
    except ImportError:
        message = "interlock.testing needs hypothesis: pip install interlock[testing]"
        raise SettingsError(message) from None


def values(type_: Type) -> SearchStrategy[object]:
    """Return a strategy for the values of a declared type.

    >>> from interlock.contract.expression.values import INT
    >>> isinstance(values(INT).example(), int)  # doctest: +SKIP
    True
    """
    st = _hypothesis().strategies
    found: SearchStrategy[object] = _plain_values(type_).filter(_fits(type_))
    return st.none() | found if type_.nullable else found


def _fits(type_: Type) -> Any:  # a predicate
    read = reader(type_)

    def fits(value: object) -> bool:
        try:
            read(value)
        except Mismatch:
            return False
        return True

    return fits


def _plain_values(type_: Type) -> Any:  # a strategy
    st = _hypothesis().strategies
    match type_.kind:
        case "bool":
            return st.booleans()
        case "int":
            low, high = _range(type_, MAX_INT)
            return st.integers(int(low.to_integral_value()), int(high.to_integral_value()))
        case "decimal":
            low, high = _range(type_, MAX_DECIMAL)
            return st.decimals(low, high, places=_places(type_))
        case "str":
            return _texts(type_)
        case "enum":
            return st.sampled_from(type_.members)
        case "time":
            return st.datetimes(timezones=st.just(UTC))
        case "duration":
            return st.timedeltas(-MAX_SPAN, MAX_SPAN)
        case "list":
            shortest, longest = _lengths(type_)
            return st.lists(values(type_.item or JSON), min_size=shortest, max_size=longest)
        case "null":
            return st.none()
        case "json":
            return _json()


def _range(type_: Type, most: int) -> tuple[Decimal, Decimal]:
    """Return the least and the greatest value within a type's bounds, which may be just outside."""
    bounds = [bound for bound in type_.bounds if not bound.of_length]
    low = [Decimal(str(bound.limit)) for bound in bounds if bound.op[0] == ">"]
    high = [Decimal(str(bound.limit)) for bound in bounds if bound.op[0] == "<"]
    least, greatest = max(low, default=Decimal(-most)), min(high, default=Decimal(most))
    return least, max(least, greatest)


def _places(type_: Type) -> int:
    """Return how many decimal places there must be to tell a type's bounds apart."""
    limits = [Decimal(bound.limit) for bound in type_.bounds]
    return max([PLACES, *(1 - int(limit.as_tuple().exponent) for limit in limits)])


def _lengths(type_: Type) -> tuple[int, int]:
    bounds = tuple(Bound(one.op, one.limit) for one in type_.bounds if one.of_length)
    low, high = _range(Type("int", bounds=bounds), MAX_LENGTH)
    shortest = max(0, int(low))
    return shortest, max(int(high), shortest + 1 if low >= high else 0)


def _texts(type_: Type) -> Any:  # a strategy
    st = _hypothesis().strategies
    patterns = [bound.limit for bound in type_.bounds if bound.op == "matches"]
    if patterns:
        return st.from_regex(patterns[0])
    shortest, longest = _lengths(type_)
    return st.text(min_size=shortest, max_size=longest)


def _json() -> Any:  # a strategy
    st = _hypothesis().strategies
    numbers = st.integers(-MAX_INT, MAX_INT) | st.decimals(-MAX_INT, MAX_INT, places=PLACES)
    scalars = st.none() | st.booleans() | numbers | st.text(max_size=MAX_LENGTH)

    def nest(inner: Any) -> Any:  # strategies
        names = st.text(max_size=8)
        return st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)

    return st.recursive(scalars, nest, max_leaves=8)


def contexts(contract: Contract) -> SearchStrategy[Payload]:
    """Return a strategy for whole contexts, as a contract declares them.

    >>> contexts(interlock.load("order")).example()  # doctest: +SKIP
    {'total': Decimal('0.00'), 'paid': Decimal('3.50'), 'tries': 0}
    """
    st = _hypothesis().strategies
    declared = {name: _likely(contract, one.type) for name, one in contract.context.items()}
    names = _read_names(contract) if contract.open else {}
    extra = {name: _likely(contract, JSON) for name in names}
    found: SearchStrategy[Payload] = st.fixed_dictionaries(declared, optional=extra)
    return found


def payloads(contract: Contract, event: str) -> SearchStrategy[Payload]:
    """Return a strategy for the payloads that an event may carry.

    >>> payloads(interlock.load("order"), "pay").example()  # doctest: +SKIP
    {'amount': Decimal('0.01')}
    """
    declared = contract.events.get(event)
    if declared is None:
        raise NotFound(f"the contract lists no event {event!r}")
    st = _hypothesis().strategies
    fields = {field.name: _likely(contract, field.type) for field in declared.fields}
    required = {one.name: fields[one.name] for one in declared.fields if is_required(one)}
    optional = {one.name: fields[one.name] for one in declared.fields if not is_required(one)}
    if declared.open:
        known = {*required, *optional}
        extra = [name for name in _read_fields(contract, event) if name not in known]
        optional |= {name: _merged(contract, name) for name in extra}
    found: SearchStrategy[Payload] = st.fixed_dictionaries(required, optional=optional)
    return found


def events(contract: Contract) -> SearchStrategy[Event]:
    """Return a strategy for the events of a contract, with payloads that fit.

    >>> events(interlock.load("order")).example()  # doctest: +SKIP
    Event(name='cancel', payload={'reason': None})
    """
    st = _hypothesis().strategies
    each = [st.builds(Event, st.just(name), payloads(contract, name)) for name in contract.events]
    found: SearchStrategy[Event] = st.one_of(each)
    return found


def sequences(contract: Contract, *, max_size: int = MAX_SEQUENCE) -> SearchStrategy[list[Event]]:
    """Return a strategy for sequences of events, to be played one after another."""
    found: SearchStrategy[list[Event]] = _hypothesis().strategies.lists(
        events(contract), max_size=max_size
    )
    return found


def wild_data() -> SearchStrategy[object]:
    """Return a strategy for whatever a program may pass by mistake: any type, size and depth."""
    st = _hypothesis().strategies
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.builds(pow, st.just(10), st.just(DEEP)),  # its text would be refused by Python itself
        st.floats(),
        st.decimals(),
        st.text(),
        st.just("\ud800"),
        st.binary(),
        st.datetimes(),
        st.timedeltas(),
        st.complex_numbers(),
        st.builds(object),
        st.builds(_nest_lists, st.sampled_from([40, DEEP])),
        st.builds(_nest_mappings, st.sampled_from([40, DEEP])),
    )
    keys = st.none() | st.integers() | st.text(max_size=4)

    def nest(inner: Any) -> Any:  # strategies
        return st.one_of(
            st.lists(inner, max_size=3),
            st.tuples(inner, inner),
            st.sets(st.integers(), max_size=3),
            st.dictionaries(keys, inner, max_size=3),
        )

    found: SearchStrategy[object] = st.recursive(scalars, nest, max_leaves=6)
    return found


def _nest_lists(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


def _nest_mappings(depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def wild_events(contract: Contract | None = None) -> SearchStrategy[object]:
    """Return a strategy for garbage in place of events; some of it bears a contract's names."""
    st = _hypothesis().strategies
    names = st.text(max_size=8)
    if contract is not None and contract.events:
        names = st.sampled_from(list(contract.events)) | names
    found: SearchStrategy[object] = st.one_of(
        wild_data(),
        names,
        st.tuples(names, wild_data()),
        st.dictionaries(names, wild_data(), max_size=2),
        st.builds(Event, names, wild_data()),
        st.builds(Event, wild_data(), wild_data()),
    )
    return found


def walker(contract: Contract) -> type[RuleBasedStateMachine]:
    """Return a hypothesis state machine that walks an instance and checks what must always hold.

    >>> TestOrder = walker(interlock.load("order")).TestCase  # doctest: +SKIP
    """
    stateful = _hypothesis().stateful

    class ContractWalker(stateful.RuleBasedStateMachine):  # type: ignore[misc, name-defined]  # hypothesis is imported late
        """An instance of the contract that is sent events, good and bad."""

        @stateful.initialize(given=contexts(contract))  # type: ignore[untyped-decorator]  # hypothesis is imported late
        def begin(self, given: Payload) -> None:
            """Begin an instance with a made-up context."""
            begun = start(contract, given)
            self.state = begun.state
            self.context: Any = read_context(contract, given)
            if not isinstance(begun, Refused):
                self.context = begun.context

        @stateful.rule(event=events(contract) | wild_events(contract))  # type: ignore[untyped-decorator]  # hypothesis is imported late
        def send(self, event: object) -> None:
            """Send an event: the same twice gives the same, and a refusal changes nothing."""
            outcome = step(contract, self.state, self.context, event)
            again = step(contract, self.state, self.context, event)
            _insist(outcome == again, "the same event comes to the same")
            if not isinstance(outcome, Refused):
                self.state, self.context = outcome.state, outcome.context

        @stateful.invariant()  # type: ignore[untyped-decorator]  # hypothesis is imported late
        def stands_on_firm_ground(self) -> None:
            """Check that the state exists and the context survives being stored."""
            _insist(self.state in contract.states, "the state is one of the contract's")
            stored = decode_json(write_json(self.context))
            again = read_context(contract, stored)
            _insist(again == self.context, "a stored context is read back as it was")

    return ContractWalker


def _insist(holds: object, claim: str) -> None:
    if not holds:
        raise AssertionError(f"it does not hold that {claim}")


def _likely(contract: Contract, type_: Type) -> Any:
    """Return a strategy for a type in which the constants that guards compare with are frequent."""
    st = _hypothesis().strategies
    fits = _fits(type_)
    known = [one for guard in _guards(contract) for one in _constants(guard) if fits(one)]
    if not known or type_.kind in {"bool", "enum"}:
        return values(type_)
    return values(type_) | st.sampled_from(known)


def _merged(contract: Contract, name: str) -> Any:  # a strategy
    field = contract.context.get(name)
    return _likely(contract, JSON if field is None or not contract.merge else field.type)


def _guards(contract: Contract, event: str | None = None) -> Iterable[Expr]:
    rows = (row for row in all_rows(contract) if event in (None, row.event))
    return [row.when for row in rows if row.when is not None]


def _constants(expr: Expr) -> list[object]:
    if isinstance(expr, Const):
        return [expr.value]
    return [value for child in children(expr) for value in _constants(child)]


def _read_names(contract: Contract) -> dict[str, None]:
    """Return the context fields that guards read without a declaration."""
    names = (name for guard in _guards(contract) for name in names_in(guard))
    return {name: None for name in names if name not in contract.context}


def _read_fields(contract: Contract, event: str) -> dict[str, None]:
    """Return what guards read that an open payload may carry."""
    fields = [name for guard in _guards(contract, event) for name in event_fields_in(guard)]
    if contract.merge:
        fields += [name for guard in _guards(contract) for name in names_in(guard)]
    return {name: None for name in fields if name not in contract.owned}
