"""Claims about the strict guards of the FSM dialect."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from interlock.codes import REFUSALS
from interlock.contract.expression.expr import (
    Arithmetic,
    Call,
    Const,
    EventField,
    Expr,
    Name,
    names_in,
    write_expression,
)
from interlock.contract.expression.parse import parse_expression
from interlock.contract.fsm.guard import (
    OPERATORS,
    GuardError,
    answer,
    answer_line,
    evaluate_guard,
    loosen,
    parse_guard,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "guards.md"
SYNTAX, FIELD = "GUARD_SYNTAX_ERROR", "GUARD_INVALID_FIELD"
OPERATOR, VALUE = "GUARD_INVALID_OPERATOR", "GUARD_INVALID_VALUE"
TYPE = "GUARD_TYPE_ERROR"


def error_of(text: str) -> GuardError:
    error = parse_guard(text)
    assert isinstance(error, GuardError), text
    return error


def run(text: str, context: Mapping[str, object]) -> bool | str:
    """Return a guard's value or the code of what went wrong."""
    expr = parse_guard(text)
    if isinstance(expr, GuardError):
        return expr.code
    value = evaluate_guard(expr, context)
    return value.code if isinstance(value, GuardError) else value


def written(text: str) -> str:
    expr = parse_guard(text)
    assert not isinstance(expr, GuardError), expr
    return write_expression(expr)


# The examples of the specification, each with its stated answer.

VALID = {
    # the table of guards
    "payload exists true": {"payload": {"node_id": "n1"}},
    "validation_result == passed": {"validation_result": "passed"},
    "validation_result == failed": {"validation_result": "failed"},
    "postgres_applied == true": {"postgres_applied": True},
    "postgres_applied == false": {"postgres_applied": False},
    "consul_applied == true": {"consul_applied": True},
    "consul_applied == false": {"consul_applied": False},
    "retry_count < 3": {"retry_count": 2},
    "retry_count >= 3": {"retry_count": 3},
    # white space
    "retry_count  <  3": {"retry_count": 2},
    "  retry_count < 3": {"retry_count": 2},
    "retry_count\t<\t3": {"retry_count": 2},
    "  retry_count   <   3  ": {"retry_count": 2},
    "retry_count    <    3": {"retry_count": 2},
    "retry_count < 3\n": {"retry_count": 2},
    "retry_count < 3 ": {"retry_count": 2},
    "\tretry_count < 3\t": {"retry_count": 2},
    # one per operator
    "validation_result != failed": {"validation_result": "passed"},
    "status equals active": {"status": "active"},
    "error_code not_equals E001": {"error_code": "E002"},
    "retry_count >= 0": {"retry_count": 0},
    "priority <= 5": {"priority": 5},
    "consul_error exists true": {"consul_error": "refused"},
    "optional_field not_exists true": {},
    "state in [registering_postgres, registering_consul, partial_registered]": {
        "state": "partial_registered"
    },
    "state in [registering_postgres, registering_consul]": {"state": "registering_consul"},
    "state in [active, pending]": {"state": "active"},
    "tags contains production": {"tags": ["blue", "production"]},
    "environment not_in [dev, test]": {"environment": "live"},
    "service_name matches ^node-.*": {"service_name": "node-7"},
    r"version matches ^v[0-9]+\\.[0-9]+$": {"version": "v1\\x2"},
    "version matches ^v[0-9]+": {"version": "v12"},
    # patterns
    "f matches .*_test$": {"f": "unit_test"},
    r"f matches ^v[0-9]+\.[0-9]+\.[0-9]+$": {"f": "v1.20.3"},
    r"f matches ^v[0-9]+\.[0-9]+$": {"f": "v1.20"},
    "f matches (?i)^production": {"f": "PRODUCTION-1"},
    "f matches ^[a-z][a-z0-9_]*$": {"f": "node_1"},
    "f matches b": {"f": "abc"},
    # values
    "f == 3": {"f": 3},
    "f == 3.14": {"f": Decimal("3.14")},
    "f == -1": {"f": -1},
    "f == -0.5": {"f": Decimal("-0.5")},
    "f == in_progress": {"f": "in_progress"},
    "f in [registering_postgres]": {"f": "registering_postgres"},
    "retry_count == 0": {"retry_count": 0},
    # case, bounds, existence
    "PostgresApplied == true": {"PostgresApplied": True, "postgres_applied": False},
    "retry_count < -1": {"retry_count": -2},
    "priority <= 999999999": {"priority": 999999999},
    "count == 0": {"count": 0},
    "value > -999": {"value": -998},
    "field exists true": {"field": 0},
    "field exists false": {"field": None},
    "field not_exists true": {"field": None},
    "field not_exists false": {"field": False},
}

REFUSED = [
    ("retry_count<3", SYNTAX, "has 1 token(s), expected exactly 3"),
    ("postgres_applied==true", SYNTAX, "has 1 token(s), expected exactly 3"),
    ("retry_count< 3", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("retry_count <3", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("consul_applied!=false", SYNTAX, "'consul_applied!=false' has 1 token(s)"),
    ("retry_count>=3", SYNTAX, "'retry_count>=3' has 1 token(s)"),
    ("priority<=5", SYNTAX, "'priority<=5' has 1 token(s)"),
    ("status!= active", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("retry_count < 3 extra", SYNTAX, "has 4 token(s), expected exactly 3"),
    ("field == == true", SYNTAX, "has 4 token(s), expected exactly 3"),
    ("retry_count", SYNTAX, "has 1 token(s), expected exactly 3"),
    ("postgres_applied", SYNTAX, "has 1 token(s), expected exactly 3"),
    ("retry_count <", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("retry_count < ", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("< 3", SYNTAX, "has 2 token(s), expected exactly 3"),
    ("", SYNTAX, "empty: it has 0 token(s), expected exactly 3"),
    ("   ", SYNTAX, "empty after trimming its white space"),
    ("context.retry_count < 3", FIELD, "'.'"),
    ("payload.node_id exists true", FIELD, "'.'"),
    ("response.status_code == 200", FIELD, "'.'"),
    ('config["timeout_ms"] > 5000', FIELD, "'['"),
    ("2fast == true", FIELD, "'2fast' starts with a digit"),
    ("123field == true", FIELD, "'123field' starts with a digit"),
    ("123 < 5", FIELD, "'123'"),
    ("field-name == true", FIELD, "'field-name' contains the invalid character '-'"),
    ("field.nested == true", FIELD, "'field.nested' contains the invalid character '.'"),
    ("count <=> 5", OPERATOR, "unknown operator '<=>'; the valid ones are ==, !=, <, >, <=, >="),
    ("status === active", OPERATOR, "'==='"),
    ("count ~= 5", OPERATOR, "'~='"),
    ("retry_count ~= 3", OPERATOR, "'~='"),
    ("status like pattern", OPERATOR, "'like'"),
    ("status EQUALS active", OPERATOR, "'EQUALS'"),
    ("postgres_applied == True", VALUE, "'True'"),
    ("postgres_applied == TRUE", VALUE, "'TRUE'"),
    ("consul_applied == FALSE", VALUE, "'FALSE'"),
    ("count < [a, b", VALUE, "'[a, b' has an array bracket that is not closed"),
    ("count < [invalid", VALUE, "'[invalid' has an array bracket that is not closed"),
    ("field == null", VALUE, "'null'"),
    ("field == undefined", VALUE, "'undefined'"),
    ("field == 'quoted'", VALUE, "is quoted"),
]


@pytest.mark.parametrize(("text", "context"), VALID.items())
def test_every_valid_example_loads_and_can_hold(text: str, context: dict[str, object]) -> None:
    assert run(text, context) is True


@pytest.mark.parametrize(("text", "code", "fact"), REFUSED)
def test_every_invalid_example_is_refused_with_its_code_and_facts(
    text: str, code: str, fact: str
) -> None:
    error = error_of(text)
    assert error.code == code
    assert fact in error.message


# Tokens


@pytest.mark.parametrize("space", list(" \t\n\r\f\v"))
def test_every_ascii_blank_separates_tokens(space: str) -> None:
    assert run(f"{space}a{space}<{space * 2}3{space}", {"a": 1}) is True


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\x1c", "\x85", "\u200b", "\0"])
def test_no_other_blank_separates_or_is_trimmed(space: str) -> None:
    assert run(f"a{space}<{space}3", {"a": 1}) == SYNTAX
    assert run(f"{space}a < 3", {"a": 1}) == FIELD
    assert run(f"a < 3{space}", {"a": 1}) == VALUE


def test_white_space_within_the_brackets_of_the_third_token_does_not_separate() -> None:
    assert run(" a in [ x ,\ty\n, z ] ", {"a": "y"}) is True
    assert run("a matches ^x[ \t]y$", {"a": "x y"}) is True
    assert run("a in [x, y] z", {"a": "x"}) == SYNTAX
    assert run("a in [x] [y]", {"a": "x"}) == SYNTAX
    assert run("a[ 1 ] == 2", {"a": 1}) == SYNTAX


def test_tokens_are_checked_before_the_field_the_operator_and_the_value() -> None:
    assert error_of("2a ~ null extra").code == SYNTAX
    assert error_of("2a ~ null").code == FIELD
    assert error_of("a ~ null").code == OPERATOR
    assert error_of("a == null").code == VALUE


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("  retry_count<3", "retry_count<3"),
        (" a < 3  extra more", "extra"),
        ("  2a == 1", "2a"),
        ("\ta  like  b", "like"),
        (" a ==  'b'", "'b'"),
        (" a in  [x, -]", "-]"),
        ("a in [x ,  NULL, y]", "NULL"),
    ],
)
def test_an_error_points_at_the_token_to_blame(text: str, token: str) -> None:
    assert text[error_of(text).at :].startswith(token)


# Fields


@pytest.mark.parametrize("name", ["a", "_", "_9", "A1_b", "true", "null", "in", "event", "exists"])
def test_any_identifier_is_a_field(name: str) -> None:
    assert run(f"{name} == 1", {name: 1}) is True


@pytest.mark.parametrize("name", ["é", "a$", "a-b", "$a", "a\u0660", "'a'", "a[0]", "-", "a:b"])
def test_a_field_is_of_ascii_letters_digits_and_underscores(name: str) -> None:
    error = error_of(f"{name} == 1")
    assert error.code == FIELD
    assert "invalid character" in error.message


def test_a_nested_field_is_told_to_be_lifted() -> None:
    assert "top-level" in error_of("payload.node_id exists true").hint


# Operators


@pytest.mark.parametrize(
    ("op", "meant"),
    [
        ("like", "'matches'"),
        ("LIKE", "'matches'"),
        ("===", "'=='"),
        ("=", "'=='"),
        ("<=>", "'=='"),
        ("<>", "'!='"),
        ("~=", "'!=' or 'matches'"),
        ("=>", "'>='"),
        ("EQUALS", "case-sensitive: did you mean 'equals'"),
        ("Not_In", "case-sensitive: did you mean 'not_in'"),
        ("equal", "'equals'"),
        ("contain", "'contains'"),
        ("not-in", "'not_in'"),
    ],
)
def test_an_unknown_operator_is_told_what_is_meant(op: str, meant: str) -> None:
    error = error_of(f"a {op} b")
    assert error.code == OPERATOR
    assert meant in error.hint
    assert all(known in error.message for known in OPERATORS)


def test_there_are_fourteen_operators() -> None:
    assert len(set(OPERATORS)) == 14


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a<3", "'<'"),
        ("a <=3", "'<='"),
        ("a is_present", "`a exists true`"),
        ("a == 'b c'", "no white space"),
        ("a == b and c == d", "single comparison"),
        ("a", "field operator value"),
        ("", "field operator value"),
        ("a == TRUE", "lower case"),
        ("a == Null", "exists or not_exists"),
        ("a == .5", "0.5"),
        ("a == -1e5", "no exponent"),
        ("a == us-east", "matches"),
        ("a == [b]", "only in and not_in"),
    ],
)
def test_a_hint_says_what_to_write(text: str, hint: str) -> None:
    assert hint in error_of(text).hint


# Values


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a == true", "a == true"),
        ("a equals false", "a == false"),
        ("a != x", "a != 'x'"),
        ("a not_equals 3", "a != 3"),
        ("a < 3", "a < 3"),
        ("a > -3", "a > -3"),
        ("a <= +2", "a <= 2"),
        ("a >= 00", "a >= 0"),
        ("a == 007", "a == 7"),
        ("a == 00.50", "a == 0.50"),
        ("a == 1e3", "a == '1e3'"),
        ("a == 3abc", "a == '3abc'"),
        ("a == 1_000", "a == '1_000'"),
        ("a == _", "a == '_'"),
        ("a == true_", "a == 'true_'"),
        ("a == nullable", "a == 'nullable'"),
        ("a == E001", "a == 'E001'"),
        ("a exists true", "exists(a)"),
        ("a exists false", "not exists(a)"),
        ("a not_exists true", "not exists(a)"),
        ("a not_exists false", "exists(a)"),
        ("a in []", "a in []"),
        ("a in [ ]", "a in []"),
        ("a in [x,1 , true,-0.5]", "a in ['x', 1, true, -0.5]"),
        ("a not_in [x]", "a not in ['x']"),
        ("a contains x", "'x' in a"),
        ("a contains -1", "-1 in a"),
        ("a contains true", "true in a"),
        ("a matches ^v[0-9]+", "matches(a, '^v[0-9]+')"),
        ("a matches true", "matches(a, 'true')"),
        ("a matches NULL", "matches(a, 'NULL')"),
        ("a matches 'x'", r"matches(a, '\'x\'')"),
    ],
)
def test_a_guard_is_an_expression(text: str, tree: str) -> None:
    assert written(text) == tree


@pytest.mark.parametrize(
    "value",
    [
        *(
            "True",
            "TRUE",
            "False",
            "tRUE",
            "null",
            "NULL",
            "None",
            "none",
            "undefined",
            "Undefined",
        ),
        *(".5", "5.", "-.5", "+-2", "--1", "-", "+", "1,000", "-1e3", "1.5e3", "1.2.3", "-inf"),
        *("'x'", '"x"', "`x`", "x-y", "x.y", "x$", "é", "٣", "3٣", "x,y", "x]", "(x)", "{x}"),
        *("²", "\ud800", "x\0", "a/b", "a@b", "#", "=="),
    ],
)
@pytest.mark.parametrize("op", ["==", "<", "exists", "contains", "in"])
def test_what_is_no_literal_is_refused_by_every_operator(value: str, op: str) -> None:
    error = error_of(f"a {op} {value}")
    assert error.code == VALUE
    assert error_of(f"a in [b, {value.replace(',', '/')}]").code == VALUE


@pytest.mark.parametrize(
    "array",
    [
        *("[", "[a", "[a,", "[a, b", "[[a]", "[[", "[a,,b]", "[,]", "[a,]", "[,a]", "[a, ,b]"),
        *("[a b]", "[[a]]", "[a, [b]]", "[[]]", "[a]b", "[a][b]", "[a]]", "[]a", "[][]", "['a']"),
        *("[null]", "[True]", "[a-b]", "[.5]"),
    ],
)
@pytest.mark.parametrize("op", ["in", "not_in", "==", "<"])
def test_a_malformed_array_is_refused(op: str, array: str) -> None:
    assert error_of(f"a {op} {array}").code == VALUE


@pytest.mark.parametrize(
    ("op", "needs", "fitting"),
    [
        *((op, "a number", ["1", "-0.5"]) for op in ("<", ">", "<=", ">=")),
        *((op, "true or false", ["true", "false"]) for op in ("exists", "not_exists")),
        *((op, "an array", ["[]", "[a]"]) for op in ("in", "not_in")),
        *(
            (op, "true, false, a number or a word", ["true", "1", "-0.5", "a", "false"])
            for op in ("==", "!=", "equals", "not_equals", "contains")
        ),
    ],
)
def test_an_operator_takes_only_its_kinds_of_values(
    op: str, needs: str, fitting: list[str]
) -> None:
    for value in ["true", "false", "1", "-0.5", "a", "1e3", "[]", "[a]"]:
        if value in fitting or (value == "1e3" and "a" in fitting):
            assert not isinstance(parse_guard(f"f {op} {value}"), GuardError)
        else:
            error = error_of(f"f {op} {value}")
            assert error.code == VALUE
            assert f"{op} needs {needs}" in error.message


@pytest.mark.parametrize("pattern", ["(", "[", "*a", r"(a)\1", "(?=a)", "a" * 2_000])
def test_a_pattern_that_cannot_be_used_is_refused_with_its_reason(pattern: str) -> None:
    error = error_of(f"a matches {pattern}")
    assert error.code == VALUE
    assert "is no pattern that can be used: " in error.message


def test_a_number_of_any_length_is_a_number() -> None:
    nines = "9" * 10_000
    assert run(f"a < {nines}", {"a": 1}) is True
    assert run(f"a > -{nines}", {"a": 1}) is True
    assert run(f"a == {'0' * 10_000}1", {"a": 1}) is True
    assert run(f"a < 0.{nines}", {"a": 1}) is False


def test_a_message_is_short_whatever_the_guard() -> None:
    for text in ["x" * 9_999, f"{'é' * 9_999} == 1", f"a {'x' * 9_999} b", f"a == {'-' * 9_999}"]:
        assert len(error_of(text).message) < 300


# What it gives on each kind of data

KINDS = ("undefined", "null", "bool", "int", "decimal", "string", "list", "object")
DATA: dict[str, dict[str, object]] = {
    "undefined": {},
    "null": {"f": None},
    "bool": {"f": True},
    "int": {"f": 3},
    "decimal": {"f": Decimal("3.5")},
    "string": {"f": "abc"},
    "list": {"f": ["abc", 3]},
    "object": {"f": {"abc": 3}},
}
OUTCOMES = {"T": True, "F": False, "E": TYPE}
# one letter per kind: true, false, type error
TABLE = {
    "f == abc": "FFFFFTFF",
    "f equals 3": "FFFTFFFF",
    "f == 3.5": "FFFFTFFF",
    "f == true": "FFTFFFFF",
    "f == false": "FFFFFFFF",
    "f != abc": "FFTTTFTT",
    "f not_equals 3": "FFTFTTTT",
    "f != true": "FFFTTTTT",
    "f < 3.5": "FFETFEEE",
    "f > 3": "FFEFTEEE",
    "f <= 3": "FFETFEEE",
    "f >= 3": "FFETTEEE",
    "f exists true": "FFTTTTTT",
    "f exists false": "TTFFFFFF",
    "f not_exists true": "TTFFFFFF",
    "f not_exists false": "FFTTTTTT",
    "f in [abc, 3]": "FFFTFTEE",
    "f in [true, 3.50]": "FFTFTFEE",
    "f in []": "FFFFFFEE",
    "f not_in [abc, 3]": "FFTFTFEE",
    "f not_in []": "FFTTTTEE",
    "f contains abc": "FFEEEETE",
    "f contains 3.0": "FFEEEETE",
    "f contains true": "FFEEEEFE",
    "f matches b": "FFEEETEE",
    "f matches ^b": "FFEEEFEE",
}


@pytest.mark.parametrize(("text", "outcomes"), TABLE.items())
def test_every_operator_answers_for_every_kind_of_data(text: str, outcomes: str) -> None:
    given = {kind: run(text, DATA[kind]) for kind in KINDS}
    assert given == {kind: OUTCOMES[sign] for kind, sign in zip(KINDS, outcomes, strict=True)}


def test_the_table_has_every_operator() -> None:
    assert {text.split()[1] for text in TABLE} == set(OPERATORS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f == 1", True),
        ("f == 0", False),
        ("f == 3", "3"),
        ("f == true", "true"),
        ("f == true", 1),
        ("f == abc", "ABC"),
        ("f == abc", ["abc"]),
        ("f in [1]", True),
        ("f in [true]", 1),
        ("f contains 1", [True, "1", [1], {"1": 1}, None]),
        ("f contains abc", ["abcd", ["abc"]]),
    ],
)
def test_values_of_different_kinds_are_never_equal(text: str, value: object) -> None:
    assert run(text, {"f": value}) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f == 3", Decimal("3.00")),
        ("f == 3.0", 3),
        ("f == 0", Decimal("-0.0")),
        ("f == 0.1", 0.1),
        ("f > 0.29999999999999999", 0.3),
        ("f in [1, 2.0]", 2),
        ("f contains 2", [Decimal("2.0")]),
        ("f == 1000", Decimal("1E+3")),
    ],
)
def test_integers_and_decimals_compare_as_exact_numbers(text: str, value: object) -> None:
    assert run(text, {"f": value}) is True


@pytest.mark.parametrize(
    "text", ["f < 3", "f in [a]", "f not_in []", "f contains a", "f matches a"]
)
@pytest.mark.parametrize("value", [[{}], [[{"a": [None]}]], [], {"a": [1]}, "x" * 99, True])
def test_a_type_error_names_the_field_whatever_it_holds(text: str, value: object) -> None:
    expr = parse_guard(text)
    assert not isinstance(expr, GuardError)
    error = evaluate_guard(expr, {"f": value})
    if isinstance(error, GuardError):
        assert error.code == TYPE
        assert "'f'" in error.message
        assert len(error.message) < 200


@pytest.mark.parametrize(
    "value",
    [
        *(2**53 + 1, -(2**53) - 1, 1e300, Decimal("NaN"), Decimal("sNaN"), float("nan")),
        *(float("inf"), object(), b"x", {1: 2}, "\ud800", [[float("nan")]]),
    ],
)
def test_what_a_guard_does_not_read_does_not_matter_to_it(value: object) -> None:
    assert run("a == 1", {"a": 1, "b": value}) is True


def test_an_expression_that_is_no_guard_has_an_answer_too() -> None:
    division = Arithmetic("/", Const(1), Name("a"))
    cases: dict[Expr, str] = {
        EventField("a"): "GUARD_EVALUATION_ERROR",
        Call("exists", (Const(1),)): "GUARD_EVALUATION_ERROR",
        Const(3): "GUARD_EVALUATION_ERROR",
        division: "EVALUATION_ERROR",
    }
    for expr, code in cases.items():
        error = evaluate_guard(expr, {"a": 0})
        assert isinstance(error, GuardError)
        assert error.code == code


# The looser form


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("node_id is_present", "node_id exists true"),
        ("  node_id\tis_absent\n", "node_id exists false"),
        ("2x is_present", "2x exists true"),
        ("node_id exists true", None),
        ("node_id is_present true", None),
        ("node_id IS_PRESENT", None),
        ("is_present", None),
        ("", None),
    ],
)
def test_only_presence_and_absence_can_be_loosened(text: str, strict: str | None) -> None:
    assert loosen(text) == strict


# Requests


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"expr": "a < 3"}, {"loads": True}),
        ({"expr": "a < 3", "context": None}, {"loads": True}),
        ({"expr": "a < 3", "context": {}}, {"value": False}),
        ({"expr": "a < 3", "context": {"a": 1}, "note": "x"}, {"value": True}),
    ],
)
def test_a_request_is_answered(request_: object, told: dict[str, object]) -> None:
    assert answer(request_) == told


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"expr": None}, SYNTAX),
        ({"expr": 3, "context": 4}, SYNTAX),
        ({"expr": ["a"]}, SYNTAX),
        ({"expr": ""}, SYNTAX),
        ({"expr": "a is_present"}, SYNTAX),
        ({"expr": "a == null", "context": 4}, VALUE),
        ({"expr": "a < 3", "context": {"a": "x"}}, TYPE),
        ({"expr": "a < 3", "context": []}, "VALIDATION_ERROR"),
        ({"expr": "a < 3", "context": "{}"}, "VALIDATION_ERROR"),
        ({"expr": "a < 3", "context": False}, "VALIDATION_ERROR"),
        ({"context": {}}, "VALIDATION_ERROR"),
        ({}, "VALIDATION_ERROR"),
        (None, "VALIDATION_ERROR"),
        (["a < 3"], "VALIDATION_ERROR"),
        ("a < 3", "VALIDATION_ERROR"),
    ],
)
def test_a_faulty_request_is_answered_with_a_code_and_a_message(
    request_: object, code: str
) -> None:
    told = answer(request_)
    assert list(told) == ["error", "message"]
    assert told["error"] == code


def test_an_error_tells_its_hint_in_the_message() -> None:
    assert str(answer({"expr": "a like b"})["message"]).endswith("(did you mean 'matches'?)")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"expr": "a == 0.1", "context": {"a": 0.1}}', {"value": True}),
        ('{"expr": "a == 0.3", "context": {"a": 0.30}}', {"value": True}),
        ('{"expr": "a == 1000", "context": {"a": 1e3}}', {"value": True}),
        (
            '{"expr": "a > 0.123456789012345678", "context": {"a": 0.1234567890123456789}}',
            {"value": True},
        ),
        ('{"expr": "a == 9007199254740992", "context": {"a": 9007199254740992}}', {"value": True}),
        ('{"expr": "a matches é", "context": {"a": "caf\\u00e9"}}', {"value": True}),
        (' {"expr":"a exists false","context":{}} \r\n', {"value": True}),
    ],
)
def test_a_line_is_answered_with_its_numbers_exact(line: str, told: dict[str, object]) -> None:
    assert json.loads(answer_line(line)) == told
    assert json.loads(answer_line(line.encode())) == told


@pytest.mark.parametrize(
    "line",
    [
        *("", " ", "{", "nonsense", "null", "3", '{"expr": "a < 3"} {}', "[" * 100_000),
        '{"expr": "a < 3", "context": {"a": NaN}}',
        '{"expr": "a < 3", "context": {"a": %s}}' % ("9" * 5_000),
        '{"expr": "a < 3", "context": {"a": 1e99999999999999999999}}',
        '{"expr": "a < 3", "context": {"a": "\ud800"}}',
        b"\xff",
        b'{"expr": "\xff < 3"}',
    ],
)
def test_a_line_that_cannot_be_read_is_a_validation_error(line: str | bytes) -> None:
    assert json.loads(answer_line(line))["error"] == "VALIDATION_ERROR"


# The reference page


def test_the_requests_of_the_reference_page_have_its_answers() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("{")]
    assert len(lines) >= 8
    for request_, told in zip(lines[::2], lines[1::2], strict=True):
        assert json.loads(answer_line(request_)) == json.loads(told)


def test_the_examples_of_the_reference_page_have_its_codes() -> None:
    code = ""
    rows = re.findall(
        r"^\|(?: `(GUARD_\w+)`)? \| `(.+?)` \| .+\|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) >= 10
    for named, text in rows:
        code = named or code
        assert error_of(text).code == code


def test_the_reference_page_has_every_operator() -> None:
    page = PAGE.read_text("utf-8")
    assert [op for op in OPERATORS if f"`{op}`" not in page] == []


# A second reading of the same rules, and random guards against it.

BLANK = r"[ \t\n\r\f\v]"


class Refused(ValueError):  # named by what it says
    """What the second reading refuses, by its code."""


def reference(text: str, context: Mapping[str, object]) -> bool | str:
    try:
        return reference_value(*reference_parts(text), context)
    except Refused as code:
        return str(code)


def reference_parts(text: str) -> tuple[str, str, object]:
    inner = re.sub(rf"^{BLANK}+|{BLANK}+\Z", "", text)
    parts = re.split(rf"{BLANK}+", inner, maxsplit=2)
    outside, count = (parts[2:] or [""])[0], 1
    while count:
        outside, count = re.subn(r"\[[^\[\]]*\]", "", outside)
    if len(parts) < 3 or re.search(BLANK, outside.partition("[")[0]):
        raise Refused(SYNTAX)
    field, op, value = parts
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", field):
        raise Refused(FIELD)
    if not re.fullmatch("[=!]=|[<>]=?|(not_)?(equals|exists|in)|contains|matches", op):
        raise Refused(OPERATOR)
    return field, op, reference_operand(op, value)


def reference_operand(op: str, text: str) -> object:
    if op == "matches":
        try:
            re.compile(text)
        except (re.error, FutureWarning):  # its meaning would change in a later Python
            raise Refused(VALUE) from None
        return text
    if op in {"in", "not_in"}:
        array = re.fullmatch(rf"\[({BLANK}*)\]|\[(.*)\]", text, re.DOTALL)
        if array is None:
            raise Refused(VALUE)
        parts = [] if array[2] is None else array[2].split(",")
        return [reference_scalar(re.sub(rf"^{BLANK}+|{BLANK}+\Z", "", part)) for part in parts]
    value = reference_scalar(text)
    wanted: tuple[type, ...] = (bool, Decimal, str)
    if op in {"exists", "not_exists"}:
        wanted = (bool,)
    elif op[0] in "<>":
        wanted = (Decimal,)
    if type(value) not in wanted:
        raise Refused(VALUE)
    return value


def reference_scalar(text: str) -> bool | Decimal | str:
    if text in {"true", "false"}:
        return text == "true"
    if re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?", text):
        return Decimal(text)
    reserved = {"true", "false", "null", "none", "undefined"}
    if not re.fullmatch("[A-Za-z0-9_]+", text) or text.lower() in reserved:
        raise Refused(VALUE)
    return text


def tagged(value: object) -> tuple[str, object]:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return ("number", Decimal(value))
    return (type(value).__name__, value)


def reference_value(field: str, op: str, operand: Any, context: Mapping[str, Any]) -> bool:
    value = context.get(field)
    if op in {"exists", "not_exists"}:
        return ((value is not None) == operand) is (op == "exists")
    if value is None:
        return False
    kind, plain = tagged(value)
    if op in {"==", "equals", "!=", "not_equals"}:
        return ((kind, plain) == tagged(operand)) is (op in {"==", "equals"})
    needed = {"contains": {"list"}, "matches": {"str"}}.get(op, {"number"})
    if op in {"in", "not_in"}:
        needed = {"bool", "number", "str"}
    if kind not in needed:
        raise Refused(TYPE)
    if op in {"in", "not_in"}:
        return ((kind, plain) in map(tagged, operand)) is (op == "in")
    if op == "contains":
        return tagged(operand) in map(tagged, value)
    if op == "matches":
        return re.search(operand, value) is not None
    order = (value > operand) - (value < operand)
    return order in {"<": {-1}, ">": {1}, "<=": {-1, 0}, ">=": {0, 1}}[op]


WORDS = ["a", "b", "x1", "true", "false", "1e3", "3", "-1", "0.5", "+2", "00", "2.0", "-0.0"]
ODD = ["True", "NULL", "none", "é", "x-y", ".5", "5.", "'a'", "", "[a]", "]", "[", "a b", "3٣"]
PATTERNS = [
    "^a",
    "b$",
    "[a b]+",
    "a|b",
    "a{2}",
    "(a",
    "[a",
    r"\d+",
    "(?i)A",
    ".",
    "x?1",
    "3",
    "true",
]
FIELDS = ["a", "b", "_1", "a1", "true"]
blanks = st.sampled_from([" ", " ", " ", "\t", "  \n", "", "\u00a0"])
arrays = st.lists(
    st.tuples(blanks, st.sampled_from([*WORDS, *WORDS, *ODD]), blanks).map("".join), max_size=4
).map(lambda items: f"[{','.join(items)}]")
operands = st.one_of(
    st.sampled_from([*WORDS, *PATTERNS]),
    arrays,
    st.sampled_from(ODD),
    st.text("[]a1, -.", max_size=9),
)
guards = st.tuples(
    blanks | st.just(""),
    st.sampled_from([*FIELDS, *FIELDS, *FIELDS, "1a", "a.b", "é", ""]),
    blanks,
    st.sampled_from([*OPERATORS, *OPERATORS, *OPERATORS, "=", "IN", "like"]),
    blanks,
    operands,
    blanks | st.just(""),
).map("".join)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([Decimal("0.5"), Decimal("2.0"), Decimal("-1.00"), Decimal("3E+0")])
    | st.sampled_from(["a", "b", "aa", "A", "x1", "true", "3", "1e3", "", "a b", "b\n"])
)
data = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.sampled_from("ab"), scalars)
contexts = st.dictionaries(st.sampled_from(FIELDS), data)


@given(guards, contexts)
def test_random_guards_have_the_answers_of_a_second_reading(
    text: str, context: dict[str, object]
) -> None:
    assert run(text, context) == reference(text, context)


numbers = st.sampled_from(["3", "-1", "0.5", "+2", "00", "2.0", "-0.0"])
single = numbers | st.sampled_from(["a", "b", "x1", "true", "false", "1e3"])
fitting = {
    **dict.fromkeys(("==", "!=", "equals", "not_equals", "contains"), single),
    **dict.fromkeys(("<", ">", "<=", ">="), numbers),
    **dict.fromkeys(("exists", "not_exists"), st.sampled_from(["true", "false"])),
    **dict.fromkeys(
        ("in", "not_in"),
        st.lists(st.tuples(blanks, single, st.just(" ")).map("".join), max_size=3).map(
            lambda items: f"[{','.join(items)}]".replace("\u00a0", " ")
        ),
    ),
    "matches": st.sampled_from(["^a", "b$", "^[a b]+$", "a|b", "a{2}", "(?i)A", ".", "x?1", "3"]),
}
loading = st.sampled_from(OPERATORS).flatmap(
    lambda op: fitting[op].map(lambda value: f"f {op} {value}")
)


@given(loading, data)
def test_random_values_are_judged_as_by_a_second_reading(text: str, value: object) -> None:
    assert run(text, {"f": value}) == reference(text, {"f": value})
    assert run(text, {}) == reference(text, {})
    assert run(text, {"f": value}) in {True, False, TYPE}


# Totality, and the way back


@given(st.text() | guards | st.text("ab<=[]., \t\n1-'").map(lambda text: f"a in {text}"))
@example("a matches \ud800")
@example("a matches [\ud800")
@example("\ud800 \udfff \ud800")
def test_any_text_is_a_guard_or_has_an_error_within_it(text: str) -> None:
    result = parse_guard(text)
    if isinstance(result, GuardError):
        assert result.code in {SYNTAX, FIELD, OPERATOR, VALUE}
        assert 0 <= result.at <= len(text)
    else:
        assert not isinstance(evaluate_guard(result, {}), GuardError)
    assert result == parse_guard(text)


NATIVE_WORDS = {"and", "or", "not", "in", "if", "else", "true", "false", "null", "event"}


@given(guards | loading)
@example("a < -1.11111111111111111111111111111111111")
@example("a == -0.0")
def test_a_guard_written_as_an_expression_is_read_back_as_the_same(text: str) -> None:
    tree = parse_guard(text)
    assume(not isinstance(tree, GuardError))
    assert not isinstance(tree, GuardError)
    field = names_in(tree)[0]
    assume(field not in NATIVE_WORDS)
    again = write_expression(tree)
    back = parse_expression(again)
    assert write_expression(back) == again
    for context in DATA.values():
        inner = {field: context.get("f")}
        assert evaluate_guard(back, inner) == evaluate_guard(tree, inner)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values | st.fixed_dictionaries({"expr": guards | json_values, "context": json_values}))
def test_any_request_has_an_answer(request_: object) -> None:
    assert set(answer(request_)) in [{"loads"}, {"value"}, {"error", "message"}]


requests = st.fixed_dictionaries({"expr": guards, "context": json_values})


@given(st.text() | st.binary() | (json_values | requests).map(json.dumps))
def test_any_line_has_one_line_as_its_answer(line: str | bytes) -> None:
    told = answer_line(line)
    assert "\n" not in told
    assert set(json.loads(told)) in [{"loads"}, {"value"}, {"error", "message"}]


@given(guards, contexts)
def test_an_answer_has_a_known_code(text: str, context: dict[str, object]) -> None:
    told = answer({"expr": text, "context": context})
    assert told.get("error", SYNTAX) in REFUSALS


@pytest.mark.parametrize("large", [2**53 + 1, 2**64, 10**40, Decimal("1e20")])
def test_a_guard_compares_numbers_however_large(large: int | Decimal) -> None:
    assert run("a > 3", {"a": large}) is True
    assert run("a == 3", {"a": large}) is False
