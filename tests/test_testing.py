"""Claims about the strategies made from a contract: what they give fits, and reaches far."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.stateful import invariant
from msgspec import UNSET
from msgspec.structs import replace

import interlock
from interlock import testing
from interlock.contract.expression.declare import parse_declaration
from interlock.contract.expression.values import reader, write_json
from interlock.contract.outcome import Moved, Refused
from interlock.contract.read import Source, bundled, read_contract
from interlock.contract.tables import read_context
from interlock.errors import NotFound
from interlock.machine import Event, start, step
from interlock.play import play

if TYPE_CHECKING:
    from interlock.contract.model import Contract


def contract_of(text: str) -> Contract:
    """Return the contract of a text, read but not checked."""
    read = read_contract(Source(text, "test"))
    assert read.contract is not None
    assert read.problems == []
    return read.contract


ORDER = interlock.load("order")
DECLARATIONS = [
    "bool",
    "int",
    "int > 3 <= 5",
    "int >= -2 < 0",
    "decimal",
    "decimal > 0",
    "decimal > 0.001 < 0.002",
    "str",
    "str | null",
    "str len > 2 len <= 4",
    "str len >= 30",
    r"str matches '^[A-Z]{2}-[0-9]+$'",
    "time",
    "duration",
    "json",
    "red | green | null",
    "list of int",
    "list of str len >= 2 len < 4",
]


# Values


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_every_value_fits_its_declaration(declaration: str) -> None:
    type_, _ = parse_declaration(declaration)
    read = reader(type_)

    @given(testing.values(type_))
    @settings(max_examples=60)
    def try_one(value: object) -> None:
        read(value)

    try_one()


@pytest.mark.parametrize("declaration", ["int | null", "red | green | null", "decimal | null"])
def test_null_is_among_the_values_of_what_may_be_null(declaration: str) -> None:
    type_, _ = parse_declaration(declaration)
    assert find(testing.values(type_), lambda value: value is None) is None
    assert find(testing.values(type_), lambda value: value is not None) is not None


def test_values_come_close_to_their_bounds() -> None:
    type_, _ = parse_declaration("decimal > 0 <= 2")
    assert find(testing.values(type_), lambda value: value == Decimal("0.01")) is not None
    assert find(testing.values(type_), lambda value: value == 2) is not None


# Contexts, payloads, events


@pytest.mark.parametrize("name", bundled())
def test_every_context_is_one_the_contract_takes(name: str) -> None:
    contract = interlock.load(name)

    @given(testing.contexts(contract))
    @settings(max_examples=30)
    def try_one(context: dict[str, Any]) -> None:
        assert read_context(contract, context).keys() >= contract.context.keys()

    try_one()


@pytest.mark.parametrize("name", bundled())
def test_every_event_is_one_the_contract_takes(name: str) -> None:
    contract = interlock.load(name)

    @given(st.sampled_from(list(contract.states)), testing.events(contract))
    @settings(max_examples=60)
    def try_one(state: str, event: Event) -> None:
        outcome = step(contract, state, None, event)
        refusals = {"UNKNOWN_EVENT", "VALIDATION_ERROR"}
        assert not (isinstance(outcome, Refused) and outcome.code in refusals), outcome

    try_one()


def test_every_event_of_a_contract_comes_about() -> None:
    for name in ORDER.events:
        assert find(testing.events(ORDER), lambda event, name=name: event.name == name)  # type: ignore[misc]


def test_an_unknown_event_has_no_payloads() -> None:
    with pytest.raises(NotFound, match="lists no event 'pray'"):
        testing.payloads(ORDER, "pray")


def test_optional_fields_are_sometimes_given_and_sometimes_not() -> None:
    contract = contract_of(
        "contract: t\nevents: {go: {x: int, y: int = 3}}\nstates: {a: {go: a}}\n"
    )
    payloads = testing.payloads(contract, "go")
    assert find(payloads, lambda payload: "y" in payload)
    assert find(payloads, lambda payload: "y" not in payload)


OPEN = contract_of(
    """
contract: open
payload: merge
context: {n: int = 0, "*": json}
events: {go: {"*": json}}
counters: {tries: {max: 3, up: [go]}}
states:
  one:
    go:
      - {when: color == 'blue' and event.size > 3 and other == true, to: two}
      - {when: "n == 7 and event.kind in ['x']", to: two}
  two: {end: ok}
"""
)


def test_open_payloads_carry_what_guards_read_with_the_constants_they_compare_with() -> None:
    payloads = testing.payloads(OPEN, "go")
    assert find(payloads, lambda payload: payload.get("color") == "blue")
    assert find(payloads, lambda payload: payload.get("kind") == "x")
    assert find(payloads, lambda payload: payload.get("n") == 7)
    with pytest.raises(NoSuchExample):
        find(payloads, lambda payload: "tries" in payload, settings=settings(max_examples=50))


def test_open_contexts_hold_what_guards_read() -> None:
    assert find(testing.contexts(OPEN), lambda context: context.get("color") == "blue")
    assert find(testing.contexts(OPEN), lambda context: "color" not in context)


def test_the_events_of_an_open_contract_reach_its_guards() -> None:
    def moves(event: Event) -> bool:
        return isinstance(step(OPEN, "one", None, event), Moved)

    limits = settings(max_examples=20_000, phases=[Phase.generate])
    assert find(testing.events(OPEN), moves, settings=limits)


# Sequences


@given(testing.sequences(ORDER, max_size=4))
def test_a_sequence_is_played_and_is_no_longer_than_asked_for(events: list[Event]) -> None:
    assert len(events) <= 4
    played = play(ORDER, events=events)
    assert played.error is None
    assert len(played.outcomes) == len(events)


def test_sequences_reach_the_ends() -> None:
    def ends(events: list[Event]) -> bool:
        return play(ORDER, events=events).state == "cancelled"

    assert [event.name for event in find(testing.sequences(ORDER), ends)] == ["cancel"]


# Garbage


@given(testing.wild_events(ORDER))
def test_wild_events_never_make_a_step_raise(event: object) -> None:
    step(ORDER, "cart", None, event)


def test_wild_events_are_sometimes_nearly_right() -> None:
    def fits(event: object) -> bool:
        return not isinstance(step(ORDER, "cart", None, event), Refused)

    assert find(testing.wild_events(ORDER), fits)
    assert find(testing.wild_events(), lambda event: isinstance(event, bytes)) == b""


# The walker


def run(case: Any) -> None:
    limits = {"max_examples": 15, "stateful_step_count": 8, "phases": [Phase.generate]}
    case.settings = settings(case.settings, **limits)
    case("runTest").runTest()


@pytest.mark.parametrize("name", bundled())
def test_a_walker_finds_no_fault_with_a_bundled_contract(name: str) -> None:
    run(testing.walker(interlock.load(name)).TestCase)


def test_a_walker_can_be_given_claims_of_its_own() -> None:
    class Patient(testing.walker(ORDER)):  # type: ignore[misc]
        @invariant()
        def is_never_cancelled(self) -> None:
            assert self.state != "cancelled"

    with pytest.raises(AssertionError):
        run(Patient.TestCase)


def test_a_walker_begins_with_any_context() -> None:
    contract = contract_of(
        "contract: t\ncontext: {n: int = 0}\nevents: {go: {}}\n"
        "states: {a: {go: {when: n > 5, to: b}}, b: {end: ok}}\n"
    )
    field = replace(contract.context["n"], default=UNSET)
    contract = replace(contract, context={"n": field})
    assert isinstance(start(contract), Refused)
    run(testing.walker(contract).TestCase)


# Without hypothesis

BLOCKED = """\
import sys
sys.modules["hypothesis"] = None
from interlock import load
from interlock import testing
from interlock.errors import SettingsError
try:
    testing.events(load("order"))
except SettingsError as reason:
    print(reason)
"""


def test_without_hypothesis_only_the_call_fails_and_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], check=True, capture_output=True, text=True
    )
    assert done.stdout == "interlock.testing needs hypothesis: pip install interlock[testing]\n"


def test_examples_can_be_written_as_json() -> None:
    payload = find(testing.payloads(ORDER, "pay"), lambda payload: payload["amount"] < 1)
    assert write_json(payload) == '{"amount":0.01}'
