"""Claims about the machine: what a step makes of an event, and that nothing can make it raise."""

from __future__ import annotations

import collections
import copy
import decimal
import types
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

import interlock
from interlock.contract.data import Context
from interlock.contract.expression.values import decode_json, write_json
from interlock.contract.outcome import Moved, Refused, Stayed
from interlock.contract.read import Source, read_contract
from interlock.contract.tables import read_context
from interlock.machine import Event, start, step
from interlock.testing import contexts, events, walker, wild_data, wild_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.contract.model import Contract
    from interlock.machine import Outcome


def contract_of(text: str) -> Contract:
    """Return the contract of a text, read but not checked."""
    read = read_contract(Source(text, "test"))
    assert read.contract is not None
    assert read.problems == []
    return read.contract


def without_default(contract: Contract, name: str) -> Contract:
    """Return a contract whose field must be given, as only code can declare it."""
    field = replace(contract.context[name], default=UNSET)
    return replace(contract, context=contract.context | {name: field})


def states_and(*, context: str = "{}", events: str = "{go: {}}", first: str, more: str = "") -> str:
    """Return a contract whose first state has the given rows, and an end."""
    return (
        f"contract: test\ncontext: {context}\nevents: {events}\n{more}\n"
        f"states:\n  one: {first}\n  two: {{end: ok}}\n"
    )


def intents_of(outcome: Outcome) -> list[str]:
    assert not isinstance(outcome, Refused), outcome.message
    return [intent.name for intent in outcome.intents]


def evaluate(expression: str, *, context: str = "{}", payload: str = "{}", **data: Any) -> Any:
    """Return what an expression comes to, as the payload of an intent, or the refusal's code."""
    contract = contract_of(
        f"contract: test\ncontext: {context}\nevents: {{go: {payload}}}\n"
        f"states: {{one: {{go: {{do: {{do: tell, with: {{it: {expression!r}}}}}}}}}}}\n"
    )
    own = {name: value for name, value in data.items() if name in contract.context}
    sent = {name: value for name, value in data.items() if name not in contract.context}
    outcome = step(contract, "one", own, ("go", sent))
    return outcome.code if isinstance(outcome, Refused) else outcome.intents[0].payload["it"]


def holds(guard: str, **more: Any) -> bool:
    """Tell whether a guard holds, asked as a guard."""
    payload = more.pop("payload", "{}")
    text = states_and(
        context=more.pop("context", "{}"),
        events=f"{{go: {payload}}}",
        first=f"{{go: {{when: {guard!r}, to: two}}}}",
    )
    contract = contract_of(text)
    own = {name: value for name, value in more.items() if name in contract.context}
    sent = {name: value for name, value in more.items() if name not in contract.context}
    outcome = step(contract, "one", own, ("go", sent))
    if isinstance(outcome, Refused):
        assert outcome.code == "GUARD_FAILED", outcome
    return isinstance(outcome, Moved)


ORDER = contract_of(
    """
contract: order
version: 2
context: {total: decimal = 0, paid: decimal = 0, tries: int = 0}
events:
  add_item: {sku: str, price: decimal > 0}
  pay: {amount: decimal > 0}
  charged: {ref: str}
  declined: {code: str}
  packed: {}
  cancel: {reason: str | null}
  give_up: {}
states:
  cart:
    add_item: {set: {total: total + event.price}}
    pay:
      - {when: paid + event.amount >= total, to: charging, set: {paid: paid + event.amount}}
      - {else: stay, set: {paid: paid + event.amount}}
  charging:
    enter: {do: charge_card, with: {amount: total}, done: charged, failed: declined, retry: 5 in 2m}
    after: {15m: give_up}
    charged: packing
    declined:
      - {when: tries < 2, to: charging, set: {tries: tries + 1}}
      - {else: failed}
    give_up: failed
  packing: {packed: shipped}
  shipped: {end: ok}
  cancelled: {end: ok}
  failed: {end: error}
any: {cancel: cancelled}
"""
)

TYPED = contract_of(
    """
contract: typed
context:
  n: int = 0
  d: decimal = 1.5
  b: bool = false
  s: str | null
  t: time | null
  u: duration = 1h
  j: json
  e: red | green = red
  l: list of int = []
events:
  go: {x: int, y: decimal | null, w: json}
  wild: {"*": json}
  plain: {}
  timed: {at: time, long: duration}
states:
  a:
    go:
      - {when: event.x / n > 2 and d * event.y < 3, to: b, set: {n: n + event.x, j: event.w}}
      - {when: event.w > 3 or event.w in l, to: a, set: {d: d / n, l: "l + [event.x]"}}
      - {else: stay, set: {n: n * event.x, d: d + event.x}, do: {do: tell, with: {z: event.w + 1}}}
    wild:
      - {when: event.q == 3 and len(event.r) > 2, to: b, set: {s: event.q, l: event.r}}
      - {when: event.q > 2, to: b, set: {e: event.q}}
      - {when: "matches(event.z, 'a+')", to: c, set: {j: "[j, j]"}}
      - {else: stay, set: {j: event.q, s: event.s, t: event.s}}
    plain: b
    timed:
      - {when: event.at - t > 1h, to: b, set: {u: u * 1000000, t: event.at + event.long}}
      - {else: b, set: {t: event.at + u, u: u * n}}
  b:
    exit: {do: left, with: {n: n, u: u}}
    always: [{when: n > 100, to: c, set: {n: n // n}}, {when: b, to: a}]
    plain: a
    wild: {to: c, set: {n: n % event.x}}
  c: {end: ok}
"""
)

MERGED = contract_of(
    """
contract: merged
payload: merge
context: {n: int = 0, d: decimal = 0, "*": json}
events: {load: {"*": json}, plain: {}, typed: {n: int}}
counters: {tries: {max: 2, up: [load]}}
states:
  a:
    load:
      - {when: n > 3 and flag == true, to: b, do: {do: tell, with: {n: n + 1, all: other}}}
      - {when: size * 2 > limit or name in names, to: b}
      - {else: stay}
    plain: b
    typed: {when: n < 5, to: b}
  b: {plain: a, load: {to: a, set: {later: size, n: size}}}
"""
)

LOOPING = contract_of(
    """
contract: looping
context: {n: int = 0}
events: {go: {n: int}, calm: {}}
states:
  one: {go: {to: two, set: {n: event.n}}, calm: two}
  two: {always: [{when: n != 0, to: three, set: {n: n - 1}, do: hop}], calm: one}
  three: {enter: in_three, exit: out_three, always: [{when: n < 1000, to: two}], calm: one}
"""
)

CONTRACTS = [ORDER, TYPED, MERGED, LOOPING]


# Totality


def states_of(contract: Contract) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(contract.states)) | wild_data()


def contexts_of(contract: Contract) -> st.SearchStrategy[Any]:
    names = st.sampled_from([*contract.context, "other", "size", "flag"]) | st.text(max_size=3)
    broken = st.dictionaries(names, wild_data(), max_size=3)
    return st.one_of(contexts(contract), broken, broken.map(Context), wild_data())


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_a_step_never_raises_whatever_it_is_given(contract: Contract) -> None:
    seen: set[str] = set()

    @given(states_of(contract), contexts_of(contract), events(contract) | wild_events(contract))
    def try_one(state: Any, context: Any, event: Any) -> None:
        outcome = step(contract, state, context, event)
        assert isinstance(outcome, Moved | Stayed | Refused)
        assert isinstance(outcome.state, str)
        seen.add(outcome.code if isinstance(outcome, Refused) else type(outcome).__name__)

    try_one()
    assert {"UNKNOWN_EVENT", "INVALID_TRANSITION", "VALIDATION_ERROR", "Moved"} <= seen


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_a_good_context_and_a_bad_payload_never_raise(contract: Contract) -> None:
    names = st.sampled_from(list(contract.events))
    fields = ["x", "y", "w", "q", "r", "s", "z", "at", "long", "n", "d", "size", "flag", "payload"]
    sent = st.dictionaries(st.sampled_from([*fields, "amount"]), wild_data() | st.integers())

    @given(st.sampled_from(list(contract.states)), contexts(contract), names, sent)
    def try_one(state: str, context: Any, name: str, payload: Any) -> None:
        for event in ((name, payload), {name: payload}, Event(name, payload)):
            assert isinstance(step(contract, state, context, event), Moved | Stayed | Refused)

    try_one()


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_a_start_never_raises_whatever_it_is_given(contract: Contract) -> None:
    @given(contexts_of(contract))
    def try_one(context: Any) -> None:
        assert isinstance(start(contract, context), Moved | Refused)

    try_one()


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NESTED: list[object] = []
for _ in range(100_000):
    NESTED = [NESTED]
CYCLE: list[object] = []
CYCLE.append(CYCLE)
ODD: list[object] = [
    *(None, True, 0, -1, 10**5_000, float("nan"), float("inf"), Decimal("sNaN"), Decimal("1E999")),
    *(b"pay", "\ud800", "", "x" * 100_000, {}, [], (), set(), {1: 2}, {None: None}, object(), int),
    *(NESTED, CYCLE, [1, 2, 3], ("pay",), ("pay", 1, 2), {"pay": 1, "cancel": 2}, [[], {}]),
    *(lambda: None, range(3), 1j, types.MappingProxyType({}), collections.UserDict({"a": NESTED})),
    *(
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        NOON.replace(tzinfo=None),
        timedelta.max,
    ),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_things_are_refused_in_every_place(odd: Any) -> None:
    payload = {"amount": 1}
    assert isinstance(step(ORDER, "cart", {}, odd), Refused)
    assert isinstance(step(ORDER, odd, {}, ("pay", payload)), Refused)
    assert isinstance(step(ORDER, "cart", {"total": odd}, "cancel"), Refused | Moved)
    assert isinstance(step(ORDER, "cart", {}, ("pay", {"amount": odd})), Refused | Moved)
    assert isinstance(step(ORDER, "cart", {}, Event(odd, odd)), Refused)
    for event in ({"timed": {"at": odd, "long": odd}}, {"wild": {"q": odd}}, {"go": odd}):
        assert isinstance(step(TYPED, "a", {}, event), Refused | Moved | Stayed)
    assert isinstance(step(MERGED, "a", {}, ("load", {"n": odd})), Refused | Stayed)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_a_mapping_of_any_class_is_taken_as_one(odd: Any) -> None:
    for kind in (dict, collections.UserDict, collections.ChainMap, types.MappingProxyType):
        outcome = step(TYPED, "a", kind({"j": odd}), kind({"plain": kind({})}))
        assert isinstance(outcome, Moved | Refused)
        assert isinstance(step(TYPED, "a", kind({}), ("wild", kind({"q": odd}))), Stayed | Refused)


def test_a_context_made_for_another_contract_is_read_again() -> None:
    foreign = start(TYPED).context
    outcome = step(ORDER, "cart", foreign, ("pay", {"amount": 1}))
    assert isinstance(outcome, Refused)
    assert outcome.code == "VALIDATION_ERROR"
    assert isinstance(step(ORDER, "cart", Context(), ("pay", {"amount": 1})), Moved)


def test_a_field_without_default_must_be_given() -> None:
    contract = without_default(
        contract_of(states_and(context="{n: int = 0}", first="{go: {when: n > 1, to: two}}")), "n"
    )
    assert isinstance(start(contract, {"n": 2}), Moved)
    for outcome in (start(contract), step(contract, "one", {}, "go")):
        assert isinstance(outcome, Refused)
        assert outcome.code == "VALIDATION_ERROR"
        assert "lacks 'n'" in outcome.message


# Purity


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_the_same_input_gives_the_same_outcome_and_stays_as_it_was(contract: Contract) -> None:
    @given(st.sampled_from(list(contract.states)), contexts(contract), events(contract))
    def try_one(state: str, context: dict[str, Any], event: Event) -> None:
        kept = copy.deepcopy((context, event))
        outcome = step(contract, state, context, event)
        assert outcome == step(contract, state, context, event)
        assert (context, event) == kept
        warm = read_context(contract, context)
        again = step(contract, state, warm, event)
        assert again == outcome or isinstance(again, Refused)
        assert warm == read_context(contract, kept[0])

    try_one()


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_cold_equals_hot(contract: Contract) -> None:
    sent = st.lists(events(contract), min_size=1, max_size=6)

    @given(st.sampled_from(list(contract.states)), contexts(contract), sent)
    def try_one(state: str, given_context: dict[str, Any], steps: list[Event]) -> None:
        context: Mapping[str, Any] = read_context(contract, given_context)
        for event in steps:
            stored = decode_json(write_json(context))
            hot, cold = step(contract, state, context, event), step(contract, state, stored, event)
            assert type(cold) is type(hot)
            assert (cold.state, told(cold)) == (hot.state, told(hot))
            if not isinstance(hot, Refused):
                assert cold == hot
                state, context = hot.state, hot.context

    try_one()


def told(outcome: Outcome) -> object:
    match outcome:
        case Refused(code=code, message=message, tried=tried):
            return code, message, tried
        case _:
            return write_json(outcome.context), outcome.trail, outcome.rows


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
def test_an_instance_walks_on_firm_ground(contract: Contract) -> None:
    case = walker(contract).TestCase
    case.settings = settings(case.settings, max_examples=20, stateful_step_count=10)
    case("runTest").runTest()


def test_a_context_is_read_only() -> None:
    context: Any = start(ORDER).context
    for change in (
        lambda: context.__setitem__("total", 1),
        lambda: context.__delitem__("total"),
        lambda: context.update(total=1),
        lambda: context.setdefault("new", 1),
        lambda: context.pop("total"),
        context.popitem,
        context.clear,
        lambda: context.__ior__({"total": 1}),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert context == {"total": 0, "paid": 0, "tries": 0}
    with pytest.raises(TypeError, match="unhashable"):
        hash(context)


def test_a_stay_gives_a_new_context_and_leaves_the_old() -> None:
    before = start(ORDER).context
    outcome = step(ORDER, "cart", before, ("add_item", {"sku": "tea", "price": 4}))
    assert outcome.context["total"] == 4
    assert before["total"] == 0


# Refusals

REFUSING = contract_of(
    """
contract: refusing
context: {n: int = 1, j: json, small: int <= 3 = 0}
events: {go: {x: int}, guarded: {}, odd: {}, divide: {}, grow: {}, tell: {}, gate: {}, loop: {}}
states:
  one:
    go: two
    guarded:
      - {when: n > 1, to: two}
      - {when: n > 2 and n < 10, to: two, name: second}
    odd: {when: j > 3, to: two}
    gate: {when: 1 / (n - 1) > 2, to: two}
    divide: {to: two, set: {n: n + 1, small: n // (n - 1)}}
    grow: {to: two, set: {n: 5, small: small + 4}}
    tell: {to: two, set: {n: 5}, do: {do: tell, with: {x: "1 / (n - 5)"}}}
    loop: round
  round: {always: {to: again}}
  again: {always: {to: round}}
  two: {end: ok}
"""
)
CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "UNKNOWN_EVENT": ("one", "nothing", {}),
    "INVALID_TRANSITION": ("two", ("go", {"x": 1}), {}),
    "GUARD_FAILED": ("one", "guarded", {}),
    "GUARD_TYPE_ERROR": ("one", "odd", {"j": "text"}),
    "VALIDATION_ERROR": ("one", ("go", {"x": "1"}), {}),
    "EVALUATION_ERROR": ("one", "divide", {}),
    "UPDATE_TYPE": ("one", "grow", {}),
    "HOP_LIMIT": ("one", "loop", {}),
}


@pytest.mark.parametrize("code", CASES)
def test_every_refusal_is_reached_and_changes_nothing(code: str) -> None:
    state, event, context = CASES[code]
    hot = read_context(REFUSING, context)
    outcome = step(REFUSING, state, hot, event)
    assert isinstance(outcome, Refused)
    assert outcome.code == code
    assert outcome.state == state
    assert outcome.context is hot
    assert hot == {"n": 1, "j": None, "small": 0} | context


def test_an_arithmetic_error_in_a_guard_or_a_payload_is_an_evaluation_error() -> None:
    for event in ("gate", "tell"):
        outcome = step(REFUSING, "one", {}, event)
        assert isinstance(outcome, Refused)
        assert outcome.code == "EVALUATION_ERROR"
        assert "division by zero" in outcome.message


def test_a_failed_guard_tells_the_rows_tried_and_what_they_saw() -> None:
    outcome = step(REFUSING, "one", {"n": 1}, "guarded")
    assert isinstance(outcome, Refused)
    told = [(tried.row, tried.guard, tried.values) for tried in outcome.tried]
    assert told == [("guarded -> two", "n > 1", {"n": 1}), ("second", "n > 2", {"n": 1})]
    assert "n > 1 does not hold" in outcome.message


def test_a_strict_contract_tells_an_absent_field_from_a_failed_guard() -> None:
    text = states_and(context='{"*": json}', first="{go: {when: ready == true, to: two}}")
    lax, strict = contract_of(text), contract_of(text + "strict: true\n")
    for contract, code in ((lax, "GUARD_FAILED"), (strict, "GUARD_FIELD_UNDEFINED")):
        outcome = step(contract, "one", {}, "go")
        assert isinstance(outcome, Refused)
        assert outcome.code == code
        assert outcome.tried[0].values == {"ready": None}
    present = step(strict, "one", {"ready": False}, "go")
    assert isinstance(present, Refused)
    assert present.code == "GUARD_FAILED"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "lacks 'amount'"),
        ({}, "lacks 'amount'"),
        ({"amount": "x"}, "amount: 'x' is not a decimal number"),
        ({"amount": 0}, "amount: 0 is not > 0"),
        ({"amount": True}, "amount: true is not a decimal number"),
        ({"amount": None}, "amount: null is not a decimal number"),
        ({"amount": float("nan")}, "not a finite number"),
        ({"amount": 1, "more": 2}, "undeclared field 'more'"),
        ([1], "an object with text keys"),
        ({1: 2}, "an object with text keys"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_with_its_reason(payload: Any, reason: str) -> None:
    outcome = step(ORDER, "cart", {}, ("pay", payload))
    assert isinstance(outcome, Refused)
    assert outcome.code == "VALIDATION_ERROR"
    assert reason in outcome.message


def test_an_event_without_payload_fields_takes_none() -> None:
    outcome = step(ORDER, "packing", {}, ("packed", {"x": 1}))
    assert isinstance(outcome, Refused)
    assert outcome.code == "VALIDATION_ERROR"
    assert isinstance(step(ORDER, "packing", {}, ("packed", {})), Moved)
    assert isinstance(step(ORDER, "packing", {}, {"packed": None}), Moved)


def test_a_context_that_does_not_fit_is_refused() -> None:
    for context, reason in (
        ({"total": "x"}, "total: 'x' is not a decimal number"),
        ({"more": 1}, "no field 'more'"),
        ([], "an object with text keys"),
    ):
        for outcome in (step(ORDER, "cart", context, "cancel"), start(ORDER, context)):  # type: ignore[arg-type]
            assert isinstance(outcome, Refused)
            assert outcome.code == "VALIDATION_ERROR"
            assert outcome.message == f"context: {reason}" or reason in outcome.message


def test_an_ended_state_says_that_it_has_ended() -> None:
    outcome = step(ORDER, "shipped", {}, "cancel")
    assert isinstance(outcome, Refused)
    assert "has ended" in outcome.message


# Rows


def test_rows_are_tried_in_their_order_and_else_comes_last() -> None:
    guarded = "{when: event.x > 1, to: two, name: a}, {when: event.x > 0, to: two, name: b}"
    first = f"{{go: [{guarded}, {{else: stay, name: c}}]}}"
    contract = contract_of(states_and(events="{go: {x: int}}", first=first))
    taken = [step(contract, "one", {}, ("go", {"x": x})).rows[0].name for x in (2, 1, 0)]  # type: ignore[union-attr]
    assert taken == ["a", "b", "c"]


def test_priority_comes_before_the_written_order_and_own_rows_before_any() -> None:
    contract = contract_of(
        """
contract: test
events: {go: {}, come: {}, hail: {}}
states:
  one:
    go: [{to: one, name: low}, {to: one, name: high, priority: 1}]
    come: {to: one, name: own}
    hail: {to: one, name: own}
any: {come: {to: one, name: any}, hail: {to: one, name: any, priority: 5}}
"""
    )
    taken = [step(contract, "one", {}, event).rows[0].name for event in ("go", "come", "hail")]  # type: ignore[union-attr]
    assert taken == ["high", "own", "any"]


def test_any_answers_in_every_state_without_an_end() -> None:
    for state in ORDER.states.values():
        outcome = step(ORDER, state.name, {}, "cancel")
        assert isinstance(outcome, Refused) == (state.end is not None)


EMITTING = contract_of(
    """
contract: emitting
context: {n: int = 0}
events: {go: {}, again: {}, stay: {}, shrug: {}}
states:
  one:
    enter: [{do: one_in, with: {n: n}}, one_in_2]
    exit: one_out
    go: {to: two, do: [{do: row, with: {n: n}}, row_2], set: {n: n + 1}}
    again: {to: one, do: row}
    stay: {do: row, set: {n: n + 1}}
    ignore: [shrug]
  two: {enter: {do: two_in, with: {n: n}}, end: ok}
"""
)


def test_intents_are_emitted_from_exit_row_and_entry_in_this_order() -> None:
    outcome = step(EMITTING, "one", {}, "go")
    assert intents_of(outcome) == ["one_out", "row", "row_2", "two_in"]
    assert isinstance(outcome, Moved)
    assert [intent.payload.get("n") for intent in outcome.intents] == [None, 1, None, 1]


def test_naming_the_own_state_leaves_and_enters_it() -> None:
    outcome = step(EMITTING, "one", {}, "again")
    assert isinstance(outcome, Moved)
    assert outcome.trail == ("one",)
    assert intents_of(outcome) == ["one_out", "row", "one_in", "one_in_2"]


def test_a_stay_emits_only_the_intents_of_its_row() -> None:
    outcome = step(EMITTING, "one", {}, "stay")
    assert isinstance(outcome, Stayed)
    assert (outcome.state, outcome.trail) == ("one", ())
    assert intents_of(outcome) == ["row"]
    assert outcome.context == {"n": 1}


def test_an_ignored_event_is_nothing() -> None:
    outcome = step(EMITTING, "one", {"n": 4}, "shrug")
    assert isinstance(outcome, Stayed)
    assert (outcome.context, outcome.intents, outcome.rows) == ({"n": 4}, (), ())


def test_a_start_enters_the_first_state() -> None:
    outcome = start(EMITTING, {"n": 3})
    assert isinstance(outcome, Moved)
    assert (outcome.state, outcome.trail) == ("one", ("one",))
    assert intents_of(outcome) == ["one_in", "one_in_2"]
    assert outcome.intents[0].payload == {"n": 3}


def test_updates_are_all_computed_from_the_old_values() -> None:
    first = "{go: {set: {a: b, b: a}}}"
    contract = contract_of(states_and(context="{a: int = 1, b: int = 2}", first=first))
    assert step(contract, "one", {}, "go").context == {"a": 2, "b": 1}


def test_events_are_told_in_four_ways() -> None:
    payload = {"amount": 1}
    told = [("pay", payload), ["pay", payload], {"pay": payload}, Event("pay", payload)]
    outcomes = [step(ORDER, "cart", {}, event) for event in told]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert isinstance(outcomes[0], Moved)


def test_notes_are_recorded_and_block_nothing() -> None:
    first = "{go: {to: two, note: [n > 1, n > 0]}}"
    contract = contract_of(states_and(context="{n: int = 1}", first=first))
    outcome = step(contract, "one", {}, "go")
    assert isinstance(outcome, Moved)
    assert outcome.notes == ("n > 1",)


# Hops


def chain(hops: int) -> Contract:
    """Return a contract whose only event leads through so many `always` rows."""
    states = "".join(
        f"  s{i}: {{enter: in_{i}, exit: out_{i}, always: {{to: s{i + 1}, do: hop_{i}}}}}\n"
        for i in range(1, hops + 1)
    )
    return contract_of(
        f"contract: chain\nevents: {{go: {{}}}}\nstates:\n  s0: {{go: s1}}\n{states}"
        f"  s{hops + 1}: {{enter: arrived, end: ok}}\n"
    )


def test_hops_are_taken_in_one_step_with_their_intents_and_trail() -> None:
    outcome = step(chain(2), "s0", {}, "go")
    assert isinstance(outcome, Moved)
    assert (outcome.state, outcome.trail) == ("s3", ("s1", "s2", "s3"))
    assert intents_of(outcome) == ["in_1", "out_1", "hop_1", "in_2", "out_2", "hop_2", "arrived"]
    assert [row.to for row in outcome.rows] == ["s1", "s2", "s3"]


def test_sixteen_hops_pass_and_seventeen_are_refused() -> None:
    passed = step(chain(16), "s0", {}, "go")
    assert isinstance(passed, Moved)
    assert (passed.state, len(passed.trail)) == ("s17", 17)
    refused = step(chain(17), "s0", {}, "go")
    assert isinstance(refused, Refused)
    assert (refused.code, refused.state) == ("HOP_LIMIT", "s0")


def test_always_rows_are_tried_after_a_stay_as_well() -> None:
    contract = contract_of(
        states_and(
            context="{n: int = 0}",
            first="{exit: out, go: {set: {n: n + 1}, do: row}, always: [{when: n > 1, to: two}]}",
        )
    )
    first = step(contract, "one", {}, "go")
    assert isinstance(first, Stayed)
    second = step(contract, "one", first.context, "go")
    assert isinstance(second, Moved)
    assert (second.state, second.trail) == ("two", ("two",))
    assert intents_of(second) == ["row", "out"]


def test_a_start_hops_too() -> None:
    contract = contract_of(states_and(first="{enter: in, exit: out, always: {to: two}}"))
    outcome = start(contract)
    assert isinstance(outcome, Moved)
    assert outcome.trail == ("one", "two")
    assert intents_of(outcome) == ["in", "out"]


def test_an_internal_event_cannot_be_sent() -> None:
    contract = contract_of(
        states_and(
            context="{n: int = 0}", first="{go: two, always: {when: n > 1, to: two, as: CONTINUE}}"
        )
    )
    outcome = step(contract, "one", {}, "CONTINUE")
    assert isinstance(outcome, Refused)
    assert outcome.code == "INVALID_TRANSITION"
    hopped = start(contract, {"n": 2})
    assert isinstance(hopped, Moved)
    assert hopped.rows[0].event == "CONTINUE"


# Null


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("a == null", True),
        ("a != null", False),
        ("exists(a)", False),
        ("not exists(a)", True),
        ("a == 1", False),
        ("a != 1", False),
        ("a < 1", False),
        ("a >= 1", False),
        ("a == b", False),
        ("a != b", False),
        ("a in [1, 2]", False),
        ("a not in [1, 2]", False),
        ("a in [1, null]", False),
        ("a + 1 > 0", False),
        ("a + 1 == null", True),
        ("-a == null", True),
        ("not (a == 1)", True),
        ("not a > 1", True),
        ("t", False),
        ("not t", True),
        ("t == true", False),
        ("matches(s, '')", False),
        ("len(s) == null", True),
        ("len(s) > 0 or exists(c)", True),
        ("(a if exists(a) else 5) == 5", True),
        ("c > 0 and a == null", True),
    ],
)
def test_null_is_neither_equal_nor_greater_nor_less(guard: str, expected: bool) -> None:  # noqa: FBT001
    context = "{a: int | null, b: int | null, c: int = 1, s: str | null, t: bool | null}"
    assert holds(guard, context=context) is expected


@pytest.mark.parametrize("text", ["a + 1", "1 - a", "a * a", "a / 2", "a // 2", "a % 2", "-a"])
def test_arithmetic_with_null_is_null(text: str) -> None:
    assert evaluate(text, context="{a: int | null}") is None


def test_null_does_not_fit_a_field_that_takes_none() -> None:
    first = "{go: {set: {n: a + 1}}}"
    contract = contract_of(states_and(context="{a: int | null, n: int = 0}", first=first))
    outcome = step(contract, "one", {}, "go")
    assert isinstance(outcome, Refused)
    assert outcome.code == "UPDATE_TYPE"


# Numbers


@pytest.fixture
def clumsy() -> Iterator[None]:
    """Set a decimal context of two digits in which every inexact result is an error."""
    with decimal.localcontext() as context:
        context.prec = 2
        context.traps[decimal.Inexact] = True
        context.traps[decimal.FloatOperation] = True
        yield


@pytest.mark.usefixtures("clumsy")
def test_decimals_are_exact_whatever_the_decimal_context_of_the_caller() -> None:
    kinds = "{a: decimal = 0, b: decimal = 0, j: json}"
    numbers = {"a": "123456789.123456789", "b": "0.000000001"}
    assert str(evaluate("a + b", context=kinds, **numbers)) == "123456789.123456790"
    assert str(evaluate("a * b", context=kinds, **numbers)) == "0.123456789123456789"
    assert str(evaluate("-a", context=kinds, **numbers)) == "-123456789.123456789"
    assert str(evaluate("-123456789.123456789")) == "-123456789.123456789"
    assert str(evaluate("round(a, 2)", context=kinds, **numbers)) == "123456789.12"
    assert evaluate("j * 3", context=kinds, j=0.1) == Decimal("0.3")
    assert str(evaluate("a / 3", context=kinds, a="1")) == "0." + "3" * 34
    assert holds("a + b > 123456789.123456789", context=kinds, **numbers)
    assert evaluate("u + u", context="{u: duration = 1h}", u="PT123.456789S") == timedelta(
        seconds=246, microseconds=913578
    )
    assert write_json({"u": timedelta(seconds=246, microseconds=913578)}) == '{"u":"PT246.913578S"}'


def test_floats_are_taken_by_their_shortest_digits() -> None:
    context = read_context(ORDER, {"total": 0.1, "paid": 0.2})
    assert context == {"total": Decimal("0.1"), "paid": Decimal("0.2"), "tries": 0}
    assert evaluate("0.1 + 0.2") == Decimal("0.3")


def test_whole_numbers_and_decimals_compare_as_numbers_and_bools_are_none() -> None:
    kinds = "{n: int = 1, d: decimal = 1.0, j: json}"
    assert holds("n == d", context=kinds)
    assert holds("j == d", context=kinds, j=1)
    assert not holds("j == n", context=kinds, j=True)
    assert not holds("j in [0, 1]", context=kinds, j=True)
    assert holds("j != n", context=kinds, j=True)


def test_division_rounds_down_to_the_left() -> None:
    assert evaluate("-7 // 2") == -4
    assert evaluate("-7 % 2") == 1
    assert evaluate("7 / 2") == Decimal("3.5")


@pytest.mark.parametrize("text", ["n / m", "n // m", "n % m", "d / m"])
def test_division_by_zero_is_refused(text: str) -> None:
    kinds = "{n: int = 1, m: int = 0, d: decimal = 1}"
    assert evaluate(text, context=kinds) == "EVALUATION_ERROR"


def test_a_number_that_grows_too_large_is_refused() -> None:
    kinds = "{n: int = 9007199254740992, d: decimal = 9999999999999999999999999999999999}"
    for first, code in (
        ("{go: {set: {n: n + 1}}}", "UPDATE_TYPE"),
        ("{go: {set: {n: n * n}}}", "UPDATE_TYPE"),
        ("{go: {set: {d: d * d * d}}}", "UPDATE_TYPE"),
    ):
        outcome = step(contract_of(states_and(context=kinds, first=first)), "one", {}, "go")
        assert isinstance(outcome, Refused)
        assert outcome.code == code


# Times, enums, lists, JSON


def test_times_and_durations_are_reckoned_with() -> None:
    kinds = "{t: time | null, u: duration = 90m}"
    data: dict[str, Any] = {"context": kinds, "payload": "{at: time}", "t": "2026-01-31T12:00:00Z"}
    data["at"] = "2026-01-31T14:00:00+01:00"
    assert evaluate("event.at - t", **data) == timedelta(hours=1)
    assert evaluate("t + u", **data) == NOON + timedelta(minutes=90)
    assert evaluate("event.at - 30m", **data) == NOON + timedelta(minutes=30)
    assert evaluate("u * 2", **data) == timedelta(hours=3)
    assert evaluate("u - 2h", **data) == timedelta(minutes=-30)
    assert holds("event.at - t >= 1h and event.at > t", **data)
    assert not holds("event.at - t > 60m", **data)


def test_a_time_beyond_the_calendar_is_refused() -> None:
    kinds, data = "{t: time | null}", {"t": "9999-12-31T23:59:59Z"}
    assert evaluate("t + 1s", context=kinds, **data) == "EVALUATION_ERROR"
    assert evaluate("d * 9007199254740992", context="{d: duration = 999d}") == "EVALUATION_ERROR"


@given(st.timedeltas(), st.datetimes(timezones=st.just(UTC)))
def test_every_time_and_duration_survives_being_stored(span: timedelta, moment: datetime) -> None:
    contract = contract_of(
        states_and(context="{t: time | null, u: duration = 0s}", first="{go: two}")
    )
    context = read_context(contract, {"t": moment, "u": span})
    assert read_context(contract, decode_json(write_json(context))) == context


def test_an_enum_takes_its_members_only() -> None:
    kinds = "{e: red | green = red}"
    first = "{go: {set: {e: event.s}}}"
    contract = contract_of(states_and(context=kinds, events="{go: {s: str}}", first=first))
    assert step(contract, "one", {}, ("go", {"s": "green"})).context == {"e": "green"}
    outcome = step(contract, "one", {}, ("go", {"s": "blue"}))
    assert isinstance(outcome, Refused)
    assert outcome.code == "UPDATE_TYPE"
    assert holds("e == 'red' and e in ['red'] and e + '!' == 'red!'", context=kinds)


def test_lists_are_joined_measured_and_searched() -> None:
    kinds = "{l: 'list of int = [1]'}"
    assert evaluate("l + [2]", context=kinds) == (1, 2)
    assert holds("len(l) == 1 and 1 in l and 2 not in l", context=kinds)
    contract = contract_of(
        states_and(
            context="{l: 'list of int len <= 2 = []'}",
            events="{go: {x: json}}",
            first='{go: {set: {l: "l + [event.x]"}}}',
        )
    )
    once = step(contract, "one", {}, ("go", {"x": 1}))
    twice = step(contract, "one", once.context, ("go", {"x": 2}))
    assert twice.context == {"l": (1, 2)}
    for context, x in ((twice.context, 3), (once.context, "text")):
        outcome = step(contract, "one", context, ("go", {"x": x}))
        assert isinstance(outcome, Refused)
        assert outcome.code == "UPDATE_TYPE"


def test_untyped_data_meets_guards_as_it_is() -> None:
    data: dict[str, Any] = {"payload": '{"*": json}'}
    assert holds("event.a > 1", a=2, **data)
    assert not holds("event.a > 1", **data)
    assert not holds("event.a == 1", a="1", **data)
    assert holds("event.a != 1", a="1", **data)
    assert holds("len(event.a) == 2", a={"x": 1, "y": 2}, **data)
    assert holds("event.a in event.b", a="x", b=["x"], **data)
    assert evaluate("event.a + event.b", a=[1], b=["x"], **data) == [1, "x"]
    assert evaluate("event.a + event.b", a="x", b="y", **data) == "xy"
    assert evaluate("event.a + event.b", a="x", b=1, **data) == "EVALUATION_ERROR"


@pytest.mark.parametrize(
    "guard",
    ["event.a > 1", "event.a + 1 == 2", "event.a", "'x' in event.a", "matches(event.a, 'x')"],
)
def test_untyped_data_of_the_wrong_kind_is_a_guard_type_error(guard: str) -> None:
    first = f"{{go: {{when: {guard!r}, to: two}}}}"
    contract = contract_of(states_and(events='{go: {"*": json}}', first=first))
    for wrong in ({"a": {"x": 1}}, {"a": {"y": []}}):
        outcome = step(contract, "one", {}, ("go", wrong))
        assert isinstance(outcome, Refused)
        assert outcome.code == "GUARD_TYPE_ERROR"


def test_untyped_numbers_are_the_same_before_and_after_being_stored() -> None:
    contract = contract_of(states_and(context="{j: json}", first="{go: {set: {j: 'round(j, 0)'}}}"))
    after = step(contract, "one", {"j": Decimal("5.4")}, "go").context
    assert after == {"j": 5}
    assert type(after["j"]) is int


# Merged payloads


def test_a_merged_payload_lies_over_the_context_and_stays_if_a_row_is_taken() -> None:
    outcome = step(MERGED, "a", {}, ("load", {"n": 4, "flag": True, "other": "x"}))
    assert isinstance(outcome, Moved)
    assert outcome.context == {"tries": 1, "n": 4, "d": 0, "flag": True, "other": "x"}
    assert outcome.intents[0].payload == {"n": 5, "all": "x"}


def test_a_payload_object_is_lifted_one_level_under_the_fields_beside_it() -> None:
    outcome = step(MERGED, "a", {}, ("load", {"n": 1, "payload": {"n": 2, "flag": False}}))
    assert isinstance(outcome, Stayed)
    kept = {"n": 1, "flag": False, "payload": {"n": 2, "flag": False}}
    assert outcome.context == {"tries": 1, "d": 0} | kept


def test_a_merged_payload_never_touches_what_the_machine_owns() -> None:
    outcome = step(MERGED, "a", {}, ("load", {"tries": 99, "payload": {"tries": 98}}))
    assert isinstance(outcome, Stayed)
    assert outcome.context["tries"] == 1


def test_a_merged_value_must_fit_the_field_it_is_laid_over() -> None:
    outcome = step(MERGED, "a", {}, ("load", {"n": "text"}))
    assert isinstance(outcome, Refused)
    assert outcome.code == "VALIDATION_ERROR"
    merged = step(MERGED, "a", {}, ("load", {"d": 1}))
    assert type(merged.context["d"]) is Decimal


def test_an_event_without_payload_is_taken_where_payloads_are_merged() -> None:
    assert isinstance(step(MERGED, "a", {}, "plain"), Moved)
    assert isinstance(step(MERGED, "a", {}, ("plain", {})), Moved)


# The example


def test_the_order_example_runs_from_the_first_item_to_the_parcel() -> None:
    outcome: Outcome = start(ORDER)
    emitted: list[Any] = []
    for event in (
        ("add_item", {"sku": "tea", "price": "4.50"}),
        ("add_item", {"sku": "cup", "price": Decimal("5.50")}),
        ("pay", {"amount": 4}),
        ("pay", {"amount": 6}),
        ("declined", {"code": "51"}),
        ("charged", {"ref": "c-1"}),
        "packed",
    ):
        outcome = step(ORDER, outcome.state, outcome.context, event)
        assert not isinstance(outcome, Refused), outcome.message
        emitted += [(intent.name, dict(intent.payload)) for intent in outcome.intents]
    assert outcome.state == "shipped"
    assert write_json(outcome.context) == '{"total":10.00,"paid":10,"tries":1}'
    assert emitted == [("charge_card", {"amount": Decimal(10)})] * 2


def test_the_order_example_gives_up_after_three_declines() -> None:
    context = {"total": 10, "paid": 10}
    state, seen = "charging", []
    for _ in range(3):
        outcome = step(ORDER, state, context, ("declined", {"code": "51"}))
        assert isinstance(outcome, Moved)
        state, context = outcome.state, outcome.context
        seen.append((state, context["tries"], len(outcome.intents)))
    assert seen == [("charging", 1, 1), ("charging", 2, 1), ("failed", 2, 0)]


def test_names_may_be_members_of_an_enumeration() -> None:
    class Name(StrEnum):
        PACKED = "packed"

    outcome = step(interlock.load("order"), "packing", {}, Name.PACKED)
    assert isinstance(outcome, Moved)
    assert outcome.state == "shipped"


def test_a_payload_holds_no_integer_that_cannot_be_kept() -> None:
    text = """
    contract: x
    context: {n: int = 9007199254740992}
    events: [go]
    states:
      a: {go: {to: b, do: {do: tell, with: {n: n * n}}}}
      b: {end: ok}
    """
    outcome = step(contract_of(text), "a", None, "go")
    assert isinstance(outcome, Refused)
    assert outcome.code == "EVALUATION_ERROR"


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("step_by", ["+ 1", "- 1", "+ 0", "+ 9007199254740992"])
def test_a_row_that_counts_under_a_bound_answers_like_any_other(op: str, step_by: str) -> None:
    """The same row is told twice: once so plainly that it is made one function, once not."""
    plain = states_and(
        context="{n: int = 0}",
        first=f"{{go: [{{when: n {op} 3, to: two, set: {{n: n {step_by}}}}}, {{else: stay}}]}}",
    )
    other = plain.replace(f"when: n {op} 3", f"when: n {op} 3 and 1 < 2")
    one, two = contract_of(plain), contract_of(other)
    assert one.tables.plans["one"]["go"].counted is not None
    assert two.tables.plans["one"]["go"].counted is None
    for value in (-(2**53), -1, 0, 2, 3, 4, 2**53):
        first, second = step(one, "one", {"n": value}, "go"), step(two, "one", {"n": value}, "go")
        assert type(first) is type(second)
        assert (first.state, dict(first.context)) == (second.state, dict(second.context))
