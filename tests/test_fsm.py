"""Claims about the FSM dialect: what is read, what it does, and where its faults are told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import interlock
from interlock.contract.expression.values import write_json
from interlock.contract.fsm import settings as fsm_settings
from interlock.contract.fsm.read import START_VALUES, TIMEOUT_EVENTS
from interlock.contract.fsm.rows import ACTION_KINDS
from interlock.contract.native.write import write_native
from interlock.contract.outcome import Moved, Refused
from interlock.contract.read import BUNDLED, FSM_PLACES, Read, Source, read_contract
from interlock.machine import Outcome, start, step
from interlock.play import run_tests

if TYPE_CHECKING:
    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data" / "fsm"
TEXT = (DATA / "registration.yaml").read_text("utf-8")
PARALLEL = (DATA / "registration_parallel.yaml").read_text("utf-8")
NATIVE = (BUNDLED / "registration-1.0.0.yaml").read_text("utf-8")
PAGE = ROOT / "docs" / "reference" / "fsm-dialect.md"

SMALL = """\
initial_state: here
states:
  - {state_name: here}
  - {state_name: there, is_terminal: true}
transitions:
  - transition_name: walk
    from_state: here
    to_state: there
    trigger: GO
"""

STATES = {  # name: type, terminal, recoverable, time-out in seconds
    "unregistered": ("initial", False, True, None),
    "validating": ("operational", False, True, 5),
    "registering_postgres": ("operational", False, True, 10),
    "postgres_registered": ("snapshot", False, True, None),
    "registering_consul": ("operational", False, True, 10),
    "registered": ("success", False, False, None),
    "partial_registered": ("error", False, True, None),
    "deregistering": ("operational", False, True, 15),
    "deregistered": ("terminal", True, False, None),
    "failed": ("error", False, True, None),
}

PAYLOADS: dict[str, dict[str, Any]] = {
    "REGISTER": {"payload": {"node_id": "n-1"}},
    "VALIDATION_PASSED": {"validation_result": "passed"},
    "VALIDATION_FAILED": {"validation_result": "failed"},
    "POSTGRES_SUCCEEDED": {"postgres_applied": True},
    "POSTGRES_FAILED": {"postgres_applied": False},
    "CONSUL_SUCCEEDED": {"consul_applied": True},
    "CONSUL_FAILED": {"consul_applied": False},
    "RETRY": {"postgres_applied": True},
    "RETRY_POSTGRES": {"consul_applied": True},
    "RECOVERY_COMPLETE": {"postgres_applied": True, "consul_applied": True},
}

TRANSITIONS = [
    ("start_registration", "unregistered", "validating", "REGISTER", 10),
    ("validation_success", "validating", "registering_postgres", "VALIDATION_PASSED", 10),
    ("validation_failure", "validating", "failed", "VALIDATION_FAILED", 10),
    ("postgres_success", "registering_postgres", "postgres_registered", "POSTGRES_SUCCEEDED", 10),
    ("postgres_failure", "registering_postgres", "failed", "POSTGRES_FAILED", 10),
    ("start_consul_registration", "postgres_registered", "registering_consul", "CONTINUE", 10),
    ("consul_success", "registering_consul", "registered", "CONSUL_SUCCEEDED", 10),
    ("consul_failure", "registering_consul", "partial_registered", "CONSUL_FAILED", 10),
    ("retry_consul", "partial_registered", "registering_consul", "RETRY", 10),
    ("retry_postgres", "partial_registered", "registering_postgres", "RETRY_POSTGRES", 10),
    ("partial_recovery_success", "partial_registered", "registered", "RECOVERY_COMPLETE", 10),
    ("initiate_deregistration", "registered", "deregistering", "DEREGISTER", 10),
    ("deregistration_complete", "deregistering", "deregistered", "DEREGISTRATION_COMPLETE", 10),
    ("retry_from_failed", "failed", "validating", "RETRY", 10),
    ("abandon_registration", "failed", "deregistered", "ABANDON", 5),
    ("global_error_handler", "*", "failed", "FATAL_ERROR", 0),
    ("retry_exhausted", "partial_registered", "failed", "RETRY_EXHAUSTED", 10),
]


def read(text: str) -> Read:
    return read_contract(Source(text, "test"))


def contract_of(text: str) -> Contract:
    contract, problems, *_ = read(text)
    assert contract is not None
    assert [found for found in problems if found.severity == "error"] == []
    return contract


REGISTRATION = contract_of(TEXT)


def after(state: str, event: str, /, payload: object = None, **context: object) -> Outcome:
    """Return what the registration makes of an event."""
    return step(REGISTRATION, state, context, (event, payload))


def moved(state: str, event: str, /, payload: object = None, **context: object) -> Moved:
    outcome = after(state, event, payload, **context)
    assert isinstance(outcome, Moved), outcome
    return outcome


def refused(state: str, event: str, /, payload: object = None, **context: object) -> Refused:
    outcome = after(state, event, payload, **context)
    assert isinstance(outcome, Refused), outcome
    return outcome


def changed(old: str, new: str, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new, 1)


def errors_of(text: str) -> list[Problem]:
    return [found for found in read(text).problems if found.severity == "error"]


def place_of(text: str, token: str) -> tuple[int, int]:
    """Return the line and column of a token that stands once in a text."""
    assert text.count(token) == 1, token
    before = text[: text.index(token)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


# The states and transitions


@pytest.mark.parametrize("name", STATES)
def test_a_state_has_its_type_its_end_and_its_recovery(name: str) -> None:
    kind, terminal, recoverable, seconds = STATES[name]
    state = REGISTRATION.states[name]
    assert (state.kind, state.end is not None, state.recoverable) == (kind, terminal, recoverable)
    assert [timer.after for timer in state.timers] == (
        [] if seconds is None else [timedelta(seconds=seconds)]
    )


def test_there_are_ten_states_and_the_first_is_unregistered() -> None:
    assert list(REGISTRATION.states) == list(STATES)
    assert REGISTRATION.initial == "unregistered"


def test_every_transition_is_read_with_its_priority() -> None:
    rows = {
        row.name: (state.name, row.to, row.event, row.priority)
        for state in REGISTRATION.states.values()
        for row in (*state.rows, *state.always)
    }
    rows |= {row.name: ("*", row.to, row.event, row.priority) for row in REGISTRATION.any}
    assert rows == {name: tuple(rest) for name, *rest in TRANSITIONS}
    assert len(rows) == 17


@pytest.mark.parametrize(("name", "source", "target", "event"), [t[:4] for t in TRANSITIONS])
def test_every_transition_fires(name: str, source: str, target: str, event: str) -> None:
    if event == "CONTINUE":
        source, event = "registering_postgres", "POSTGRES_SUCCEEDED"
    context = {"retry_count": 3} if event == "RETRY_EXHAUSTED" else {}
    source = "deregistering" if source == "*" else source
    outcome = moved(source, event, PAYLOADS.get(event), **context)
    assert target in outcome.trail
    assert name in [row.name for row in outcome.rows]


@pytest.mark.parametrize("name", STATES)
def test_a_fatal_error_fails_every_state_but_the_ended_one(name: str) -> None:
    outcome = after(name, "FATAL_ERROR")
    if name == "deregistered":
        assert isinstance(outcome, Refused)
        assert outcome.code == "INVALID_TRANSITION"
    else:
        assert outcome.state == "failed"


def test_nothing_leads_out_of_the_ended_state() -> None:
    codes = {refused("deregistered", event).code for event in REGISTRATION.events}
    assert codes == {"INVALID_TRANSITION"}


def test_a_registered_node_only_deregisters_or_fails() -> None:
    outcomes = {event: after("registered", event) for event in REGISTRATION.events}
    taken = {event for event, outcome in outcomes.items() if isinstance(outcome, Moved)}
    assert taken == {"DEREGISTER", "FATAL_ERROR"}


def test_consul_is_not_asked_when_postgres_failed() -> None:
    outcome = moved("registering_postgres", "POSTGRES_FAILED", {"postgres_applied": False})
    assert outcome.state == "failed"
    assert "consul.register" not in [intent.name for intent in outcome.intents]


def test_a_retry_from_partial_repeats_one_backend_only() -> None:
    consul = moved("partial_registered", "RETRY", postgres_applied=True)
    assert [intent.name for intent in consul.intents] == ["log_event", "consul.register"]
    postgres = moved("partial_registered", "RETRY_POSTGRES", consul_applied=True)
    assert [one.name for one in postgres.intents] == ["log_event", "postgres.upsert_registration"]
    assert refused("partial_registered", "RETRY", consul_applied=True).code == "GUARD_FAILED"


def test_recovery_needs_both_backends() -> None:
    refused("partial_registered", "RECOVERY_COMPLETE", postgres_applied=True)
    refused("partial_registered", "RECOVERY_COMPLETE", consul_applied=True)
    both = {"postgres_applied": True, "consul_applied": True}
    assert moved("partial_registered", "RECOVERY_COMPLETE", both).state == "registered"


def test_a_retry_from_failed_begins_with_validation_and_abandoning_ends() -> None:
    assert moved("failed", "RETRY").state == "validating"
    assert moved("failed", "ABANDON").state == "deregistered"


# CONTINUE


def test_the_checkpoint_is_passed_within_the_step_and_is_in_its_trail() -> None:
    outcome = moved("registering_postgres", "POSTGRES_SUCCEEDED", {"postgres_applied": True})
    assert outcome.state == "registering_consul"
    assert outcome.trail == ("postgres_registered", "registering_consul")
    assert [row.event for row in outcome.rows] == ["POSTGRES_SUCCEEDED", "CONTINUE"]


@pytest.mark.parametrize("name", STATES)
def test_continue_is_never_taken_from_outside(name: str) -> None:
    assert refused(name, "CONTINUE").code == "INVALID_TRANSITION"


def test_what_cannot_be_evaluated_raises_the_fatal_error() -> None:
    assert REGISTRATION.on_error == "FATAL_ERROR"
    assert contract_of(SMALL).on_error is None


def test_continue_cannot_lead_from_every_state() -> None:
    text = changed("from_state: here", 'from_state: "*"', SMALL)
    [error] = errors_of(changed("trigger: GO", "trigger: CONTINUE", text))
    assert (error.code, error.line) == ("bad_value", 7)


def test_rows_of_continue_are_tried_by_priority() -> None:
    row = "  - {{from_state: here, to_state: {}, trigger: CONTINUE, priority: {}}}\n"
    text = changed("there, is_terminal: true", "there", SMALL) + row.format("here", 1)
    contract = contract_of(text + row.format("there", 2))
    assert [one.to for one in contract.states["here"].always] == ["there", "here"]


# Intents


def test_exit_row_and_entry_emit_in_this_order() -> None:
    outcome = moved("unregistered", "REGISTER", PAYLOADS["REGISTER"])
    labels = [intent.effect.label for intent in outcome.intents if intent.effect]
    assert labels == ["log_registration_start", "log_registration_initiated", "validate_payload"]
    assert [one.name for one in outcome.intents] == ["log_event", "log_event", "validate_payload"]


def test_entering_a_state_emits_the_intents_of_the_matrix() -> None:
    entered = {
        name: [effect.intent for effect in state.enter]
        for name, state in REGISTRATION.states.items()
    }
    assert entered == {
        "unregistered": [],
        "validating": ["validate_payload"],
        "registering_postgres": ["postgres.upsert_registration"],
        "postgres_registered": ["log_metric"],
        "registering_consul": ["consul.register"],
        "registered": ["log_event", "log_metric"],
        "partial_registered": ["log_event", "log_metric"],
        "deregistering": ["consul.deregister", "postgres.delete_registration"],
        "deregistered": ["log_event", "log_metric"],
        "failed": ["log_event", "log_metric"],
    }


def test_what_an_action_configures_is_the_payload_of_its_intent() -> None:
    outcome = moved("registering_consul", "CONSUL_SUCCEEDED", {"consul_applied": True})
    assert outcome.intents[0].name == "log_metric"
    assert outcome.intents[0].payload == {"metric": "registration_complete", "value": 1}


def test_lists_and_all_scalars_can_be_configured_and_nothing_deeper() -> None:
    action = "    actions: [{action_name: tell, action_config: %s}]\n"
    contract = contract_of(SMALL + action % "{a: [1, x, [true]], b: null, c: 1.50, d: it's}")
    outcome = step(contract, "here", {}, "GO")
    assert isinstance(outcome, Moved)
    told = write_json(outcome.intents[0].payload)
    assert told == '{"a":[1,"x",[true]],"b":null,"c":1.50,"d":"it\'s"}'
    nested = contract_of(SMALL + action % "{labels: {node_type: effect, tries: [1, 2]}}")
    outcome = step(nested, "here", {}, "GO")
    assert isinstance(outcome, Moved)
    told = write_json(outcome.intents[0].payload)
    assert told == '{"labels":{"node_type":"effect","tries":[1,2]}}'
    assert interlock.load(write_native(nested)).hash == nested.hash


def test_an_action_without_an_entry_is_the_kind_of_its_intent() -> None:
    contract = contract_of(SMALL + "    actions: [ring_the_bell, {action_name: hoist}]\n")
    outcome = step(contract, "here", {}, "GO")
    assert isinstance(outcome, Moved)
    assert [intent.name for intent in outcome.intents] == ["ring_the_bell", "hoist"]


def test_results_of_registering_effects_are_events_and_leaving_cancels_them() -> None:
    [upsert] = REGISTRATION.states["registering_postgres"].enter
    assert (upsert.done, upsert.failed) == ("POSTGRES_SUCCEEDED", "POSTGRES_FAILED")
    assert upsert.cancel_on_exit
    consul, postgres = REGISTRATION.states["deregistering"].enter
    assert not consul.cancel_on_exit
    assert not postgres.cancel_on_exit
    [entered, other] = contract_of(PARALLEL).states["pending"].enter
    assert (entered.intent, entered.done) == ("consul.register", None)
    assert (other.intent, other.failed) == ("postgres.upsert_registration", None)


# Guards and data


def test_three_retries_are_taken_and_the_fourth_is_not() -> None:
    for count in (0, 1, 2):
        outcome = moved("failed", "RETRY", retry_count=count)
        assert outcome.context["retry_count"] == count + 1
        partial = {"postgres_applied": True, "consul_applied": True, "retry_count": count}
        for event in ("RETRY", "RETRY_POSTGRES"):
            assert moved("partial_registered", event, **partial).context["retry_count"] == count + 1
    for state, event in (
        ("failed", "RETRY"),
        ("partial_registered", "RETRY"),
        ("partial_registered", "RETRY_POSTGRES"),
    ):
        full = {"postgres_applied": True, "consul_applied": True, "retry_count": 3}
        blocked = refused(state, event, **full)
        assert (blocked.code, blocked.state) == ("GUARD_FAILED", state)
        assert blocked.context["retry_count"] == 3


def test_retries_are_exhausted_only_at_their_number() -> None:
    refused("partial_registered", "RETRY_EXHAUSTED", retry_count=2)
    assert moved("partial_registered", "RETRY_EXHAUSTED", retry_count=3).state == "failed"


@pytest.mark.parametrize(
    ("state", "event"),
    [
        ("validating", "VALIDATION_PASSED"),
        ("registering_postgres", "POSTGRES_SUCCEEDED"),
        ("registering_consul", "CONSUL_SUCCEEDED"),
    ],
)
def test_success_resets_the_counter(state: str, event: str) -> None:
    assert moved(state, event, PAYLOADS[event], retry_count=2).context["retry_count"] == 0


def test_the_limit_bounds_rows_that_do_not_mention_the_counter() -> None:
    counter = "retry_counter: {storage: ctx.tries, increment_on: [GO], max_value: 1}\n"
    contract = contract_of(changed("to_state: there", "to_state: here", SMALL) + counter)
    once = step(contract, "here", {}, "GO")
    assert once.context["tries"] == 1
    assert isinstance(step(contract, "here", once.context, "GO"), Refused)


def test_new_instances_have_their_start_values() -> None:
    begun = start(REGISTRATION)
    assert isinstance(begun, Moved)
    assert begun.context == START_VALUES
    assert start(contract_of(SMALL)).context == {}


def test_a_payload_counts_in_guards_and_stays_only_if_a_row_is_taken() -> None:
    kept = moved("registering_consul", "CONSUL_FAILED", {"consul_applied": False, "why": "503"})
    assert kept.context["why"] == "503"
    gone = refused("registering_consul", "CONSUL_SUCCEEDED", {"consul_applied": False, "why": "?"})
    assert "why" not in gone.context


def test_a_nested_payload_stays_and_is_lifted_one_level() -> None:
    nested = {"payload": {"node_id": "n-1", "record": {"node_id": "inner"}}, "note": "x"}
    context = moved("unregistered", "REGISTER", nested).context
    assert context["payload"] == nested["payload"]
    assert (context["node_id"], context["note"]) == ("n-1", "x")
    assert context["record"] == {"node_id": "inner"}


def test_a_payload_never_overwrites_the_counter() -> None:
    payload = {"retry_count": 0, "payload": {"retry_count": 0}}
    assert refused("failed", "RETRY", payload, retry_count=3).context["retry_count"] == 3
    assert moved("failed", "ABANDON", payload, retry_count=2).context["retry_count"] == 2


def test_data_of_the_wrong_type_refuses_and_keeps_the_state() -> None:
    for odd in ("2", True, [2]):
        outcome = refused("failed", "RETRY", retry_count=odd)
        assert (outcome.code, outcome.state) == ("GUARD_TYPE_ERROR", "failed")
    assert moved("failed", "ABANDON", retry_count="2").state == "deregistered"


def test_strict_validation_tells_absent_from_null() -> None:
    assert refused("validating", "VALIDATION_PASSED").code == "GUARD_FIELD_UNDEFINED"
    null = refused("validating", "VALIDATION_PASSED", {"validation_result": None})
    assert null.code == "GUARD_FAILED"
    lax = contract_of(changed("strict_validation_enabled: true", "state_monitoring_enabled: true"))
    outcome = step(lax, "validating", {}, "VALIDATION_PASSED")
    assert isinstance(outcome, Refused)
    assert outcome.code == "GUARD_FAILED"


def test_all_conditions_must_hold_and_one_not_required_is_only_noted() -> None:
    conditions = """\
    conditions:
      - {expression: "a == 1"}
      - {expression: "b == 1", required: true}
      - {expression: "c == 1", required: false}
"""
    contract = contract_of(SMALL + conditions)
    assert isinstance(step(contract, "here", {"a": 1, "c": 1}, "GO"), Refused)
    outcome = step(contract, "here", {"a": 1, "b": 1}, "GO")
    assert isinstance(outcome, Moved)
    assert outcome.notes == ("c == 1",)


def test_events_outside_the_table_are_refused_without_change() -> None:
    assert refused("unregistered", "DEREGISTER").code == "INVALID_TRANSITION"
    assert refused("unregistered", "UNHEARD_OF").code == "UNKNOWN_EVENT"
    assert refused("registered", "REGISTER", PAYLOADS["REGISTER"], a=1).context["a"] == 1


def test_higher_priority_is_tried_first_then_the_states_own_row() -> None:
    rows = """\
  - {transition_name: low, from_state: here, to_state: here, trigger: STOP, priority: 1}
  - {transition_name: high, from_state: "*", to_state: there, trigger: STOP, priority: 2}
  - {transition_name: own, from_state: here, to_state: here, trigger: HALT, priority: 1}
  - {transition_name: all, from_state: "*", to_state: there, trigger: HALT, priority: 1}
"""
    contract = contract_of(SMALL + rows)
    for event, row in (("STOP", "high"), ("HALT", "own")):
        outcome = step(contract, "here", {}, event)
        assert isinstance(outcome, Moved)
        assert [one.name for one in outcome.rows] == [row]


# Deadlines


@pytest.mark.parametrize("name", ["registering_postgres", "registering_consul", "deregistering"])
def test_a_time_out_raises_the_event_of_its_state_and_its_row_is_taken(name: str) -> None:
    [timer] = REGISTRATION.states[name].timers
    assert timer.event == TIMEOUT_EVENTS[name]
    assert isinstance(after(name, timer.event), Moved)


def test_other_time_outs_are_fatal_or_only_a_notice() -> None:
    [timer] = REGISTRATION.states["validating"].timers
    assert timer.event == "FATAL_ERROR"
    text = changed("{state_name: here}", "{state_name: here, timeout_ms: 250}", SMALL)
    [warning] = interlock.check(text)
    assert (warning.code, warning.severity) == ("unknown_event", "warning")
    assert (warning.line, warning.column) == place_of(text, "250")
    fatal = '  - {from_state: "*", to_state: there, trigger: FATAL_ERROR}\n'
    [timer] = contract_of(text + fatal).states["here"].timers
    assert (timer.after, timer.event) == (timedelta(milliseconds=250), "FATAL_ERROR")


# One machine, many forms


def test_the_bundled_registration_is_the_same_machine() -> None:
    native = contract_of(NATIVE)
    assert (native.name, native.version, native.dialect) == ("registration", "1.0.0", "native")
    assert native.hash == REGISTRATION.hash


def test_the_bundled_registration_passes_its_tests() -> None:
    native = contract_of(NATIVE)
    assert len(native.tests) >= 15
    assert run_tests(native) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*REGISTRATION.events, "CONTINUE"]),
            st.none()
            | st.sampled_from(list(PAYLOADS.values()))
            | st.dictionaries(
                st.sampled_from(["payload", "retry_count", *START_VALUES, "validation_result"]),
                st.none() | st.booleans() | st.integers(0, 4) | st.sampled_from(["passed", {}]),
            ),
        ),
        max_size=12,
    )
)
def test_both_forms_answer_every_sequence_alike(events: list[tuple[str, Any]]) -> None:
    native = contract_of(NATIVE)
    here, context = "unregistered", dict(START_VALUES)
    for event in events:
        one, other = step(REGISTRATION, here, context, event), step(native, here, context, event)
        assert type(one) is type(other)
        assert (one.state, one.context) == (other.state, other.context)
        if isinstance(one, Refused) and isinstance(other, Refused):
            assert (one.code, one.message) == (other.code, other.message)
        elif isinstance(one, Moved) and isinstance(other, Moved):
            assert [(i.name, i.payload) for i in one.intents] == [
                (i.name, i.payload) for i in other.intents
            ]
        here, context = one.state, dict(one.context)


def test_the_machine_may_stand_in_any_of_its_places() -> None:
    data = yaml.safe_load(TEXT)
    machine = {**data["fsm_subcontract"], **data, "fsm_subcontract": None}
    del machine["fsm_subcontract"]
    assert set(fsm_settings.PLACES) == set(FSM_PLACES)
    forms: list[object] = [machine, *({place: machine} for place in FSM_PLACES)]
    inner = {key: data[key] for key in ("states", "transitions", "retry_counter")}
    forms += [
        {"fsm_subcontract": data["fsm_subcontract"], place: inner} for place in FSM_PLACES[1:]
    ]
    for form in forms:
        contract = contract_of(yaml.safe_dump(form, sort_keys=False))
        assert (contract.hash, contract.version) == (REGISTRATION.hash, "1.0.0")


def test_a_part_that_stands_twice_must_be_the_same() -> None:
    text = TEXT + "state_machine: {initial_state: unregistered}\n"
    assert errors_of(text) == []
    text = changed("{initial_state: unregistered}", "{initial_state: failed}", text)
    [error] = errors_of(text)
    assert error.code == "bad_value"
    assert "line" in error.message


def test_the_machine_of_a_node_contract_is_read_and_the_rest_is_named_once() -> None:
    contract, problems, *_ = read(PARALLEL)
    assert contract is not None
    assert (contract.name, contract.version) == ("registration_fsm", "1.2.0")
    assert contract.text.startswith("Follows")
    assert [(found.code, found.severity) for found in problems] == [
        ("setting_without_effect", "warning")
    ]
    assert "input_model" in problems[0].message
    assert contract.states["failed"].kind == "error"


def test_presence_has_a_word_of_its_own_in_a_state_machine_only() -> None:
    contract = contract_of(PARALLEL)
    event = ("introspection_received", {"node_id": "n-1"})
    assert step(contract, "idle", {}, event).state == "pending"
    assert isinstance(step(contract, "idle", {}, "introspection_received"), Refused)
    assert isinstance(step(contract, "idle", {"failure": "yes"}, event), Refused)
    [first, second] = errors_of(PARALLEL.replace("state_machine:", "fsm:"))
    assert first.code == second.code == "GUARD_SYNTAX_ERROR"
    text = changed("node_id is_present", "node_id is_valid", PARALLEL)
    assert [error.code for error in errors_of(text)] == ["GUARD_SYNTAX_ERROR"]


def test_a_contract_that_only_routes_is_told_apart() -> None:
    [error] = errors_of("name: node\nnode_type: EFFECT\nhandler_routing: {}\n")
    assert error.code == "not_a_lifecycle"


# Faults and their places

FAULTS = [
    ('expression: "payload exists true"', 'expression: "payload exsts true"', "exsts",
     "GUARD_INVALID_OPERATOR"),
    ('"validation_result == passed"', "\"validation_result  ==  'passed'\"", "'passed'",
     "GUARD_INVALID_VALUE"),
    ('"validation_result == failed"', "validation.result == failed", "validation.result",
     "GUARD_INVALID_FIELD"),
    ('"retry_count >= 3"', "retry_count>=3", "retry_count>=3", "GUARD_SYNTAX_ERROR"),
    ('"retry_count >= 3"', "3", None, "GUARD_SYNTAX_ERROR"),
    ('"retry_count >= 3"', "[]", None, "bad_value"),
    ("from_state: validating", "from_state: validatin", "validatin\n", "unknown_state"),
    ("to_state: registered", "to_state: registred", "registred", "unknown_state"),
    ("to_state: registered", 'to_state: "*"', None, "unknown_state"),
    ("initial_state: unregistered", "initial_state: nowhere", "nowhere", "unknown_state"),
    ("[deregistered]", "[deregistred]", "deregistred]", "unknown_state"),
    ("[registered]", "[failed ]", "failed ]", "kind_mismatch"),
    ("[deregistered]", "[registered ]", "registered ]", "kind_mismatch"),
    ("failed]\n  pers", "deregistering]\n  pers", "deregistering]", "kind_mismatch"),
    ("is_terminal: true", "is_terminal: false # end", "false # end", "kind_mismatch"),
    ("state_type: snapshot", "state_type: snap_shot", "snap_shot", "bad_value"),
    ("state_name: failed", 'state_name: "*"', None, "bad_value"),
    ("- state_name: failed", "- state_name: registered", None, "duplicate_state"),
    ("trigger: ABANDON", "triger: ABANDON", "triger", "unknown_key"),
    ("timeout_ms: 5000", "timeout: 5000", "timeout: 5000", "unknown_key"),
    ("condition_name: payload_valid", "condition: payload_valid", "condition: ", "unknown_key"),
    ("action_name: log_abandonment", "action_nam: log_abandonment", "action_nam:", "unknown_key"),
    ("max_value: 3", "maximum: 3", "maximum", "unknown_key"),
    ("persistence_enabled", "persistance_enabled", "persistance_enabled", "unknown_key"),
    ("retry_counter:", "retry_counters:", "retry_counters", "unknown_key"),
    ("    trigger: ABANDON\n", "", None, "bad_value"),
    ("trigger: ABANDON", "trigger: [ABANDON]", "[ABANDON]", "bad_value"),
    ("timeout_ms: 5000", "timeout_ms: 0 # no", "0 # no", "bad_value"),
    ("timeout_ms: 5000", "timeout_ms: 5s", "5s", "bad_value"),
    ("transition_timeout_ms: 10000", "transition_timeout_ms: 99999999999999", "99999999999999",
     "bad_value"),
    ("priority: 5", "priority: high", "high", "bad_value"),
    ("[RETRY, RETRY_POSTGRES]", "[RETRY, RETRY_PSTGRES]", "RETRY_PSTGRES", "unknown_event"),
    ("VALIDATION_PASSED]", "CONTINUE]", "CONTINUE]", "unknown_event"),
    ("fsm_state_context.retry_count", "fsm_state_context.retry count", "fsm_state_context",
     "bad_value"),
    ("state_machine_version: {major: 1", "state_machine_version: {major: -1", None, "bad_value"),
    ("  version: {major: 1, minor: 0, patch: 0}\n", "  version: one\n", "one\n", "bad_value"),
    ("persistence_enabled: true", "persistence_enabled: false", "false\n  checkpoint",
     "unsupported_setting"),
    ("recovery_enabled: true", "recovery_enabled: false", "false\n  rollback",
     "unsupported_setting"),
    ("concurrent_transitions_allowed: false", "concurrent_transitions_allowed: true",
     "true\n  transition", "unsupported_setting"),
    ("priority_based", "first_come", "first_come", "unsupported_setting"),
    ("persistence_enabled: true", "persistence_enabled: maybe", "maybe", "bad_value"),
    ("is_atomic: true", "is_atomic: false", "false\n    conditions", "unsupported_setting"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "token", "code"), FAULTS)
def test_a_fault_is_told_with_its_code_and_its_place(
    old: str, new: str, token: str | None, code: str
) -> None:
    text = changed(old, new)
    errors = errors_of(text)
    assert code in [error.code for error in errors], errors
    found = [(error.line, error.column) for error in errors if error.code == code]
    if token is not None:
        assert place_of(text, token) in found


def test_a_misspelled_key_is_told_with_the_one_that_was_meant() -> None:
    [error] = [e for e in errors_of(changed("trigger: ABANDON", "triger: ABANDON")) if e.hint]
    assert error.hint == "did you mean 'trigger'?"


def test_every_fault_is_told_at_once() -> None:
    text = TEXT
    for old, new in (
        ("retry_count >= 3", "retry_count like 3"),
        ("from_state: validating", "from_state: valid"),
        ("state_type: snapshot", "state_type: s"),
        ("rollback_enabled", "roll_back"),
    ):
        text = changed(old, new, text)
    assert {error.code for error in errors_of(text)} >= {
        "GUARD_INVALID_OPERATOR",
        "unknown_state",
        "bad_value",
        "unknown_key",
    }


@pytest.mark.parametrize("key", sorted(fsm_settings.WITHOUT_EFFECT))
def test_a_setting_without_effect_is_a_warning(key: str) -> None:
    text = changed("initial_state: here", f"initial_state: here\n{key}: 1", SMALL)
    [warning] = read(text).problems
    assert (warning.code, warning.severity) == ("setting_without_effect", "warning")
    assert (warning.where, warning.line) == (key, 2)


@pytest.mark.parametrize("key", sorted(fsm_settings.ALWAYS))
def test_what_is_always_so_may_be_said(key: str) -> None:
    value = str(fsm_settings.ALWAYS[key]).lower()
    assert read(f"{key}: {value}\n{SMALL}").problems == []


def test_every_setting_is_honoured_or_reported() -> None:
    honoured = {
        "state_machine_name",
        "state_machine_version",
        "version",
        "description",
        "initial_state",
        "success_states",
        "terminal_states",
        "error_states",
        "strict_validation_enabled",
        "transition_timeout_ms",
    }
    apart = fsm_settings.WITHOUT_EFFECT | set(fsm_settings.ALWAYS)
    assert set(fsm_settings.SETTINGS) == honoured | apart
    assert not honoured & apart


def test_the_transition_time_out_is_that_of_effects_without_their_own() -> None:
    limits = {
        effect.intent: effect.timeout
        for state in REGISTRATION.states.values()
        for effect in (*state.enter, *state.exit)
    }
    assert limits["consul.register"] == timedelta(seconds=10)
    assert limits["log_event"] is None
    own = "    actions: [{action_name: tell, timeout_ms: 7}, {action_name: ask}]\n"
    [row] = contract_of(f"transition_timeout_ms: 9\n{SMALL}{own}").states["here"].rows
    assert [effect.timeout for effect in row.effects] == [
        timedelta(milliseconds=7),
        timedelta(milliseconds=9),
    ]


def test_keys_of_other_tools_are_named_once_each() -> None:
    extra = "    metadata: {colour: red}\n    max_retries: 3\n"
    extra += "    actions: [{action_name: a, is_critical: true}]\n"
    text = SMALL.replace("{state_name: here}", "{state_name: here, version: 1, metadata: {}}")
    problems = read(text + extra).problems
    assert {(found.code, found.severity) for found in problems} == {
        ("setting_without_effect", "warning")
    }
    assert [found.where for found in problems].count("states") == 2
    assert len(problems) == 5


def test_a_version_is_a_text_or_three_numbers() -> None:
    for written, version in (("2", "2"), ("1.10", "1.10"), ('"3.1.0"', "3.1.0"),
                             ("{major: 2, minor: 1}", "2.1.0")):  # fmt: skip
        assert contract_of(f"version: {written}\n{SMALL}").version == version
    assert contract_of(SMALL).version == "1"


def test_the_lists_speak_where_a_state_does_not() -> None:
    text = SMALL.replace(", is_terminal: true", "")
    listed = contract_of(f"terminal_states: [there]\n{text}")
    assert (listed.states["there"].end, listed.states["there"].kind) == ("ok", "terminal")
    both = contract_of(f"terminal_states: [there]\nerror_states: [there]\n{text}")
    assert (both.states["there"].end, both.states["there"].kind) == ("error", "error")
    ended = "{state_name: there, state_type: terminal}"
    failed = contract_of(f"error_states: [there]\n{changed('{state_name: there}', ended, text)}")
    assert (failed.states["there"].end, failed.states["there"].kind) == ("error", "terminal")


def test_the_initial_state_is_named_or_typed_or_first() -> None:
    text = SMALL.replace("initial_state: here\n", "")
    assert contract_of(text).initial == "here"
    typed = changed(
        "{state_name: here}", "{state_name: here}\n  - {state_name: top, state_type: initial}", text
    )
    assert contract_of(typed).initial == "top"


def test_validation_rules_are_kept_and_malformed_ones_are_warned_of() -> None:
    rules = [rule.text for rule in REGISTRATION.states["validating"].requirements]
    assert rules[0] == "node_id != null"
    assert len(rules) == 4
    text = changed("postgres_applied != consul_applied", "postgres_applied xor consul_applied")
    [warning] = [found for found in read(text).problems if found.code == "syntax"]
    assert warning.severity == "warning"
    assert (warning.line, warning.column) == place_of(text, '"postgres_applied xor')


def test_required_data_are_kept_and_refuse_nothing() -> None:
    assert REGISTRATION.states["deregistering"].required == ("node_id", "consul_service_id")
    assert moved("registered", "DEREGISTER").state == "deregistering"


@pytest.mark.parametrize(
    "text",
    [
        "states: []\ntransitions: []",
        "fsm_subcontract: {initial_state: a}",
        "state_machine:",
        "state_machine: []",
        "fsm: {states: {a: 1}}",
        "states: [{state_type: initial, state_name: [1]}]\ntransitions: [1, null, [], {}]",
        "transitions: 7\nstates: [{state_name: a, entry_actions: [1, null, {}]}]",
        "fsm: {states: [{state_name: 1}], transitions: [{trigger: 1, from_state: 1, to_state: 1}]}",
    ],
)
def test_odd_contracts_have_problems_or_work_and_never_raise(text: str) -> None:
    contract, problems, *_ = read(text)
    assert problems or contract is not None


WORDS = sorted(
    {key for table in fsm_settings.TABLES.values() for key in table}
    | set(fsm_settings.PLACES)
    | {"a", "*", "CONTINUE", "metadata", "name", "intent_type"}
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["a", "*", "CONTINUE", "GO", "terminal", "error", "a == 1", "a in [", "x y"])
)


@given(
    st.dictionaries(
        st.sampled_from(["states", "transitions", "retry_counter", *fsm_settings.PLACES, "a"]),
        st.recursive(
            SCALARS,
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
            ),
            max_leaves=40,
        ),
        min_size=1,
    )
)
def test_arbitrary_data_never_raises(data: dict[str, Any]) -> None:
    contract, problems, *_ = read(write_json({"transitions": [], **data}))
    if contract is not None and not any(found.severity == "error" for found in problems):
        step(contract, contract.initial, {}, "GO")
    assert contract is not None or problems


# The checker


def test_the_registration_checks_without_errors_and_with_its_flaws_reported() -> None:
    for text in (TEXT, NATIVE):
        problems = interlock.check(text)
        assert [found for found in problems if found.severity == "error"] == []
        assert "endless_retry" in {found.code for found in problems}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("transition_name: retry_postgres", "transition_name: retry_consul", "duplicate_name"),
        ("transition_name: global_error_handler", "transition_name: retry_consul",
         "duplicate_name"),
        ("transition_name: start_consul_registration", "transition_name: retry_consul",
         "duplicate_name"),
        ("from_state: deregistering", "from_state: deregistered", "transition_from_terminal"),
        ("transitions:\n", "  - {state_name: lonely}\n\ntransitions:\n", "isolated_state"),
        ("state_type: operational", "state_type: initial", "kind_mismatch"),
    ],
)  # fmt: skip
def test_the_checker_finds_faults_of_the_whole(old: str, new: str, code: str) -> None:
    found = [one for one in interlock.check(changed(old, new)) if one.severity == "error"]
    assert code in {one.code for one in found}


def test_a_fault_is_told_only_once() -> None:
    for old, new in (
        ("to_state: registered", "to_state: registred"),
        ("initial_state: unregistered", "initial_state: nowhere"),
        ("retry_count >= 3", "retry_count like 3"),
        ("[registered]", "[failed]"),
    ):
        errors = [one for one in interlock.check(changed(old, new)) if one.severity == "error"]
        assert len(errors) == 1, errors


# The reference


def test_the_reference_lists_every_key_with_its_meaning() -> None:
    page = PAGE.read_text("utf-8")
    for name, table in fsm_settings.TABLES.items():
        for key, (_, meaning) in table.items():
            assert f"| `{key}` | {meaning} |" in page, (name, key)
    for place, meaning in fsm_settings.PLACES.items():
        assert f"| `{place}` | {meaning} |" in page


def test_the_reference_lists_the_kinds_and_the_time_outs() -> None:
    page = PAGE.read_text("utf-8")
    for name, action in ACTION_KINDS.items():
        assert f"`{name}` | `{action.intent}` |" in page
    for state, event in TIMEOUT_EVENTS.items():
        assert f"| `{state}` | `{event}` |" in page
