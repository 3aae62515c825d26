"""Claims about the checker: each fault is found with its place, and what is right is left alone."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import interlock
from interlock.codes import PROBLEMS
from interlock.contract.check import check_contract
from interlock.contract.check.graph import MAX_EDGES
from interlock.contract.check.overlap import together
from interlock.contract.check.quantities import Effort, Frame
from interlock.contract.expression.declare import parse_declaration
from interlock.contract.expression.evaluate import compile_condition
from interlock.contract.expression.expr import Const, Name
from interlock.contract.expression.parse import parse_expression
from interlock.contract.expression.scope import Scope
from interlock.contract.model import Contract, Row, State
from interlock.contract.outcome import Moved, Refused
from interlock.contract.problem import Problem, has_errors
from interlock.contract.problem import problem as fault_of
from interlock.contract.read import Source, read_contract
from interlock.machine import start, step

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.contract.expression.expr import Expr

FINE = """
    contract: order
    context: {total: decimal = 0, tries: int = 0, note: str | null}
    events:
      pay: {amount: decimal > 0}
      packed: {}
      cancel: {reason: str | null}
    states:
      cart:
        pay:
          - {when: event.amount >= total, to: packing, set: {total: event.amount}}
          - {else: stay, set: {tries: tries + 1}}
      packing: {packed: shipped}
      shipped: {end: ok}
      cancelled: {end: ok}
    any: {cancel: cancelled}
"""


def tree_of(text: str) -> tuple[Contract | None, list[Problem]]:
    found = read_contract(Source(text, "text"))
    return found.contract, found.problems


def read(text: str) -> Contract:
    contract, problems = tree_of(dedent(text))
    assert contract is not None, problems
    assert problems == []
    return contract


def problems_of(text: str, *, dialect: str = "native") -> list[Problem]:
    return check_contract(replace(read(text), dialect=dialect))


def changed(old: str, new: str) -> str:
    assert old in FINE
    return FINE.replace(old, new)


def machine(rows: str, *, context: str = "{}", events: str = "[a, b, c]") -> str:
    """Write a contract from the lines of its states."""
    head = f"contract: sample\ncontext: {context}\nevents: {events}\nstates:\n"
    return head + "\n".join(f"  {line}" for line in dedent(rows).strip().splitlines())


def codes(problems: list[Problem]) -> Counter[str]:
    return Counter(problem.code for problem in problems)


def only(problems: list[Problem], code: str) -> Problem:
    assert codes(problems) == {code: 1}, problems
    return problems[0]


def one(problems: list[Problem], code: str) -> Problem:
    found = [problem for problem in problems if problem.code == code]
    assert len(found) == 1, problems
    return found[0]


def sees(text: str, code: str, *, dialect: str = "native") -> bool:
    return code in codes(problems_of(text, dialect=dialect))


def played(text: str, events: tuple[str, ...]) -> str:
    """Return the state that a sequence of events leads to; each must be taken."""
    contract = read(text)
    outcome = start(contract)
    assert isinstance(outcome, Moved)
    state, context = outcome.state, outcome.context
    for event in events:
        after = step(contract, state, context, event)
        assert not isinstance(after, Refused), (events, event, after.message)
        state, context = after.state, after.context
    return state


def test_a_contract_without_faults_has_no_problems() -> None:
    assert problems_of(FINE) == []


def test_every_problem_has_a_known_code_and_a_reason() -> None:
    faulty = changed("shipped}", "shiped}").replace("amount >= total", "amout >= totl")
    for problem in problems_of(faulty):
        assert problem.code in PROBLEMS
        assert problem.message
        assert problem.line > 0
        assert problem.where


# --- names ------------------------------------------------------------------------------------


def test_a_contract_without_states_is_reported() -> None:
    empty = replace(read(FINE), states={})
    assert only(check_contract(empty), "no_states").severity == "error"


def test_an_unknown_target_is_reported_with_its_place_and_a_guess() -> None:
    problem = only(problems_of(changed("{packed: shipped}", "{packed: shiped}")), "unknown_state")
    assert problem.where == "states.packing.packed[0]"
    assert problem.hint == "did you mean 'shipped'?"
    assert (problem.line, problem.column) == (13, 21)


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ("initial: carts", "initial"),
        ("migrate: {0: {states: {old: carts}}}", "migrate.0.states.old"),
        ("tests: [{events: [cancel], expect: cance}]", "tests[0].expect"),
        ("tests: [{given: {state: carts}, events: [], expect: cart}]", "tests[0].given.state"),
    ],
)
def test_a_state_is_known_wherever_it_is_named(more: str, where: str) -> None:
    text = dedent(FINE) + more
    assert one(problems_of(text), "unknown_state").where == where
    assert not sees(text.replace("carts", "cart").replace("cance}", "cancelled}"), "unknown_state")


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("packing: {packed: shipped}", "packing: {pakced: shipped}", "states.packing.pakced[0]"),
        ("any: {cancel:", "any: {cancle:", "any.cancle[0]"),
        ("packed: shipped", "packed: shipped, after: {1h: pakced}", "states.packing.after[0]"),
        ("packed: shipped", "packed: shipped, ignore: [payd]", "states.packing.ignore"),
        (
            "packed: shipped",
            "packed: shipped, enter: {do: pack, done: pakced}",
            "states.packing.enter[0].done",
        ),
        (
            "packed: shipped",
            "packed: {to: shipped, do: {do: tell, failed: pakced}}",
            "states.packing.packed[0].do[0].failed",
        ),
        (
            "packed: shipped",
            "packed: shipped, hooks: [{route: r, via: pakced}]",
            "states.packing.hooks[0].via",
        ),
        (
            "packed: shipped",
            "packed: shipped, rules: [{done: pakced}]",
            "states.packing.rules[0].done",
        ),
        ("contract: order", "contract: order\n    begins: [pakced]", "begins"),
        ("contract: order", "contract: order\n    publish: [pakced]", "publish"),
        ("contract: order", "contract: order\n    on_error: pakced", "on_error"),
    ],
)
def test_an_event_is_known_wherever_it_is_named(old: str, new: str, where: str) -> None:
    problems = problems_of(changed(old, new))
    assert where in [found.where for found in problems if found.code == "unknown_event"], problems
    assert all("did you mean" in found.hint for found in problems if found.code == "unknown_event")


def test_without_a_list_of_events_each_name_is_told_once() -> None:
    text = machine("{x: {a: y, b: y}, y: {a: x, b: z}, z: {end: ok}}", events="[]")
    assert codes(problems_of(text)) == {"unknown_event": 2}


def test_rows_for_events_named_like_keys_have_their_place_under_on() -> None:
    text = machine("{x: {on: {enter: q}}, y: {end: ok}}", events="[enter]")
    assert one(problems_of(text), "unknown_state").where == "states.x.on.enter[0]"


def test_an_unknown_field_is_reported_at_its_column_in_the_expression() -> None:
    text = changed("{when: event.amount >= total, to", "{when: event.amount >= totl, to")
    problem = only(problems_of(text), "unknown_field")
    assert problem.message == "no field 'totl' in the context"
    assert problem.hint == "did you mean 'total'?"
    assert problem.where == "states.cart.pay[0].when"
    line = dedent(text).splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith("totl")


def test_the_column_of_a_quoted_expression_counts_its_quote() -> None:
    text = changed("{tries: tries + 1}", '{tries: "1 + trys"}')
    problem = only(problems_of(text), "unknown_field")
    line = dedent(text).splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith("trys")


def test_all_unknown_fields_of_an_expression_are_told_at_once() -> None:
    problems = problems_of(changed("event.amount >= total", "event.amout >= totl"))
    assert [found.hint for found in problems] == [
        "did you mean 'amount'?",
        "did you mean 'total'?",
    ]


def test_a_field_of_the_event_is_recognised_without_its_prefix() -> None:
    problem = only(problems_of(changed("when: event.amount", "when: amount")), "unknown_field")
    assert problem.hint == "did you mean `event.amount`?"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{tries: tries + 1}", "{trys: tries + 1}"),
        ("contract: order", "contract: order\n    touched: [totl]"),
        ("contract: order", "contract: order\n    indexed: [totl]"),
        (
            "contract: order",
            "contract: order\n    tests: [{given: {totl: 1}, events: [], expect: cart}]",
        ),
        ("contract: order", "contract: order\n    tests: [{context: {totl: 1}, events: []}]"),
        ("contract: order", "contract: order\n    migrate: {0: {set: {totl: 1}}}"),
    ],
)
def test_a_context_field_is_known_wherever_it_is_named(old: str, new: str) -> None:
    assert only(problems_of(changed(old, new)), "unknown_field").hint.startswith("did you mean")


def test_an_open_context_has_every_field() -> None:
    text = changed("context: {", "context: {'*': json, ").replace("amount >= total", "amount >= x")
    assert problems_of(text) == []


def test_an_unknown_parameter_set_is_reported_and_a_declared_one_is_not() -> None:
    text = (
        machine("{x: {a: y, hooks: [{route: r, params: [SLOW_2]}]}, y: {end: ok}}") + "\nparams: "
    )
    assert (
        only(problems_of(text + "{SLOW_1: {}}"), "unknown_param").hint == "did you mean 'SLOW_1'?"
    )
    assert problems_of(text + "{SLOW_2: {}}") == []
    rule = text.replace("hooks: [{route: r, params: [SLOW_2]}]", "rules: [{params: [SLOW_2]}]")
    assert sees(rule + "{SLOW_1: {}}", "unknown_param")


def test_two_rows_with_one_name_and_two_events_with_one_code_are_reported() -> None:
    rows = machine("{x: {a: {to: y, name: n}, b: {to: y, name: n}}, y: {end: ok}}")
    assert only(problems_of(rows), "duplicate_name").where == "states.x.b[0]"
    assert problems_of(rows.replace("b: {to: y, name: n}", "b: {to: y, name: m}")) == []
    numbered = dedent(FINE) + "codes: {pay: 7, packed: 7}"
    assert only(problems_of(numbered), "duplicate_name").where == "codes.packed"
    assert problems_of(numbered.replace("packed: 7", "packed: 8")) == []


# --- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("event.amount >= total", "event.amount + total", "a condition must be true or false"),
        ("event.amount >= total", "note > 3", "no order between them"),
        ("{tries: tries + 1}", "{tries: total}", "decimal does not fit the field 'tries', int"),
        ("{tries: tries + 1}", "{tries: tries / 2}", "decimal does not fit"),
        ("{tries: tries + 1}", "{tries: null}", "null does not fit the field 'tries', int"),
        ("{tries: tries + 1}", "{tries: 1.5}", "1.5 does not fit"),
        ("{tries: tries + 1}", "{tries: 1 if tries > 2 else null}", "null does not fit"),
        ("{tries: tries + 1}", "{total: len(note)}", "int | null does not fit"),
        ("any: {cancel: cancelled}", "any: {cancel: {to: cancelled, when: 5}}", "a condition"),
        ("packed: shipped", "packed: shipped, enter: {do: x, with: {a: event.b}}", "`event` is"),
        ("packed: shipped", "packed: shipped, exit: {do: x, with: {a: event.b}}", "`event` is"),
        ("packed: shipped", "packed: shipped, always: {when: event.b > 1, to: cart}", "`event` is"),
        ("contract: order", "contract: order\n    migrate: {0: {set: {tries: 1.5}}}", "1.5 does"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported(old: str, new: str, told: str) -> None:
    problem = one(problems_of(changed(old, new)), "type_error")
    assert told in problem.message
    assert problem.severity == "error"
    assert problem.line > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{tries: tries + 1}", "{total: tries}"),
        ("{tries: tries + 1}", "{note: null}"),
        ("{tries: tries + 1}", "{note: \"'gone'\"}"),
        ("{tries: tries + 1}", "{tries: len(note) if exists(note) else 0}"),
        ("event.amount >= total", "event.amount >= total and len(note) > 2"),
        ("tries: int = 0", "tries: int = 0, when: time | null"),
    ],
)
def test_a_value_that_fits_is_left_alone(old: str, new: str) -> None:
    assert not has_errors(problems_of(changed(old, new)))


def test_what_the_guard_shows_to_be_present_can_be_set() -> None:
    text = machine("{x: {a: {when: exists(n), to: y, set: {m: n}}}, y: {end: ok}}")
    guarded = text.replace("context: {}", "context: {n: int | null, m: int = 0}")
    assert not has_errors(problems_of(guarded))
    bare = guarded.replace("when: exists(n), ", "")
    assert "may be null" in one(problems_of(bare), "type_error").hint


def test_a_text_written_as_a_name_is_told_how_to_quote_it() -> None:
    text = machine(
        "{x: {a: {to: y, set: {s: open}}}, y: {end: ok}}", context="{s: open | shut = shut}"
    )
    assert "'open'" in only(problems_of(text), "unknown_field").hint
    wrong = text.replace("set: {s: open}", "set: {s: \"'opne'\"}")
    assert only(problems_of(wrong), "type_error").hint == "did you mean 'open'?"


def test_a_faulty_guard_hides_no_fault_beside_it() -> None:
    text = changed("event.amount >= total", "event.amount >= totl and note > 3")
    assert codes(problems_of(text)) == {"unknown_field": 1, "type_error": 1}


def test_an_unknown_event_hides_its_payload_and_nothing_else() -> None:
    text = changed("        pay:\n", "        pya:\n").replace(">= total", ">= totl")
    assert codes(problems_of(text))["unknown_event"] == 1
    assert codes(problems_of(text))["unknown_field"] == 1


def test_a_touch_row_stays_is_silent_and_sets_touched_fields_only() -> None:
    fine = machine("{x: {a: {touch: true, set: {seen: seen + 1}}, b: y}, y: {end: ok}}")
    fine = fine.replace("context: {}", "context: {seen: int = 0}") + "\ntouched: [seen]"
    assert problems_of(fine) == []
    assert only(problems_of(fine.replace("[seen]", "[]")), "unknown_field").where.endswith("seen")
    loud = fine.replace("touch: true", "touch: true, do: ring, to: y")
    assert codes(problems_of(loud)) == {"bad_value": 2}


def test_a_payload_laid_over_the_context_must_fit_it() -> None:
    text = machine("{x: {a: y}, y: {end: ok}}", context="{n: int = 0}", events="{a: {n: int}}")
    assert problems_of(text + "\npayload: merge") == []
    other = text.replace("a: {n: int}", "a: {n: str}") + "\npayload: merge"
    assert only(problems_of(other), "type_error").where == "events.a.n"
    more = text.replace("a: {n: int}", "a: {m: int}") + "\npayload: merge"
    assert only(problems_of(more), "unknown_field").where == "events.a.m"
    free = text.replace("a: {n: int}", "a: {'*': json}") + "\npayload: merge"
    assert only(problems_of(free), "unknown_field").where == "events.a"


def test_the_payload_of_a_deadline_must_fit_its_event() -> None:
    text = machine("{x: {a: y, after: {1h: a}}, y: {end: ok}}", events="{a: {why: str}}")
    missing = only(problems_of(text), "type_error")
    assert (missing.severity, missing.where) == ("warning", "states.x.after[0]")
    given_one = text.replace("{1h: a}", "{1h: {raise: a, with: {why: \"'late'\"}}}")
    assert problems_of(given_one) == []
    assert one(problems_of(given_one.replace("\"'late'\"", "1")), "type_error").severity == "error"
    assert sees(given_one.replace('{why: "', '{wy: "'), "unknown_field")


# --- structure --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("y: {end: ok, b: x}", "states.y.b[0]"),
        ("y: {end: ok, b: stay}", "states.y.b[0]"),
        ("y: {end: ok, always: x}", "states.y.always[0]"),
        ("y: {end: ok, after: {1h: {notice: old}}}", "states.y.after[0]"),
    ],
)
def test_an_ended_state_has_no_rows_and_no_deadlines(body: str, where: str) -> None:
    problem = only(problems_of(machine("x: {a: y}\n" + body)), "transition_from_terminal")
    assert problem.where == where
    assert problem.severity == "error"


def test_the_rows_of_any_do_not_lead_out_of_an_end() -> None:
    assert problems_of(machine("x: {a: y}\ny: {end: ok}") + "\nany: {b: x}") == []


def test_an_unreachable_state_is_an_error_and_in_dialects_a_warning() -> None:
    text = machine("x: {a: y}\ny: {end: ok}\nz: {b: y}")
    problem = only(problems_of(text), "unreachable_state")
    assert (problem.severity, problem.where) == ("error", "states.z")
    assert (problem.line, problem.column) == (7, 3)
    assert only(problems_of(text, dialect="fsm"), "unreachable_state").severity == "warning"
    assert problems_of(text + "\nany: {c: z}") == []


def test_a_state_that_old_instances_are_moved_to_is_reachable() -> None:
    text = machine("x: {a: y}\ny: {end: ok}\nz: {b: y}")
    assert problems_of(text + "\nmigrate: {0: {states: {old: z}}}") == []


def test_a_row_behind_one_that_is_always_taken_leads_nowhere() -> None:
    text = machine("x: {a: [{to: y}, {when: n > 1, to: z}]}\ny: {end: ok}\nz: {end: ok}")
    text = text.replace("context: {}", "context: {n: int = 0}")
    assert codes(problems_of(text)) == {"unreachable_state": 1, "shadowed_transition": 1}


def test_an_unknown_target_makes_no_state_unreachable() -> None:
    assert only(problems_of(machine("x: {a: q}\ny: {end: ok}")), "unknown_state")


def test_an_isolated_state_is_an_error_in_dialects() -> None:
    text = machine("x: {a: y}\ny: {end: ok}\nz: {}")
    problem = only(problems_of(text, dialect="fsm"), "isolated_state")
    assert (problem.severity, problem.where) == ("error", "states.z")
    assert not sees(text, "isolated_state")
    assert not sees(text.replace("z: {}", "z: {b: y}"), "isolated_state", dialect="fsm")
    wild = text + "\nany: {c: y}"
    assert sees(wild, "isolated_state", dialect="fsm")


def test_a_state_without_a_way_out_is_a_trap_and_the_witness_leads_into_it() -> None:
    text = machine("x: {a: y}\ny: {b: z, c: w}\nz: {}\nw: {end: ok}")
    problem = only(problems_of(text), "trap_state")
    assert (problem.severity, problem.where) == ("error", "states.z")
    assert problem.witness == ("a", "b")
    assert played(text, problem.witness) == "z"


def test_a_state_that_only_leads_to_itself_is_a_trap() -> None:
    assert sees(machine("x: {a: y}\ny: {b: y, c: stay}"), "trap_state")
    assert sees(machine("x: {a: y}\ny: {kind: success}"), "trap_state")
    assert sees(machine("x: {a: y}\ny: {}") + "\nany: {b: y}", "trap_state")
    assert not sees(machine("x: {a: y}\ny: {}") + "\nany: {b: x}", "trap_state")
    assert not sees(machine("x: {a: y}\ny: {always: x}"), "trap_state")


def test_states_that_cannot_come_to_an_end_are_a_warning() -> None:
    text = machine("x: {a: y, b: e}\ny: {b: z}\nz: {c: y}\ne: {end: ok}")
    problems = problems_of(text)
    assert codes(problems) == {"no_path_to_terminal": 2}
    assert {found.severity for found in problems} == {"warning"}
    for problem in problems:
        assert f"states.{played(text, problem.witness)}" == problem.where


def test_a_contract_without_ends_may_go_on_for_ever() -> None:
    assert problems_of(machine("x: {a: y}\ny: {b: x}")) == []


def test_what_leads_only_to_a_trap_is_told_by_the_trap() -> None:
    text = machine("x: {a: y, b: e}\ny: {b: z}\nz: {}\ne: {end: ok}")
    assert only(problems_of(text), "trap_state")


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("x: {a: y}\ny: {kind: terminal, b: x}", False),
        ("x: {a: y}\ny: {kind: initial, b: x}", False),
        ("x: {kind: initial, a: y}\ny: {b: x}", True),
        ("x: {a: y}\ny: {end: ok, kind: error}", False),
        ("x: {a: y}\ny: {end: error, kind: success}", False),
        ("x: {a: y}\ny: {end: ok, kind: operational}", False),
        ("x: {a: y}\ny: {end: ok, kind: success}", True),
        ("x: {a: y}\ny: {end: error, kind: error}", True),
        ("x: {a: y}\ny: {end: error, kind: terminal}", True),
        ("x: {a: y}\ny: {kind: success, b: x}", True),
    ],
)
def test_a_kind_fits_what_a_state_is(body: str, *, fits: bool) -> None:
    assert codes(problems_of(machine(body))) == ({} if fits else {"kind_mismatch": 1})


# --- cycles -----------------------------------------------------------------------------------


def test_always_rows_without_guards_that_lead_round_are_an_error() -> None:
    text = machine("x: {a: y}\ny: {always: z}\nz: {always: y}\ne: {end: ok}") + "\nany: {b: e}"
    problem = one(problems_of(text), "always_cycle")
    assert problem.severity == "error"
    assert "y -> z -> y" in problem.message
    assert problem.witness == ("a",)
    outcome = step(read(text), "x", {}, "a")
    assert isinstance(outcome, Refused)
    assert outcome.code == "HOP_LIMIT"


@pytest.mark.parametrize(
    ("always", "severity"),
    [
        ("{set: {n: n + 1}}", "error"),
        ("{to: x}", "error"),
        ("{when: n < 3, set: {n: n + 1}}", "warning"),
        ("[{when: n > 2, to: y}, {else: x}]", "warning"),
        ("[{when: n > 2, to: y}, {when: n < 1, to: z}]", None),
    ],
)
def test_a_cycle_is_sure_when_no_guard_can_end_it(always: str, severity: str | None) -> None:
    text = machine(f"x: {{a: y, b: z, always: {always}}}\ny: {{a: x}}\nz: {{b: x}}")
    text = text.replace("context: {}", "context: {n: int = 0}")
    found = [p.severity for p in problems_of(text) if p.code == "always_cycle"]
    assert found == ([] if severity is None else [severity])


RETRIES = """
    contract: retries
    context: {tries: int = 0}
    events: [go, passed, broke, retry, give_up]
    states:
      idle: {go: trying}
      trying: {passed: {to: working, set: {tries: 0}}, broke: failed}
      working: {passed: done, broke: failed}
      failed: {retry: {when: tries < 3, to: trying, set: {tries: tries + 1}}, give_up: dead}
      done: {kind: success, go: idle}
      dead: {end: error}
"""


def test_a_counter_that_is_reset_on_the_way_back_bounds_nothing() -> None:
    problem = one(problems_of(RETRIES), "endless_retry")
    assert problem.severity == "warning"
    assert problem.where == "states.failed"
    assert problem.witness == ("retry", "passed", "broke")
    assert "failed -> trying -> working -> failed" in problem.message
    assert played(RETRIES, ("go", "broke", *problem.witness * 9)) == "failed"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("passed: {to: working, set: {tries: 0}}", "passed: working"),
        ("{to: working, set: {tries: 0}}", "{to: working, set: {tries: 3}}"),
        ("tries: tries + 1", "tries: tries"),
        ("when: tries < 3", "when: tries != 3"),
    ],
)
def test_a_counter_that_is_not_reset_or_bounds_nothing_is_left_alone(old: str, new: str) -> None:
    assert not sees(RETRIES.replace(old, new), "endless_retry")


def test_a_reset_on_reaching_success_begins_anew() -> None:
    text = (
        RETRIES.replace("{to: working, set: {tries: 0}}", "working")
        .replace("passed: done", "passed: {to: done, set: {tries: 0}}")
        .replace("go: idle", "go: idle, broke: failed")
    )
    assert not sees(text, "endless_retry")
    assert sees(text.replace("kind: success, ", ""), "endless_retry")


def test_counters_are_seen_like_written_rows() -> None:
    text = (
        RETRIES.replace("set: {tries: 0}", "name: p")
        .replace(
            "context: {tries: int = 0}",
            ("counters: {tries: {max: 3, up: [retry], reset: [passed]}}"),
        )
        .replace("when: tries < 3, to: trying, set: {tries: tries + 1}", "to: trying")
    )
    assert one(problems_of(text), "endless_retry").witness == ("retry", "passed", "broke")


# --- waiting ----------------------------------------------------------------------------------

WAITS = """
    contract: waits
    events: [go, sent, lost, stop]
    states:
      idle: {go: sending}
      sending: {enter: {do: send, done: sent, failed: lost}, sent: done, lost: again}
      again: {sent: done, lost: dead}
      done: {end: ok}
      dead: {end: error}
"""


def test_a_state_that_waits_for_a_result_nobody_asked_for_is_a_warning() -> None:
    problem = only(problems_of(WAITS), "undeliverable_wait")
    assert (problem.severity, problem.where) == ("warning", "states.again")
    assert problem.witness == ("go", "lost")
    assert played(WAITS, problem.witness) == "again"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("again: {sent", "again: {enter: {do: send, done: sent}, sent"),
        ("lost: again}", "lost: {to: again, do: {do: send, done: sent}}}"),
        ("again: {sent", "again: {after: {1h: lost}, sent"),
        ("again: {sent", "again: {stop: dead, sent"),
        ("again: {sent: done", "again: {sent: {to: done, late: accept}"),
        ("sent: done, lost: again", "exit: {do: send, done: sent}, sent: done, lost: again"),
        ("{do: send, done: sent, failed: lost}", "send"),
        ("contract: waits", "contract: waits\n    any: {stop: dead}"),
    ],
)
def test_a_state_that_somebody_will_wake_is_left_alone(old: str, new: str) -> None:
    assert old in WAITS
    assert not sees(WAITS.replace(old, new), "undeliverable_wait")


def test_what_a_state_passed_through_asked_for_is_awaited_where_the_way_ends() -> None:
    text = WAITS.replace("lost: again", "lost: via").replace(
        "done: {end", "via: {enter: {do: send, done: sent}, always: again}\n      done: {end"
    )
    assert not sees(text, "undeliverable_wait")


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("sent: done, lost: again", "sent: [{to: again}]", "states.sending.enter[0]"),
        ("idle: {go", "idle: {after: {1h: stop}, go", "states.idle.after[0]"),
        ("idle: {go: sending}", "idle: {go: {to: sending, do: {do: x, done: stop}}}", None),
    ],
)
def test_an_event_raised_where_no_row_takes_it_is_a_warning(
    old: str, new: str, where: str | None
) -> None:
    problem = one(problems_of(WAITS.replace(old, new)), "unknown_event")
    assert problem.severity == "warning"
    assert problem.where == where or where is None


@pytest.mark.parametrize("more", ["any: {stop: dead}", "sent: done, ignore: [stop], lost", "late"])
def test_an_event_that_is_taken_ignored_or_accepted_late_is_left_alone(more: str) -> None:
    text = WAITS.replace(
        "sending: {enter: {do: send,", "sending: {after: {1h: stop}, enter: {do: send,"
    )
    assert sees(text, "unknown_event")
    if more == "late":
        text = text.replace("lost: dead", "lost: dead, stop: {to: dead, late: accept}")
    elif more.startswith("any"):
        text = text.replace("contract: waits", f"contract: waits\n    {more}")
    else:
        text = text.replace("sent: done, lost", more, 1)
    assert not sees(text, "unknown_event")


# --- rows -------------------------------------------------------------------------------------


def rows(answers: str, *, context: str = "{n: int = 0, m: decimal = 0, s: str | null}") -> str:
    return machine(f"x: {{a: {answers}, b: z}}\ny: {{a: z}}\nz: {{end: ok}}", context=context)


def found_in(answers: str, **options: str) -> list[Problem]:
    return [p for p in problems_of(rows(answers, **options)) if p.code != "unreachable_state"]


@pytest.mark.parametrize(
    "answers",
    [
        "[y, z]",
        "[{to: y}, {to: z}]",
        "[{else: y}, {else: z}]",
        "[{to: y}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n < 3, to: z}, {else: z}]",
        "[{when: n < 3 and m > 1, to: y}, {when: m > 1 and n < 3, to: z}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n < 3, to: y, set: {n: 1}}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n < 3, to: y, do: tell}, {else: z}]",
    ],
)
def test_two_rows_meant_by_the_same_data_are_an_error(answers: str) -> None:
    problem = one(found_in(answers), "nondeterministic")
    assert (problem.severity, problem.where) == ("error", "states.x.a[1]")
    assert problem.witness == ("a",)


@pytest.mark.parametrize(
    ("answers", "example"),
    [
        ("[{when: n < 3, to: y}, {when: n > 1, to: z}]", "n = 2"),
        ("[{when: m < 3, to: y}, {when: m > 2.5, to: z}]", "m = 2.75"),
        ("[{when: n < 3, to: y}, {when: m > 2, to: z}]", "n = 0, m = 3"),
        ("[{when: 'n in [1, 2]', to: y}, {when: 'n in [2, 3]', to: z}]", "n = 2"),
        ("[{when: exists(s), to: y}, {when: s != 'x', to: z}]", None),
        ("[{when: s == 'x', to: y}, {when: exists(s), to: z}]", "s = 'x'"),
        ("[{when: n + 1 < 3, to: y}, {when: n * 2 > 1, to: z}]", "n = 1"),
        ("[{when: not n > 3, to: y}, {when: n == 1 or n == 9, to: z}]", "n = 1"),
        ("[{when: n + m > 3, to: y}, {when: m + n < 5, to: z}]", "m + n = 4"),
        ("[{when: len(s) > 1, to: y}, {when: len(s) < 3, to: z}]", "len(s) = 2"),
    ],
)
def test_guards_that_can_hold_together_are_a_warning_with_an_example(
    answers: str, example: str | None
) -> None:
    found = found_in(answers.removesuffix("]") + ", {else: z}]")
    if example is None:
        assert "shadowed_transition" in codes(found)
        return
    problem = one(found, "nondeterministic")
    assert problem.severity == "warning"
    assert problem.message.endswith(f"can hold together, as for {example}")


@pytest.mark.parametrize(
    "answers",
    [
        "[{when: n < 3, to: y}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n >= 3, to: z}]",
        "[{when: n < 3, to: y}, {when: not n < 3, to: z}]",
        "[{when: n == 3, to: y}, {when: n != 3, to: z}]",
        "[{when: n > 2, to: y}, {when: n < 3, to: z}]",
        "[{when: s == 'x', to: y}, {when: s == 'y', to: z}, {else: stay}]",
        "[{when: exists(s), to: y}, {when: not exists(s), to: z}]",
        "[{when: s == null, to: y}, {when: s != null, to: z}]",
        "[{when: 'matches(s, \"a+\")', to: y}, {when: 'not matches(s, \"a+\")', to: z}]",
        "[{when: n > m, to: y}, {when: n <= m, to: z}]",
        "[{when: n > m, to: y}, {when: m >= n, to: z}]",
        "[{when: 2 * n > 4, to: y}, {when: n <= 2, to: z}]",
        "[{when: n < 3 or n > 5, to: y}, {when: n >= 3 and n <= 5, to: z}]",
        "[{when: n < 3, to: y}, {when: 'n in [3, 4] and m > 1', to: z}, {else: z}]",
        "[{when: 'n > 1 if m > 1 else n > 2', to: y}, {else: z}]",
        "[{when: n < 3, to: y, priority: 1}, {when: n > 1, to: z}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n > 1, to: y}, {else: z}]",
    ],
)
def test_guards_that_exclude_one_another_and_leave_nothing_are_fine(answers: str) -> None:
    assert found_in(answers) == []


def test_a_row_without_guard_after_a_guarded_one_should_say_else() -> None:
    problem = only(found_in("[{when: n < 3, to: y}, {to: z}]"), "nondeterministic")
    assert problem.severity == "warning"
    assert "`else:`" in problem.hint


def test_what_cannot_be_decided_is_said_to_be_undecided() -> None:
    undecided = (
        "[{when: 'matches(s, \"a\")', to: y}, {when: 'matches(s, \"b\")', to: z}, {else: z}]"
    )
    problem = only(found_in(undecided), "nondeterministic")
    assert problem.severity == "warning"
    assert "undecided" in problem.message
    assert found_in(undecided.replace("to: z}, {else", "to: y}, {else")) == []


@pytest.mark.parametrize(
    "answers",
    [
        "[{else: y}, {when: n < 3, to: z}]",
        "[{when: n < 3, to: y}, {when: n < 2, to: z}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n == 1 and m > 2, to: z}, {else: z}]",
        "[{when: exists(s), to: y}, {when: s == 'x', to: z}, {else: z}]",
        "[{when: n < 3, to: y}, {when: n > 5, to: y}, {when: n == 1 or n == 9, to: z}, {else: z}]",
        "[{when: \"s in ['a']\", to: y, priority: 2}, {when: s == 'a', to: z}, {else: z}]",
    ],
)
def test_a_row_that_is_never_taken_is_a_warning(answers: str) -> None:
    problem = only(found_in(answers), "shadowed_transition")
    assert problem.severity == "warning"
    assert problem.where.startswith("states.x.a[")


def test_the_same_row_twice_is_a_warning_once() -> None:
    problem = only(
        found_in("[{when: n < 3, to: y}, {when: n < 3, to: y}, {else: z}]"),
        ("duplicate_transition"),
    )
    assert problem.severity == "warning"
    assert only(found_in("[z, z]"), "duplicate_transition").where == "states.x.a[1]"


def test_always_rows_are_compared_in_their_written_order() -> None:
    text = machine("x: {a: y}\ny: {always: [{else: z}, {when: n > 1, to: x}]}\nz: {end: ok}")
    text = text.replace("context: {}", "context: {n: int = 0}")
    assert only(problems_of(text), "shadowed_transition").where == "states.y.always[1]"


@pytest.mark.parametrize(
    ("answers", "example"),
    [
        ("[{when: n < 3, to: y}, {when: n > 3, to: z}]", "n = 3"),
        ("[{when: m < 3, to: y}, {when: m > 3, to: z}]", "m = 3"),
        ("[{when: s == 'x', to: y}, {when: s != 'x', to: z}]", "s = null"),
        ("[{when: len(s) < 3, to: y}, {when: len(s) >= 3, to: z}]", None),
    ],
)
def test_data_that_no_guard_covers_is_told_with_an_example(
    answers: str, example: str | None
) -> None:
    problem = only(found_in(answers), "partial_guards")
    assert (problem.severity, problem.where) == ("warning", "states.x.a")
    assert problem.witness == ("a",)
    if example:
        assert problem.message.endswith(f"for {example}")


@pytest.mark.parametrize("guard", ["n < 3", "n == 0", "s == 'x'", "exists(s)"])
def test_a_single_guard_is_there_to_refuse(guard: str) -> None:
    assert found_in(f"{{when: {guard}, to: y}}") == []


def test_the_example_of_uncovered_data_is_refused_by_the_machine() -> None:
    contract = read(rows("[{when: n < 3, to: y}, {when: n > 3, to: z}]"))
    outcome = step(contract, "x", {"n": 3}, "a")
    assert isinstance(outcome, Refused)
    assert outcome.code == "GUARD_FAILED"


def test_only_a_field_that_may_be_null_is_left_uncovered_by_null() -> None:
    answers = "[{when: n < 3, to: y}, {when: n >= 3, to: z}]"
    assert found_in(answers) == []
    assert (
        "n = null" in only(found_in(answers, context="{n: int | null}"), "partial_guards").message
    )


def test_the_bounds_and_members_of_a_type_are_known() -> None:
    bounded = "[{when: n == 1, to: y}, {when: n == 2, to: z}]"
    assert found_in(bounded, context="{n: int >= 1 <= 2 = 1}") == []
    named = "[{when: k == 'up', to: y}, {when: k != 'up', to: z}]"
    assert found_in(named, context="{k: up | down = up}") == []
    listed = "[{when: \"k in ['up']\", to: y}, {when: \"k in ['down']\", to: z}]"
    assert found_in(listed, context="{k: up | down = up}") == []
    flags = "[{when: f, to: y}, {when: not f, to: z}]"
    assert found_in(flags, context="{f: bool = true}") == []
    spans = "[{when: d < 15m, to: y}, {when: d > 15m, to: z}]"
    assert (
        "d = 15m" in only(found_in(spans, context="{d: duration = 1m}"), "partial_guards").message
    )


def test_times_are_compared_by_their_difference() -> None:
    answers = "[{when: event.at - t > 15m, to: y}, {when: event.at <= t + 15m, to: z}]"
    text = rows(answers, context="{t: time | null}").replace("[a, b, c]", "{a: {at: time}, b: {}}")
    problem = one(problems_of(text), "partial_guards")
    assert "null" in problem.message


def test_rows_of_any_are_judged_once_and_fill_what_own_rows_leave() -> None:
    answers = "[{when: n < 3, to: y}, {when: n > 3, to: e}]"
    text = machine(f"x: {{a: {answers}}}\ny: {{b: x, c: e}}\ne: {{end: ok}}")
    text = text.replace("context: {}", "context: {n: int = 0}")
    assert only(problems_of(text), "partial_guards").where == "states.x.a"
    assert problems_of(text + "\nany: {a: e}") == []
    wild = text + "\nany: {a: [{when: n > 9, to: e}, {when: n > 9, to: y}]}"
    problems = problems_of(wild)
    assert one(problems, "nondeterministic").where == "any.a[1]"
    assert [p.where for p in problems if p.code == "partial_guards"] == ["states.x.a", "any.a"]


def test_an_explicit_row_before_one_of_any_is_no_contradiction() -> None:
    text = machine("x: {a: y}\ny: {b: x, c: e}\ne: {end: ok}")
    assert problems_of(text + "\nany: {a: e}") == []
    first = problems_of(text + "\nany: {a: {to: e, priority: 1}}")
    assert one(first, "shadowed_transition").where == "states.x.a[0]"


# --- the whole --------------------------------------------------------------------------------


def test_without_warnings_only_errors_are_reported() -> None:
    text = RETRIES.replace("dead: {end: error}", "dead: {end: error}\n      z: {}")
    everything = check_contract(read(text))
    errors = check_contract(read(text), warn=False)
    assert errors == [found for found in everything if found.severity == "error"]
    assert {found.severity for found in errors} == {"error"}


def test_beside_a_fault_that_may_hide_a_row_only_what_is_certain_is_reported() -> None:
    text = changed("packed: shipped", "packed: shiped, pakced: cart").replace(">= total", ">= totl")
    fault = fault_of("unknown_key", "no such key", where="states.cart.pay[0]")
    found = check_contract(read(text), faults=[fault])
    assert codes(found) == {"unknown_state": 1, "unknown_event": 1, "unknown_field": 1}


def test_a_fault_beside_the_rows_hides_nothing_else() -> None:
    text = changed("packed: shipped", "packed: shipped, pakced: cart")
    fault = fault_of("unknown_key", "no such key", where="tests[0]")
    assert codes(check_contract(read(text), faults=[fault])) == codes(check_contract(read(text)))


def test_rows_without_a_text_behind_them_are_checked_too() -> None:
    state = State(name="x", rows=(Row(event="a", to="y", when=Name("n")),))
    contract = Contract(name="c", initial="x", states={"x": state})
    assert codes(check_contract(contract)) == {
        "unknown_state": 1,
        "unknown_event": 1,
        "unknown_field": 1,
    }
    assert all(problem.line == 0 for problem in check_contract(contract))


def test_a_huge_contract_is_checked_in_bounds_and_says_what_is_left_out() -> None:
    count = int(MAX_EDGES**0.5) + 1
    states = {f"s{n}": State(name=f"s{n}") for n in range(count)}
    wild = tuple(Row(event="a", to=f"s{n}", when=Const(value=True)) for n in range(count))
    contract = Contract(name="c", initial="s0", states=states, any=wild)
    assert codes(check_contract(contract))["too_large"] == 1


def test_a_long_chain_of_states_needs_no_recursion() -> None:
    count = 3_000
    states = {
        f"s{n}": State(name=f"s{n}", always=(Row(event=None, to=f"s{(n + 1) % count}"),))
        for n in range(count)
    }
    contract = Contract(name="c", initial="s0", states=states)
    assert codes(check_contract(contract))["always_cycle"] == 1


def test_guards_that_explode_into_alternatives_are_undecided_and_cheap() -> None:
    heavy = " and ".join(f"(n == {i} or m == {i} or exists(s))" for i in range(60))
    problems = found_in(f"[{{when: {heavy}, to: y}}, {{when: {heavy} and n > 1, to: z}}]")
    assert {"nondeterministic", "partial_guards"} >= set(codes(problems))


def test_a_guard_of_the_wrong_type_is_not_judged_further() -> None:
    assert codes(found_in("[{when: s > 3, to: y}, {when: n > 3, to: z}]")) == {"type_error": 1}


def test_more_guards_than_can_be_compared_are_told_once() -> None:
    many = ", ".join(f"{{when: n == {i} or m == {i}, to: y}}" for i in range(900))
    found = found_in(f"[{many}, {{when: s == 'x', to: z}}, {{else: z}}]")
    assert codes(found) == {"too_large": 1}
    assert found[0].severity == "warning"


def test_equal_guards_are_found_however_far_apart() -> None:
    many = ", ".join(f"{{when: n == {i}, to: y}}" for i in range(100))
    found = found_in(f"[{many}, {{when: n == 0, to: z}}, {{else: z}}]")
    assert only(found, "nondeterministic").severity == "error"


def test_ends_that_nothing_reaches_are_told_once() -> None:
    text = machine("x: {a: y}\ny: {b: x}\nz: {end: ok}")
    assert only(problems_of(text), "unreachable_state").where == "states.z"


def test_a_duration_beyond_all_bounds_is_a_problem_of_the_text() -> None:
    text = rows("[{when: d < 999999999999w, to: y}]", context="{d: duration = 1m}")
    _, problems = tree_of(text)
    assert [problem.code for problem in problems] == ["syntax"]


# --- the page of problems ---------------------------------------------------------------------

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "problems.md").read_text("utf-8")
SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```\w[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS: dict[str, str] = dict(SECTION.findall(PAGE))


def test_the_page_explains_every_code_in_the_order_of_the_table() -> None:
    assert list(SECTIONS) == list(PROBLEMS)
    for code, section in SECTIONS.items():
        assert PROBLEMS[code].split()[0] in section
    assert [code for code in SECTIONS if "```" not in SECTIONS[code]] == ["unreadable", "too_large"]


@pytest.mark.parametrize("code", [code for code in SECTIONS if "```" in SECTIONS[code]])
def test_every_example_of_the_page_has_the_problem_shown_under_it(code: str) -> None:
    example, shown = FENCED.findall(SECTIONS[code])
    found = interlock.check(example)
    assert {problem.code for problem in found} == {code}
    lines = []
    for problem in found:
        lines.append(f"{problem.line}:{problem.column} {problem.severity}: {problem.message}")
        lines += [f"  hint: {problem.hint}"] * bool(problem.hint)
        lines += [f"  witness: {', '.join(problem.witness)}"] * bool(problem.witness)
    assert shown.splitlines() == lines


# --- properties -------------------------------------------------------------------------------

FIELDS = {
    "n": "int = 0",
    "m": "decimal | null",
    "s": "str | null",
    "k": "up | down = up",
    "f": "bool = true",
    "j": "json",
}
VALUES: dict[str, list[object]] = {
    "n": [-1, 0, 1, 2, 3, 4],
    "m": [None, *(Decimal(i) / 2 for i in range(-1, 8))],
    "s": [None, "", "a", "b", "other", "x"],
    "k": ["up", "down"],
    "f": [True, False],
    "j": [None, True, False, -1, 0, 1, 2, 3, Decimal("1.5"), "", "a", "other", "x"],
}
numbers = st.sampled_from(["0", "1", "2", "1.5", "n", "m", "n + m", "2 * n", "m - n", "len(s)"])
orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
atoms = st.one_of(
    st.builds("{} {} {}".format, numbers, orders, numbers),
    st.builds("s {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from("ab")),
    st.builds("k {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from(["up", "down"])),
    st.builds("n {} [0, {}]".format, st.sampled_from(["in", "not in"]), st.integers(1, 3)),
    st.builds("j == {}".format, st.sampled_from(["true", "1", "'a'", "null"])),
    st.builds("exists({})".format, st.sampled_from(["m", "s", "j"])),
    st.sampled_from(["f", "matches(s, 'a')", "true", "j != 1", "j in [1, 'a']", "s == k"]),
)
guards = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=4,
)
SCOPE = Scope(context={name: parse_declaration(text)[0] for name, text in FIELDS.items()})


def truth(guard: Expr) -> Callable[[dict[str, object]], bool]:
    run = compile_condition(guard, SCOPE)
    return lambda data: bool(run(data, {}))


def samples() -> list[dict[str, object]]:
    """Return combinations of values: every pair of fields takes all of its pairs."""
    names = list(VALUES)
    plain: dict[str, object] = {name: VALUES[name][-1] for name in names}
    return [
        plain | {first: one_value, second: other}
        for first in names
        for second in names
        for one_value in VALUES[first]
        for other in VALUES[second]
    ]


SAMPLES = samples()


@given(st.lists(guards, min_size=1, max_size=2), st.lists(guards, max_size=2))
def test_what_the_analysis_excludes_never_happens(holding: list[str], failing: list[str]) -> None:
    yes = [parse_expression(text) for text in holding]
    no = [parse_expression(text) for text in failing]
    wanted, unwanted = [truth(expr) for expr in yes], [truth(expr) for expr in no]
    if together(Frame(SCOPE, Effort()), yes, no) is None:
        for data in SAMPLES:
            assert not (
                all(holds(data) for holds in wanted) and not any(holds(data) for holds in unwanted)
            ), data


@given(guards, guards)
def test_the_example_of_the_analysis_happens(one_text: str, other_text: str) -> None:
    yes, no = parse_expression(one_text), parse_expression(other_text)
    found = together(Frame(SCOPE, Effort()), [yes], [no])
    if found is None or not found.sure or any(sign in found.example for sign in "+-*(."):
        return
    data: dict[str, object] = {name: values[-1] for name, values in VALUES.items()}
    for part in found.example.split(", ") if found.example else []:
        name, _, text = part.partition(" = ")
        value = parse_expression(text)
        assert isinstance(value, Const)
        data[name] = Decimal(str(value.value)) if name == "m" and value.value else value.value
    assert truth(yes)(data), found.example
    assert not truth(no)(data), found.example


STATES = ["x", "y", "z", "w"]
SETS = ["", "set: {n: n + 1}", "set: {n: 0}", "set: {m: n}", "set: {s: k}", "set: {f: not f}"]
BAD_SETS = [*SETS, "set: {n: m}", "set: {q: 1}"]


@st.composite
def contracts(draw: st.DrawFn) -> str:
    """Write a random contract: half of them with all kinds of faults, most others with none."""
    faulty = draw(st.booleans())
    targets = [*(f"to: {name}" for name in STATES), "", "else: stay"]

    def row(event: str, *, guarded: bool = False) -> str:
        to = draw(st.sampled_from([*targets, "to: v"] if faulty else targets))
        guarded = guarded and not faulty
        to = "" if guarded and to.startswith("else") else to
        free = to.startswith("else") or not (guarded or draw(st.booleans()))
        when = "" if free else f'when: "{draw(guards)}"'
        value = "event.v" if event in {"a", "c"} and draw(st.booleans()) else "n"
        do = draw(st.sampled_from(["", f"do: {{do: ring, with: {{v: {value}}}, done: a}}"]))
        sets = draw(st.sampled_from(BAD_SETS if faulty else SETS))
        return "{" + ", ".join(part for part in (when, to, sets, do) if part) + "}"

    def rows(event: str) -> str:
        many = draw(st.booleans())
        return f"{event}: [{row(event, guarded=True) + ', ' if many else ''}{row(event)}]"

    def state(name: str, after: str) -> str:
        if after == name or (faulty and draw(st.integers(0, 2)) == 0):
            return f"  {name}: {{end: ok}}"
        events = draw(st.sets(st.sampled_from("abcd" if faulty else "abc"), max_size=3))
        parts = [rows(event) for event in sorted(events)]
        if draw(st.integers(0, 4)) == 0:
            parts.append(f"always: {row('always', guarded=True)}")
        parts += ["after: {1h: a}"] if draw(st.integers(0, 3)) == 0 else []
        parts += [] if faulty else [f"e: {after}"]
        return f"  {name}: {{{', '.join(parts)}}}"

    fields = ", ".join(f"{name}: {text}" for name, text in FIELDS.items())
    merge = draw(st.integers(0, 3)) == 0
    wild = f"any: {{a: {row('a')}}}" if draw(st.booleans()) else "any: {}"
    pairs = zip(STATES, [*STATES[1:], STATES[-1]], strict=True)
    states = "\n".join(state(name, after) for name, after in pairs)
    fields += ", '*': json" if merge else ""
    head = f"contract: random\ncontext: {{{fields}}}\n"
    events = "{a: {v: int = 1}, b: {n: decimal | null}, c: {'*': json}, e: {}}"
    payload = f"payload: {'merge' if merge else 'keep'}\n"
    return f"{head}events: {events}\n{payload}{wild}\nstates:\n{states}\n"


@given(contracts(), st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 4)), max_size=6))
def test_a_contract_without_errors_steps_without_exceptions(
    text: str, events: list[tuple[str, int]]
) -> None:
    contract, problems = tree_of(text)
    assert contract is not None
    problems = [*problems, *check_contract(contract, faults=problems)]
    assert {problem.code for problem in problems} <= PROBLEMS.keys()
    if has_errors(problems):
        return
    outcome = start(contract)
    state, context = outcome.state, outcome.context
    payloads: list[object] = [None, {"v": 2}, {"n": "1.5"}, {"n": "x", "s": 1, "f": []}, {"v": []}]
    for name, index in events:
        outcome = step(contract, state, context, (name, payloads[index]))
        state, context = outcome.state, outcome.context


@given(contracts())
def test_the_fast_check_finds_exactly_the_errors(text: str) -> None:
    contract, _ = tree_of(text)
    assert contract is not None
    everything = check_contract(contract)
    errors = [found for found in everything if found.severity == "error"]
    assert check_contract(contract, warn=False) == errors


@given(st.data())
def test_any_contract_that_can_be_read_can_be_checked(data: st.DataObject) -> None:
    text = dedent(data.draw(st.sampled_from([FINE, RETRIES, WAITS])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        gone = data.draw(st.integers(0, 6))
        put = data.draw(st.sampled_from(["", "x", "{", "}", "a: b", "[]", "null", "\n", "always"]))
        text = text[:at] + put + text[at + gone :]
    contract, problems = tree_of(text)
    if contract is not None:
        check_contract(contract, faults=problems)
        check_contract(contract)


# --- what can do nothing ----------------------------------------------------------------------


IDLE = """
contract: door
events: [push, pull, lock]
states:
  shut: {push: open, ignore: [pull]}
  open: {pull: shut, push: {restart: timer}, after: {1m: {raise: push}}, lock: done}
  done: {end: ok}
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        (
            "shut: {",
            "shut: {hooks: [{route: r, via: lock}], ",
            "setting_without_effect",
            "hooks[0]",
        ),
        ("shut: {", "shut: {rules: [{via: push}], ", "setting_without_effect", "rules[0]"),
        ("ignore: [pull]", "ignore: [push]", "setting_without_effect", "shut.ignore"),
        ("push: {restart", "push: {to: open, restart", "setting_without_effect", "open.push[0]"),
        ("raise: push}", "raise: push, notice: late}", "setting_without_effect", "after[0]"),
        ("raise: push}", "raise: push, once: true, repeat: true}", "bad_value", "after[0]"),
        ("states:", "begins: [lock]\nstates:", "setting_without_effect", "begins"),
        ("states:", "tests: [{events: [push]}]\nstates:", "setting_without_effect", "tests[0]"),
        ("states:", "migrate: {1: {states: {}}}\nstates:", "setting_without_effect", "migrate.1"),
    ],
)
def test_what_can_do_nothing_is_told(old: str, new: str, code: str, where: str) -> None:
    assert problems_of(IDLE) == []
    assert IDLE.count(old) == 1
    assert one(problems_of(IDLE.replace(old, new)), code).where.endswith(where)


def test_a_row_of_any_that_every_state_answers_before_it_is_told() -> None:
    text = machine("x: {a: y}\ny: {a: e, b: x}\ne: {end: ok}") + "\nany: {a: e}"
    assert one(problems_of(text), "shadowed_transition").where == "any.a[0]"


def test_an_event_the_machine_takes_itself_is_not_listed() -> None:
    text = machine("x: {a: y}\ny: {always: {to: e, as: b}}\ne: {end: ok}")
    assert one(problems_of(text), "duplicate_name").where == "events.b"
