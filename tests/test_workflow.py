"""Claims about reading workflows: a definition of states and transitions, and its policy."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock
from interlock.contract.model import Contract, Hook, Timer
from interlock.contract.problem import Problem, has_errors
from interlock.contract.read import Read, Source, find_source, read_contract
from interlock.contract.reading import Reading
from interlock.contract.source.read import read_source
from interlock.contract.workflow import terms
from interlock.contract.workflow.policy import policy_hash
from interlock.contract.workflow.read import read_workflow
from interlock.contract.workflow.terms import Term, fold, spellings

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "workflow"
DEFINITION = DATA / "vendor_registration.definition.json"
POLICY = DATA / "vendor_registration.policy.json"


def definition(**changes: Any) -> dict[str, Any]:  # any JSON
    base: dict[str, Any] = {
        "name": "review",
        "version": 3,
        "states": [
            {"name": "Received", "is_initial": True},
            {"name": "Checking"},
            {"name": "Done", "is_final": True},
        ],
        "events": [
            {"code": 10, "name": "submit"},
            {"code": 20, "name": "approve"},
            {"code": 30, "name": "expire"},
        ],
        "transitions": [
            {"from": "Received", "to": "Checking", "event": 10},
            {"from": "Checking", "to": "Done", "event": 20},
            {"from": "Checking", "to": "Checking", "event": 30},
        ],
    }
    return {key: value for key, value in (base | changes).items() if value is not None}


def read(given_definition: object, policy: object = None) -> Read:
    texts = [
        found if isinstance(found, str) else json.dumps(found, indent=1)
        for found in (given_definition, policy)
    ]
    beside = None if policy is None else Source(texts[1], "policy")
    return read_contract(Source(texts[0], "definition"), policy=beside)


def contract_of(given_definition: object, policy: object = None) -> Contract:
    found = read(given_definition, policy)
    assert not has_errors(found.problems), found.problems
    assert found.contract is not None
    return found.contract


def only(found: Read, code: str) -> Problem:
    problems = [problem for problem in found.problems if problem.code == code]
    assert len(problems) == 1, found.problems
    return problems[0]


def codes(found: Read) -> list[str]:
    return [problem.code for problem in found.problems if problem.severity == "error"]


def policy_of(**parts: Any) -> dict[str, Any]:
    return {"policy_name": "review.policy", **parts}


def hooks_of(rule: dict[str, Any], **parts: Any) -> tuple[Hook, ...]:
    policy = policy_of(rules=[{"state": "Checking", **rule}], **parts)
    return contract_of(definition(), policy).states["Checking"].hooks


def timers_of(**timeout: Any) -> tuple[Timer, ...]:
    policy = policy_of(timeouts=[{"state": "Checking", **timeout}])
    return contract_of(definition(), policy).states["Checking"].timers


# The bundled example in both forms.


def vendor() -> Contract:
    source, beside = find_source(DEFINITION), find_source(POLICY)
    assert isinstance(source, Source)
    assert isinstance(beside, Source)
    found = read_contract(source, policy=beside)
    assert found.problems == []
    assert found.contract is not None
    return found.contract


def test_the_definition_with_its_policy_is_the_same_machine_as_the_native_form() -> None:
    native = interlock.load("vendor_registration")
    assert vendor().hash == native.hash
    assert vendor().dialect == "workflow"


def test_the_same_events_lead_through_both_forms() -> None:
    native = interlock.load("vendor_registration")
    state, other = vendor().initial, native.initial
    for event in ("submitted", "cleared", "validation_overdue", "cleared", "validated", "approved"):
        moved = interlock.step(vendor(), state, {}, event)
        again = interlock.step(native, other, {}, event)
        assert isinstance(moved, interlock.Moved)
        assert isinstance(again, interlock.Moved)
        state, other = moved.state, again.state
    assert state == other == "Registered"


def test_the_numbers_and_names_of_the_example_are_kept() -> None:
    contract = vendor()
    assert {code: name for name, code in numbers(contract).items() if code in (1001, 1002)} == {
        1001: "cleared",
        1002: "refused",
    }
    assert contract.states["CheckVendorRegistered"].hooks[0].route == (
        "APP.REG.CHECK.VENDOR_REGISTERED"
    )
    assert contract.states["Overdue"].hooks[0].via == "validation_overdue"
    [two_days] = contract.states["PendingPQValidation"].timers
    assert (two_days.after, two_days.once) == (timedelta(days=2), True)
    [hourly] = contract.states["AwaitingApproval"].timers
    assert (hourly.after, hourly.repeat) == (timedelta(minutes=60), True)


def numbers(contract: Contract) -> dict[str, int | None]:
    return {event.name: event.code for event in contract.events.values()}


# Definitions.


def test_a_workflow_keeps_refused_first_events_and_any_payload() -> None:
    contract = contract_of(definition())
    assert contract.keep_refused_first
    assert contract.open
    assert not contract.merge
    assert contract.events["submit"].open


def test_a_payload_is_carried_and_not_merged_into_the_context() -> None:
    moved = interlock.step(
        contract_of(definition()), "Received", {"kept": 1}, ("submit", {"score": 2})
    )
    assert isinstance(moved, interlock.Moved)
    assert dict(moved.context) == {"kept": 1}


@pytest.mark.parametrize(
    "header",
    [
        {"name": "review", "version": 3, "description": "t"},
        {"def_name": "review", "def_version": 3, "description": "t"},
        {"defName": "review", "version": 3, "description": "t", "displayName": "Review"},
        {"definition": "review", "version": 3, "description": "t"},
        {"definition": {"name": "review", "version": 3, "description": "t"}},
        {"displayName": "review", "version": 3, "description": "t"},
    ],
)
def test_the_header_may_be_spelled_in_many_ways(header: dict[str, Any]) -> None:
    contract = contract_of(definition(name=None, version=None) | header)
    assert (contract.name, contract.version, contract.text) == ("review", "3", "t")


def test_one_file_may_hold_both_halves() -> None:
    policy = policy_of(timeouts=[{"state": "Checking", "timeout": "PT1H", "timeout_event": 30}])
    apart = contract_of(definition(), policy)
    nested = contract_of({"definition": definition(), "policy": policy})
    beside = contract_of(definition(policy=policy))
    flat = contract_of(definition() | policy)
    assert apart.hash == nested.hash == beside.hash == flat.hash
    assert apart.policy == nested.policy == beside.policy == flat.policy != ""


def test_two_policies_for_one_definition_are_one_too_many() -> None:
    found = read(definition(policy=policy_of()), policy_of())
    assert only(found, "duplicate_name").where == "policy"


def test_a_policy_alone_is_checked_and_asks_for_its_definition() -> None:
    found = read(policy_of(rules=[{"state": "Anything", "via": 1, "emits": []}]))
    assert found.contract is None
    assert codes(found) == ["unknown_key", "no_states"]
    assert only(found, "unknown_key").hint == "did you mean 'emit'?"
    assert "--policy" in only(found, "no_states").hint


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ({"is_final": True}, "ok"),
        ({"isFinal": True}, "ok"),
        ({"final": True}, "ok"),
        ({"is_terminal": True}, "ok"),
        ({"flags": 2}, "ok"),
        ({"flags": 10}, "error"),
        ({"is_final": True, "category": "Error"}, "error"),
        ({"is_final": True, "is_error": True}, "error"),
        ({"is_final": True, "category": "error", "is_error": False}, "ok"),
        ({"category": "error"}, None),
        ({"flags": 8}, None),
        ({"name": "Failed", "is_final": True}, "ok"),
    ],
)
def test_a_final_state_ends_well_unless_it_is_declared_a_failure(
    state: dict[str, Any], end: str | None
) -> None:
    states = [{"name": "Received", "initial": True}, {"name": "Failed", **state}]
    contract = contract_of(definition(states=states, events=None, transitions=[]))
    assert contract.states["Failed"].end == end


def test_the_initial_state_is_the_one_that_is_marked() -> None:
    states = [{"name": "Done", "final": True}, {"name": "Received", "flags": 1}, "Checking"]
    assert contract_of(definition(states=states)).initial == "Received"


def test_exactly_one_state_is_initial() -> None:
    none = read(definition(states=[{"name": "A"}, {"name": "B"}], transitions=[]))
    assert only(none, "bad_value").message == "no state is marked as the initial one"
    both = [{"name": "A", "initial": True}, {"name": "B", "initial": True}]
    two = read(definition(states=both, transitions=[]))
    assert only(two, "bad_value").where == "states.B"


def test_without_a_list_of_events_the_transitions_declare_them() -> None:
    transitions = [
        {"from": "Received", "to": "Checking", "event": 10},
        {"from": "Checking", "to": "Checking", "event": 10, "eventName": "again"},
        {"from": "Checking", "to": "Done", "event": 20},
        {"fromState": "Checking", "toState": "Received", "event": "return"},
        {"from_state": "Received", "to_state": "Done", "event_code": 40, "event_name": "skip"},
    ]
    contract = contract_of(definition(events=None, transitions=transitions))
    assert numbers(contract) == {"again": 10, "event_20": 20, "return": None, "skip": 40}
    assert [row.event for row in contract.states["Checking"].rows] == [
        "again",
        "event_20",
        "return",
    ]


@pytest.mark.parametrize(
    "events",
    [
        [{"code": 10, "name": "submit"}, {"code": 20, "name": "approve"}, {"name": "expire"}],
        {"submit": 10, "approve": 20, "expire": None},
        [{"code": 10, "displayName": "submit"}, {"code": 20, "name": "approve"}, "expire"],
    ],
)
def test_events_may_be_listed_in_several_ways(events: object) -> None:
    transitions = [{"from": "Received", "to": "Done", "event": "EXPIRE"}]
    contract = contract_of(definition(events=events, transitions=transitions))
    assert numbers(contract) == {"submit": 10, "approve": 20, "expire": None}


def test_a_number_is_a_code_before_it_is_a_name() -> None:
    events = [{"code": 10, "name": "20"}, {"code": 20, "name": "other"}, {"name": "30"}]
    transitions = [
        {"from": "Received", "to": "Checking", "event": 20},
        {"from": "Received", "to": "Checking", "event": "20"},
        {"from": "Received", "to": "Done", "event": 30},
        {"from": "Checking", "to": "Done", "event": "10"},
    ]
    contract = contract_of(definition(events=events, transitions=transitions))
    assert [row.event for row in contract.states["Received"].rows] == ["other", "20", "30"]
    assert [row.event for row in contract.states["Checking"].rows] == ["20"]


def test_names_are_compared_without_regard_to_case_and_spacing() -> None:
    transitions = [{"from": "received", "to": "CHECKING", "event": " Submit "}]
    contract = contract_of(definition(transitions=transitions))
    assert contract.states["Received"].rows[0].to == "Checking"
    assert fold("  Two   Words ") == fold("two words")


def test_a_state_may_be_meant_by_its_display_name() -> None:
    states = [
        {"name": "received", "initial": True, "display_name": "Form received"},
        {"name": "done", "final": True, "description": "All is well"},
    ]
    transitions = [{"from": "form received", "to": "done", "event": 10}]
    contract = contract_of(definition(states=states, transitions=transitions))
    assert contract.states["received"].rows[0].to == "done"
    assert contract.states["received"].text == "Form received"
    assert contract.states["done"].text == "All is well"


def test_categories_are_labels_and_unlisted_ones_are_warned_of() -> None:
    states = [
        {"name": "A", "initial": True, "category": "intake"},
        {"name": "B", "category": "ned"},
    ]
    found = read(definition(states=states, transitions=[], categories=["Intake", {"name": "end"}]))
    assert not has_errors(found.problems)
    assert only(found, "bad_value").hint == "did you mean 'end'?"
    assert found.contract is not None
    assert found.contract.states["A"].category == "intake"


def test_a_definition_may_hold_time_outs_and_a_policy_replaces_them_by_state() -> None:
    states = [
        {"name": "Received", "initial": True, "timeout": "P1D", "timeout_event": 10},
        {"name": "Checking", "timeoutMinutes": 5, "timeoutMode": 1, "timeoutEventCode": 30},
        {"name": "Done", "is_final": True},
    ]
    alone = contract_of(definition(states=states))
    assert alone.states["Received"].timers[0].event == "submit"
    assert alone.states["Checking"].timers[0].repeat
    policy = policy_of(timeouts=[{"state": "Checking", "timeout": "PT7M", "timeout_event": 30}])
    both = contract_of(definition(states=states), policy)
    assert both.states["Received"].timers == alone.states["Received"].timers
    assert [timer.after for timer in both.states["Checking"].timers] == [timedelta(minutes=7)]


# Policies.


def test_params_are_kept_byte_for_byte() -> None:
    data = '{ "approval" : {\n  "rule": "any",\t"limit": 1.50, "n": 1e3 } }'
    policy = '{"policy_name": "p", "params": [{"code": "P", "data": ' + data + "}]}"
    [param] = contract_of(definition(), policy).params
    assert (param.code, param.data) == ("P", data.encode())


def test_params_without_data_are_empty_and_null_stays_null() -> None:
    policy = policy_of(params=[{"code": "A"}, {"code": "B", "data": None}])
    assert [param.data for param in contract_of(definition(), policy).params] == [b"{}", b"null"]


def test_the_older_names_of_policies_are_read() -> None:
    old = {
        "policy_name": "p",
        "for": {"definition": "Review", "version": 3},
        "policies": [{"code": "P", "params": {"a": 1}}],
        "routes": [{"state": "Checking", "policy": "P", "emit": [{"event": "R"}]}],
    }
    new = {
        "defName": "review",
        "params": [{"code": "P", "data": {"a": 1}}],
        "rules": [{"state": "checking", "params": ["P"], "hooks": [{"route": "R"}]}],
    }
    assert contract_of(definition(), old).hash == contract_of(definition(), new).hash


def test_a_rule_tells_parameters_and_the_next_events() -> None:
    rule = {"state": "Checking", "params": ["P"], "complete": {"success": 20, "failure": "EXPIRE"}}
    policy = policy_of(params=[{"code": "P"}], rules=[rule])
    [told] = contract_of(definition(), policy).states["Checking"].rules
    assert (told.params, told.done, told.failed) == (("P",), "approve", "expire")


def test_a_rule_that_tells_nothing_is_kept_only_if_it_outranks_others() -> None:
    rules = [{"state": "Checking", "emit": ["A"]}, {"state": "Checking", "via": 30, "emit": ["B"]}]
    state = contract_of(definition(), policy_of(rules=rules)).states["Checking"]
    assert [rule.via for rule in state.rules] == ["expire"]
    assert [(hook.route, hook.via) for hook in state.hooks] == [("A", None), ("B", "expire")]


def test_a_missing_complete_falls_back_to_the_rules_each_event_apart() -> None:
    emit = [
        {"event": "A"},
        {"event": "B", "complete": {"success": 30}},
        {"event": "C", "type": "effect"},
    ]
    first, second, effect = hooks_of({"complete": {"success": 20, "failure": 10}, "emit": emit})
    assert (first.done, first.failed) == ("approve", "submit")
    assert (second.done, second.failed) == ("expire", "submit")
    assert (effect.done, effect.failed) == (None, None)


def test_an_emits_params_replace_those_of_its_rule() -> None:
    emit = [{"event": "A"}, {"event": "B", "params": ["Q"]}, {"event": "C", "params": []}]
    params = [{"code": "P"}, {"code": "Q"}]
    first, second, third = hooks_of({"params": [{"code": "P"}], "emit": emit}, params=params)
    assert (first.params, second.params, third.params) == (("P",), ("Q",), ())


def test_a_hook_of_a_rule_without_params_has_none_of_its_own() -> None:
    assert hooks_of({"emit": [{"event": "A"}]})[0].params is None


@pytest.mark.parametrize(
    ("rule", "emit", "gate"),
    [
        ({}, {}, True),
        ({}, {"type": "effect"}, False),
        ({}, {"type": "Gate"}, True),
        ({}, {"blocking": False}, False),
        ({"blocking": False}, {}, False),
        ({"blocking": False}, {"blocking": True}, True),
        ({"type": "effect"}, {}, False),
        ({"type": "effect"}, {"type": "gate", "blocking": True}, True),
    ],
)
def test_a_hook_is_a_gate_unless_it_or_its_rule_says_otherwise(
    rule: dict[str, Any], emit: dict[str, Any], *, gate: bool
) -> None:
    assert hooks_of({**rule, "emit": [{"route": "A", **emit}]})[0].gate is gate


def test_hooks_without_a_stage_come_after_all_others() -> None:
    emit = [{"route": "A"}, {"route": "B", "order": 2}, {"route": "C", "order_seq": 1}]
    assert [hook.order for hook in hooks_of({"emit": emit})] == [3, 2, 1]
    assert [hook.order for hook in hooks_of({"emit": [{"route": "A"}, {"route": "B"}]})] == [0, 0]


@pytest.mark.parametrize(
    ("emit", "name", "value"),
    [
        ({"ackMode": "any"}, "ack_mode", "any"),
        ({"ack_mode": "ALL"}, "ack_mode", "all"),
        ({"group": "g"}, "group", "g"),
        ({"send": "always"}, "always", True),
        ({"notBefore": "PT30M"}, "not_before", timedelta(minutes=30)),
        ({"not_before": "5m"}, "not_before", timedelta(minutes=5)),
        ({"deadline": "P1D"}, "deadline", timedelta(days=1)),
        ({"label": "Check it"}, "label", "Check it"),
        ({"on_entry": False}, "on", "exit"),
        ({"on": "exit"}, "on", "exit"),
        ({"on_entry": True}, "on", "enter"),
    ],
)
def test_hooks_carry_what_real_files_say(emit: dict[str, Any], name: str, value: object) -> None:
    assert getattr(hooks_of({"emit": [{"event": "A", **emit}]})[0], name) == value


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        ({"timeout": "P2D", "timeout_event": 30}, Timer(after=timedelta(days=2), once=True)),
        (
            {"timeout": "PT30M", "timeout_event": "expire"},
            Timer(after=timedelta(minutes=30), once=True),
        ),
        ({"timeout_minutes": 60, "timeout_event": 30}, Timer(after=timedelta(hours=1), once=True)),
        (
            {"timeout_minutes": 60, "timeout_mode": "repeat", "timeout_event": 30},
            Timer(after=timedelta(hours=1), repeat=True),
        ),
        (
            {"timeout_minutes": 60, "timeout": "PT1H", "timeout_mode": 1, "timeout_event": "30"},
            Timer(after=timedelta(hours=1), repeat=True),
        ),
        (
            {"timeout": "1h", "timeout_mode": 0, "timeout_event": 30},
            Timer(after=timedelta(hours=1), once=True),
        ),
    ],
)
def test_time_outs_are_read(timeout: dict[str, Any], expected: Timer) -> None:
    [timer] = timers_of(**timeout)
    assert (timer.after, timer.once, timer.repeat) == (
        expected.after,
        expected.once,
        expected.repeat,
    )
    assert (timer.event, timer.notice) == ("expire", "")


def test_a_time_out_without_an_event_is_only_a_notice() -> None:
    [timer] = timers_of(timeout="P1D")
    assert (timer.event, timer.notice) == (None, "STATE_STALE")


def test_a_state_may_have_several_time_outs() -> None:
    timeouts = [
        {"state": "Checking", "timeout": "PT1H"},
        {"state": "Checking", "timeout": "P1D", "timeout_event": 30},
    ]
    state = contract_of(definition(), policy_of(timeouts=timeouts)).states["Checking"]
    assert [timer.event for timer in state.timers] == [None, "expire"]


def test_the_policys_hash_is_of_what_it_says_alone() -> None:
    policy = json.loads(POLICY.read_text())
    named = policy | {"policy_name": "other", "for": {"definition": "x"}, "description": "y"}
    labelled = json.loads(json.dumps(policy))
    labelled["rules"][0]["emit"][0]["label"] = "Look it up"
    respelled = json.loads(POLICY.read_text().replace('"event":', '"route":'))
    changed = json.loads(POLICY.read_text().replace("P2D", "P3D"))
    hashes = [hash_of(each) for each in (policy, named, labelled, respelled, changed)]
    assert hashes[0] == hashes[1] == hashes[2] == hashes[3] != hashes[4]
    assert vendor().policy == hashes[0]


def hash_of(policy: object) -> str:
    root, _ = read_source(json.dumps(policy))
    assert root is not None
    return policy_hash(root)


def test_without_a_policy_there_is_no_hash_of_one() -> None:
    assert contract_of(definition()).policy == ""


# What is wrong is told where it stands.


def place(found: Read, code: str) -> tuple[int, int]:
    problem = only(found, code)
    return problem.line, problem.column


def test_an_unknown_code_is_told_at_its_place_with_the_known_ones() -> None:
    text = POLICY.read_text().replace('"via": 1010', '"via": 1019')
    found = read(DEFINITION.read_text(), text)
    assert place(found, "unknown_event") == (24, 14)
    assert only(found, "unknown_event").hint.startswith("known codes: 1000 submitted, 1001 cleared")


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    found = read(definition(), policy_of(rules=[{"state": "Chekcing", "via": "aprove"}]))
    assert only(found, "unknown_state").hint == "did you mean 'Checking'?"
    assert only(found, "unknown_event").hint == "did you mean 'approve'?"


def test_an_unknown_parameter_set_is_told_with_the_nearest_one() -> None:
    rule = {"state": "Checking", "emit": [{"event": "A", "params": ["PARAM.A"]}]}
    found = read(definition(), policy_of(params=[{"code": "PARAMS.A"}], rules=[rule]))
    assert only(found, "unknown_param").hint == "did you mean 'PARAMS.A'?"
    assert only(found, "unknown_param").where == "policy.rules[0].emit[0].params"


@pytest.mark.parametrize(
    ("changes", "policy", "code", "where"),
    [
        ({"stats": []}, None, "unknown_key", "definition"),
        ({"states": []}, None, "no_states", ""),
        ({"states": [None]}, None, "bad_value", "states[0]"),
        ({"version": "new"}, None, "bad_value", "definition.version"),
        ({"events": [{"code": "ten", "name": "a"}]}, None, "bad_value", "events.a"),
        ({"events": [{"code": -1, "name": "a"}]}, None, "bad_value", "events.a"),
        ({"events": [{"description": "x"}]}, None, "bad_value", "events[0]"),
        ({"events": [{"name": "a", "kode": 1}]}, None, "unknown_key", "events[0]"),
        ({}, {"params": [{"data": {}}]}, "bad_value", "policy.params[0]"),
        ({}, {"params": {"P": {}}}, "bad_value", "policy.params"),
        ({}, {"params": [{"code": "P"}, {"code": "P"}]}, "duplicate_name", "policy.params[1]"),
        ({}, {"rules": [{"via": 10}]}, "bad_value", "policy.rules[0]"),
        ({}, {"rules": [{"state": "Done", "when": 1}]}, "unknown_key", "policy.rules[0]"),
        ({}, {"rules": [{"state": "Done", "via": True}]}, "bad_value", "policy.rules[0].via"),
        ({}, {"rules": [{"state": "Done", "via": 1.5}]}, "bad_value", "policy.rules[0].via"),
        (
            {},
            {"rules": [{"state": "Done", "complete": {"succes": 10}}]},
            "unknown_key",
            "policy.rules[0].complete",
        ),
        ({}, {"rules": [{"state": "Done", "emit": [{}]}]}, "bad_value", "policy.rules[0].emit[0]"),
        (
            {},
            {"rules": [{"state": "Done", "emit": [{"event": "A", "order": -1}]}]},
            "bad_value",
            "policy.rules[0].emit[0].order",
        ),
        (
            {},
            {"rules": [{"state": "Done", "emit": [{"event": "A", "type": "wall"}]}]},
            "bad_value",
            "policy.rules[0].emit[0]",
        ),
        (
            {},
            {"rules": [{"state": "Done", "emit": [{"event": "A", "route": "B"}]}]},
            "duplicate_name",
            "policy.rules[0].emit[0]",
        ),
        (
            {},
            {
                "rules": [
                    {
                        "state": "Done",
                        "emit": [{"event": "A", "type": "gate", "blocking": False}],
                    }
                ]
            },
            "bad_value",
            "policy.rules[0].emit[0]",
        ),
        (
            {},
            {
                "rules": [
                    {"state": "Done", "emit": [{"event": "A", "deadline": "2026-01-31T12:00:00Z"}]}
                ]
            },
            "bad_value",
            "policy.rules[0].emit[0].deadline",
        ),
        ({}, {"timeouts": [{"state": "Checking"}]}, "bad_value", "policy.timeouts[0]"),
        (
            {},
            {"timeouts": [{"state": "Checking", "timeout": "P1M"}]},
            "bad_value",
            "policy.timeouts[0].timeout",
        ),
        (
            {},
            {"timeouts": [{"state": "Checking", "timeout_minutes": 0}]},
            "bad_value",
            "policy.timeouts[0]",
        ),
        (
            {},
            {"timeouts": [{"state": "Checking", "timeout_minutes": "60"}]},
            "bad_value",
            "policy.timeouts[0].timeout_minutes",
        ),
        (
            {},
            {"timeouts": [{"state": "Checking", "timeout": "P1D", "timeout_minutes": 60}]},
            "bad_value",
            "policy.timeouts[0]",
        ),
        (
            {},
            {"timeouts": [{"state": "Checking", "timeout": "P1D", "timeout_mode": "weekly"}]},
            "bad_value",
            "policy.timeouts[0].timeout_mode",
        ),
        (
            {},
            {"timeouts": [{"state": "Nowhere", "timeout": "P1D"}]},
            "unknown_state",
            "policy.timeouts[0].state",
        ),
    ],
)
def test_what_is_wrong_is_one_error_at_its_place(
    changes: dict[str, Any], policy: dict[str, Any] | None, code: str, where: str
) -> None:
    events = {"transitions": []} if "events" in changes else {}
    found = read(definition(**changes, **events), None if policy is None else policy_of(**policy))
    assert codes(found) == [code]
    problem = only(found, code)
    assert problem.where == where
    assert problem.line > 0
    assert problem.column > 0


@pytest.mark.parametrize(
    ("transition", "code", "where"),
    [
        ({"to": "Done", "event": 10}, "bad_value", "transitions[0]"),
        ({"from": "Received", "to": "Done"}, "bad_value", "transitions[0]"),
        ({"from": "Nowhere", "to": "Done", "event": 10}, "unknown_state", "transitions[0].from"),
        ({"from": "Received", "to": "Doen", "event": 10}, "unknown_state", "transitions[0].to"),
        ({"from": "Received", "to": "Done", "event": 11}, "unknown_event", "transitions[0].event"),
        ({"from": "Received", "to": "Done", "event": []}, "bad_value", "transitions[0].event"),
        (
            {"from": "Received", "to": "Done", "event": 10, "eventName": "approve"},
            "bad_value",
            "transitions[0]",
        ),
        (
            {"from": "Received", "to": "Done", "event": 10, "if": "x"},
            "unknown_key",
            "transitions[0]",
        ),
        ("Received -> Done", "bad_value", "transitions[0]"),
    ],
)
def test_a_faulty_transition_is_told(transition: object, code: str, where: str) -> None:
    found = read(definition(transitions=[transition]))
    assert codes(found) == [code]
    assert only(found, code).where == where


@pytest.mark.parametrize("second", ["Checking", "CHECKING", "checking "])
def test_a_state_stands_once_whatever_its_case(second: str) -> None:
    states = [{"name": "Checking", "initial": True}, {"name": second}]
    found = read(definition(states=states, transitions=[]))
    assert codes(found) == ["duplicate_state"]
    assert "line 5" in only(found, "duplicate_state").hint


@pytest.mark.parametrize(
    "events",
    [
        [{"code": 10, "name": "a"}, {"code": 10, "name": "b"}],
        [{"code": 10, "name": "a"}, {"code": 11, "name": "A"}],
        ["a", "a"],
        {"a": 1, "b": 1},
    ],
)
def test_names_and_codes_of_events_stand_once(events: object) -> None:
    found = read(definition(events=events, transitions=[]))
    assert codes(found) == ["duplicate_name"]


def test_two_codes_of_one_name_are_told_where_transitions_declare_them() -> None:
    transitions = [
        {"from": "Received", "to": "Checking", "event": 1, "eventName": "go"},
        {"from": "Checking", "to": "Done", "event": 2, "eventName": "go"},
    ]
    found = read(definition(events=None, transitions=transitions))
    assert "duplicate_name" in codes(found)


def test_a_policy_for_another_definition_is_a_warning() -> None:
    found = read(definition(), policy_of(**{"for": {"definition": "other", "version": 4}}))
    assert not has_errors(found.problems)
    messages = [problem.message for problem in found.problems]
    assert messages == [
        "the policy is for 'other', the definition is 'review'",
        "the policy is for version 4, the definition has 3",
    ]


@pytest.mark.parametrize(
    "policy",
    [
        {"rules": [{"state": "Done", "auto": [{"event": 10}]}]},
        {
            "rules": [
                {
                    "state": "Done",
                    "emit": [{"event": "A", "type": "effect", "complete": {"success": 10}}],
                }
            ]
        },
        {"timeouts": [{"state": "Checking", "timeout": "P1D", "max_retry": 3}]},
        {"env_code": 1},
    ],
)
def test_what_changes_nothing_says_so(policy: dict[str, Any]) -> None:
    found = read(definition(), policy_of(**policy))
    assert [problem.code for problem in found.problems] == ["setting_without_effect"]
    assert found.problems[0].severity == "warning"


@pytest.mark.parametrize("half", ["definition", "policy"])
def test_a_file_cut_short_is_told_and_never_a_crash(half: str) -> None:
    whole, policy = DEFINITION.read_text(), POLICY.read_text()
    for length in range(0, len(whole if half == "definition" else policy), 37):
        if half == "definition":
            found = read(whole[:length], policy)
        else:
            found = read(whole, policy[:length])
        assert has_errors(found.problems), length


KEYS = sorted(
    {
        spelling
        for table in (
            terms.DEFINITION,
            terms.STATE,
            terms.EVENT,
            terms.TRANSITION,
            terms.POLICY,
            terms.FOR,
            terms.PARAM,
            terms.RULE,
            terms.HOOK,
            terms.COMPLETE,
            terms.TIMEOUT,
        )
        for spelling in spellings(table)
    }
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["Checking", "submit", "gate", "P1D", "repeat", "A", "", "2026-01-31T12:00:00Z"]
    )
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(ANYTHING, ANYTHING | st.none())
def test_nothing_that_is_given_as_a_workflow_raises(first: object, second: object) -> None:
    for given_definition in (first, definition(states=first), definition(transitions=first)):
        root, _ = read_source(json.dumps(given_definition))
        policy, _ = read_source(json.dumps(second))
        reading = Reading()
        assert root is not None
        contract = read_workflow(root, reading, None if second is None else policy)
        assert contract is not None or has_errors(reading.problems)
        if contract is not None and not has_errors(reading.problems):
            assert len(contract.hash) == 64


def paths_in(value: object, before: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [before, *(path for key, item in inner for path in paths_in(item, (*before, key)))]


def replaced(value: Any, path: tuple[str | int, ...], by: object) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


BOTH = {"definition": json.loads(DEFINITION.read_text()), "policy": json.loads(POLICY.read_text())}


@given(st.sampled_from(paths_in(BOTH)), ANYTHING)
def test_no_part_of_a_workflow_can_be_such_that_reading_it_raises(
    path: tuple[str | int, ...], value: object
) -> None:
    halves = replaced(BOTH, path, value)
    found = read(json.dumps(halves))
    if found.contract is not None and not has_errors(found.problems):
        assert interlock.check(json.dumps(halves)) is not None


def test_thousands_of_faults_are_told_in_good_time() -> None:
    names = [{"name": f"state_{index}", "initial": index == 0} for index in range(5_000)]
    faulty = [{"from": f"stat_{index}", "to": "nowhere", "event": index} for index in range(5_000)]
    found = read(definition(states=names, transitions=faulty))
    assert len(found.problems) > 10_000


# The page that documents the dialect.


TABLES: dict[str, dict[str, Term]] = {
    "Definition": terms.DEFINITION,
    "State": terms.STATE,
    "Event": terms.EVENT,
    "Transition": terms.TRANSITION,
    "Policy": terms.POLICY,
    "Target": terms.FOR,
    "Parameter set": terms.PARAM,
    "Rule": terms.RULE,
    "Hook": terms.HOOK,
    "Complete": terms.COMPLETE,
    "Time-out": terms.TIMEOUT,
}


def rows_of(table: dict[str, Term]) -> list[str]:
    return [
        f"| `{name}` | {' '.join(f'`{each}`' for each in term.also)} | {term.meaning} |".replace(
            "|  |", "| |"
        )
        for name, term in table.items()
    ]


@pytest.mark.parametrize("title", TABLES)
def test_the_reference_lists_every_key_in_all_its_spellings(title: str) -> None:
    page = (ROOT / "docs" / "reference" / "workflow-dialect.md").read_text()
    section = page.partition(f"### {title}\n")[2].partition("\n#")[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows_of(
        TABLES[title]
    )
