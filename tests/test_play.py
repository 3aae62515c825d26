"""Claims about playing events: a contract's own tests, and requests from outside."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock
from interlock.contract.read import Source, bundled, read_contract
from interlock.play import MAX_EVENTS, answer_line, play, run_tests
from interlock.testing import sequences

if TYPE_CHECKING:
    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem


def contract_of(text: str) -> Contract:
    """Return the contract of a text, read but not checked."""
    read = read_contract(Source(text, "test"))
    assert read.contract is not None
    assert read.problems == []
    return read.contract


PARCEL = """\
contract: parcel
version: 3
context: {weight: decimal = 0, tries: int = 0, note: str | null, left: time | null}
events:
  weigh: {weight: decimal > 0}
  send: {}
  back: {}
  hold: {}
  name: {note: str}
states:
  shelf:
    enter: stored
    exit: fetched
    weigh: {set: {weight: event.weight}, do: {do: label, with: {weight: weight}}}
    send:
      - {when: weight > 20, to: freight}
      - {when: weight > 0, to: van}
    hold: shelf
    name: {set: {note: event.note}}
  van:
    always: [{when: tries > 1, to: lost}]
    back: {to: shelf, set: {tries: tries + 1}}
    send: gone
  freight: {always: {to: gone}}
  gone: {end: ok}
  lost: {end: error}
"""


def parcel(*tests: str) -> Contract:
    return contract_of(PARCEL + "tests:\n" + "".join(f"  - {test}\n" for test in tests))


def problems_of(*tests: str) -> list[Problem]:
    return run_tests(parcel(*tests))


def ask(request: object, contract: Contract | None = None) -> Any:
    line = request if isinstance(request, str) else json.dumps(request)
    return json.loads(answer_line(contract or contract_of(PARCEL), line), parse_float=Decimal)


# The tests of a contract


def test_a_test_without_a_given_state_begins_with_a_new_instance() -> None:
    assert problems_of("{events: [hold], intents: [stored, fetched, stored], expect: shelf}") == []


def test_a_test_with_a_given_state_begins_there_without_entering_it() -> None:
    assert problems_of("{given: {state: shelf}, events: [hold], intents: [fetched, stored]}") == []
    assert problems_of("{given: {state: van, tries: 5}, events: [send], expect: gone}") == []


def test_a_wrong_state_is_told_with_its_place_and_its_events() -> None:
    [found] = problems_of(
        "{given: {weight: 2}, events: [send], expect: van}",
        "{given: {weight: 30}, events: [hold, {name: {note: x}}, send], expect: van}",
    )
    assert (found.code, found.severity, found.where) == ("test_failed", "error", "tests[1]")
    assert found.message == "expected state van, found gone"
    assert found.witness == ("hold", 'name {"note":"x"}', "send")
    assert (found.line, found.column) == (29, 5)


def test_a_named_test_is_told_by_its_name() -> None:
    [found] = problems_of("{name: light parcels, events: [send], expect: van}")
    assert found.where == "light parcels"


def test_every_difference_of_a_test_is_in_its_one_problem() -> None:
    [found] = problems_of(
        "{events: [send], expect: van, intents: [stored, fetched], outcomes: [moved],"
        " context: {weight: 1, tries: 0}}"
    )
    assert found.message == (
        "expected state van, found shelf; expected weight = 1, found 0; "
        "expected outcomes [moved], found [refused:GUARD_FAILED]; "
        "expected intents [stored, fetched], found [stored]"
    )


def test_an_unexpected_refusal_is_told_as_the_hint() -> None:
    [found] = problems_of(
        "{events: [back, send], outcomes: ['refused:INVALID_TRANSITION', moved], expect: van}"
    )
    assert found.hint.startswith("event 2, send, was refused: GUARD_FAILED: weight > 20")
    [quiet] = problems_of("{events: [back], outcomes: ['refused:INVALID_TRANSITION'], expect: van}")
    assert quiet.hint == ""


def test_expected_values_are_read_by_the_type_of_their_field() -> None:
    time = "left: '2026-01-01T01:00:00+01:00'"
    given = "{state: shelf, weight: '2.50', left: '2026-01-01T00:00:00Z'}"
    assert problems_of(f"{{given: {given}, events: [], context: {{weight: 2.5, {time}}}}}") == []
    assert problems_of("{events: [], context: {note: null}}") == []
    [found] = problems_of("{events: [], context: {tries: 1.5}}")
    assert found.message.startswith("tries can never be 1.5: ")


def test_an_expected_field_that_does_not_exist_is_a_difference() -> None:
    [found] = problems_of("{events: [], context: {size: 1}}")
    assert found.message == "expected size = 1, but the context has no such field"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{state: nowhere}", "there is no state 'nowhere'"),
        ("{weight: heavy}", "weight: 'heavy' is not a decimal number"),
        ("{state: van, size: 1}", "the context has no field 'size'"),
    ],
)
def test_a_test_that_cannot_begin_fails(given: str, reason: str) -> None:
    [found] = problems_of(f"{{given: {given}, events: [send], expect: van}}")
    assert found.message.startswith("the test cannot begin: ")
    assert reason in found.message


def test_untyped_expectations_tell_true_from_one_and_look_inside() -> None:
    text = "contract: t\ncontext: {j: json}\nevents: {go: {}}\nstates: {one: {go: one}}\ntests:\n"
    same = "  - {given: {j: {a: [1, true]}}, events: [], context: {j: {a: [1.0, true]}}}\n"
    other = "  - {given: {j: {a: [1, true]}}, events: [], context: {j: {a: [true, 1]}}}\n"
    shorter = "  - {given: {j: [1]}, events: [], context: {j: [1, 2]}}\n"
    found = run_tests(contract_of(text + same + other + shorter))
    assert [problem.where for problem in found] == ["tests[1]", "tests[2]"]


@pytest.mark.parametrize("name", bundled())
def test_the_tests_of_every_bundled_contract_pass(name: str) -> None:
    contract = interlock.load(name)
    assert contract.tests
    assert run_tests(contract) == []


# Playing


def test_a_play_keeps_the_trail_with_the_states_passed_through() -> None:
    played = play(contract_of(PARCEL), events=[("weigh", {"weight": 30}), "send"])
    assert (played.state, played.trail) == ("gone", ("shelf", "freight", "gone"))
    assert played.outcomes == ("stayed", "moved")
    assert played.intents == ("stored", "label", "fetched")
    assert played.emitted[1] == {"name": "label", "payload": {"weight": Decimal(30)}}


def test_a_stay_adds_nothing_to_the_trail_and_a_return_adds_the_state_again() -> None:
    played = play(contract_of(PARCEL), events=[{"name": {"note": "x"}}, "hold", "hold"])
    assert played.trail == ("shelf", "shelf", "shelf")
    assert played.outcomes == ("stayed", "moved", "moved")


def test_a_given_state_begins_the_trail() -> None:
    played = play(contract_of(PARCEL), state="van", context={"tries": 7}, events=[])
    assert (played.trail, played.intents, played.context["tries"]) == (("van",), (), 7)


def test_a_refusal_does_not_end_the_play_and_is_kept() -> None:
    played = play(contract_of(PARCEL), events=["back", "nothing", ("weigh", {"weight": 1}), "send"])
    codes = ["INVALID_TRANSITION", "UNKNOWN_EVENT"]
    assert played.outcomes == (*(f"refused:{code}" for code in codes), "stayed", "moved")
    assert [refused.code for refused in played.refusals] == codes
    assert "no row for 'back'" in played.refusals[0].message


def test_a_play_that_cannot_begin_says_why() -> None:
    contract = contract_of(PARCEL)
    for played, code in (
        (play(contract, state="nowhere", events=["send"]), "INVALID_TRANSITION"),
        (play(contract, context={"size": 1}, events=["send"]), "VALIDATION_ERROR"),
        (play(contract, state="van", context={"size": 1}, events=[]), "VALIDATION_ERROR"),
    ):
        assert played.error is not None
        assert played.error.code == code
        assert set(played.outcomes) <= {f"refused:{code}"}
        assert played.trail == ()


# Requests


def test_a_request_is_answered_with_what_came_of_it() -> None:
    assert ask({"events": [{"weigh": {"weight": 30}}, "back", "send"]}) == {
        "state": "gone",
        "context": {"weight": 30, "tries": 0, "note": None, "left": None},
        "trail": ["shelf", "freight", "gone"],
        "outcomes": ["stayed", "refused:INVALID_TRANSITION", "moved"],
        "intents": ["stored", "label", "fetched"],
        "emitted": [
            {"name": "stored", "payload": {}},
            {"name": "label", "payload": {"weight": 30}},
            {"name": "fetched", "payload": {}},
        ],
    }


def test_a_request_may_name_the_state_and_the_context_to_begin_with() -> None:
    answer = ask({"state": "van", "context": {"tries": 1, "weight": 2}, "events": ["back", "send"]})
    assert answer["trail"] == ["van", "shelf", "van", "lost"]
    assert ask({"state": None, "context": None, "events": []})["trail"] == ["shelf"]


def test_numbers_keep_their_digits() -> None:
    request = '{"context": {"weight": 0.10}, "events": [{"weigh": {"weight": 20.300000000000001}}]}'
    answer = answer_line(contract_of(PARCEL), request)
    assert '"context":{"weight":20.300000000000001,' in answer
    assert '"payload":{"weight":20.300000000000001}' in answer
    untouched = answer_line(contract_of(PARCEL), '{"context": {"weight": 0.10}, "events": []}')
    assert '"weight":0.10,' in untouched


def test_times_are_answered_as_text() -> None:
    answer = ask({"context": {"left": "2026-01-01T01:00:00+01:00"}, "events": []})
    assert answer["context"]["left"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("", "VALIDATION_ERROR"),
        ("{", "VALIDATION_ERROR"),
        ("[]", "VALIDATION_ERROR"),
        ("null", "VALIDATION_ERROR"),
        ("{}", "VALIDATION_ERROR"),
        ('{"events": "send"}', "VALIDATION_ERROR"),
        ('{"events": [], "state": 1}', "VALIDATION_ERROR"),
        ('{"events": [], "context": []}', "VALIDATION_ERROR"),
        ('{"events": [], "context": {"size": 1}}', "VALIDATION_ERROR"),
        ('{"events": [], "context": {"weight": NaN}}', "VALIDATION_ERROR"),
        ('{"events": [], "context": {"weight": 1e99999999999999999999}}', "VALIDATION_ERROR"),
        ('{"events": [], "context": {"weight": 1e999999}}', "VALIDATION_ERROR"),
        ('{"events": [], "more": 1}', "VALIDATION_ERROR"),
        ('{"events": [], "state": "nowhere"}', "INVALID_TRANSITION"),
        ('{"events": [], "state": "\\ud800"}', "INVALID_TRANSITION"),
        ('{"events": [], "context": {"\\ud800": 1}}', "VALIDATION_ERROR"),
        ("\udcff", "VALIDATION_ERROR"),
    ],
)
def test_a_request_that_cannot_be_played_is_answered_with_its_error(
    request_: str, code: str
) -> None:
    answer = ask(request_)
    assert answer["error"] == code
    assert answer["message"]
    assert {"error", "message"} <= set(answer)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"events": ' + "[" * 900 + "]" * 900 + "}",
        '{"events": [{"name": {"note": ' + '{"a": ' * 900 + "1" + "}" * 900 + "}}]}",
        '{"events": [], "context": {"weight": ' + "1" * 10_000 + "}}",
        '{"events": [{"weigh": {"weight": ' + "9" * 4_000 + "}}]}",
        json.dumps({"events": ["x" * 1_000_000]}),
        json.dumps({"events": ["send"] * (MAX_EVENTS + 1)}),
        json.dumps({"events": [{"name": {"note": "\ud800"}}]}),
        json.dumps({"events": ["\ud800"]}),
    ],
    ids=len,
)
def test_deep_and_huge_requests_are_answered(line: str) -> None:
    assert isinstance(ask(line), dict)


def test_odd_names_of_undeclared_fields_are_refused_where_they_come_in() -> None:
    text = 'contract: t\ncontext: {"*": json}\nevents: {go: {"*": json}}\npayload: merge\n'
    contract = contract_of(text + "states: {one: {go: one}}\n")
    bad, good = {"events": [{"go": {"\ud800": 1}}]}, {"events": [{"go": {"ä": 1}}]}
    assert ask(bad, contract)["outcomes"] == ["refused:VALIDATION_ERROR"]
    assert ask({"context": {"\udfff": 1}, "events": []}, contract)["error"] == "VALIDATION_ERROR"
    assert ask(good, contract)["context"] == {"ä": 1}


@given(st.text() | st.binary())
def test_any_text_at_all_is_answered_with_an_object(line: str | bytes) -> None:
    assert isinstance(json.loads(answer_line(contract_of(PARCEL), line)), dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
NAMES = st.sampled_from(["weigh", "send", "back", "hold", "name", "other"])


@given(
    st.fixed_dictionaries(
        {"events": st.lists(NAMES | st.dictionaries(NAMES, JSON, max_size=2) | JSON)},
        optional={
            "state": st.sampled_from(["shelf", "van", "lost"]) | JSON,
            "context": st.dictionaries(st.sampled_from(["weight", "tries", "note"]), JSON) | JSON,
        },
    )
)
def test_any_request_is_answered_with_an_object(request_: dict[str, Any]) -> None:
    answer = json.loads(answer_line(contract_of(PARCEL), json.dumps(request_)))
    assert "error" in answer or "state" in answer


ORDER = interlock.load("order")


@given(sequences(ORDER, max_size=6))
def test_a_request_comes_to_the_same_as_a_play_in_python(steps: list[interlock.Event]) -> None:
    played = play(ORDER, events=steps)
    sent = [{event.name: event.payload} for event in steps]
    request = json.dumps({"events": sent}, default=str)
    answer = ask(request, ORDER)
    assert (answer["state"], answer["trail"]) == (played.state, list(played.trail))
    assert answer["outcomes"] == list(played.outcomes)
    assert answer["context"] == dict(played.context)
    assert answer["intents"] == list(played.intents)
