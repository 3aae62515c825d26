"""The strict guards of the FSM dialect: exactly `field operator value`, read into expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from interlock.contract.expression.evaluate import compile_condition
from interlock.contract.expression.expr import (
    Call,
    Compare,
    Const,
    Expr,
    Items,
    Malformed,
    Name,
    Not,
    names_in,
)
from interlock.contract.expression.operators import TypeClash
from interlock.contract.expression.pattern import Unsupported, compile_pattern
from interlock.contract.expression.scope import Scope
from interlock.contract.expression.values import write_json
from interlock.contract.problem import did_you_mean

OPERATORS: Final = (
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "equals",
    "not_equals",
    "exists",
    "not_exists",
    "in",
    "not_in",
    "contains",
    "matches",
)
"""The operators a guard may use, as they are spelled."""

_SPACE = " \t\n\r\f\v"
_TOKEN = re.compile(f"[^{_SPACE}]+")
_TOKENS = 3
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_]")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_ALMOST_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ATTACHED = re.compile(r"[=!<>]+")
_INT_DIGITS = 4_000  # Python itself refuses to read much longer integers
_SHOWN = 60

_COMPARISONS: Final = {
    "==": "==",
    "equals": "==",
    "!=": "!=",
    "not_equals": "!=",
    "<": "<",
    ">": ">",
    "<=": "<=",
    ">=": ">=",
    "in": "in",
    "not_in": "not in",
}
_SINGLE = "true, false, a number or a word"
_NUMERAL = "a number"
_TRUTH = "true or false"
_ARRAY = "an array such as [a, b]"
_NEEDS: Final = {
    **dict.fromkeys(("<", ">", "<=", ">="), _NUMERAL),
    **dict.fromkeys(("exists", "not_exists"), _TRUTH),
    **dict.fromkeys(("in", "not_in"), _ARRAY),
}
_MEANT: Final = {
    "=": ("==",),
    "===": ("==",),
    "<=>": ("==",),
    "is": ("==",),
    "eq": ("==",),
    "!==": ("!=",),
    "<>": ("!=",),
    "ne": ("!=",),
    "~=": ("!=", "matches"),
    "=<": ("<=",),
    "=>": (">=",),
    "lt": ("<",),
    "gt": (">",),
    "le": ("<=",),
    "lte": ("<=",),
    "ge": (">=",),
    "gte": (">=",),
    "~": ("matches",),
    "=~": ("matches",),
    "like": ("matches",),
    "has": ("contains",),
    "includes": ("contains",),
    "nin": ("not_in",),
    "is_present": ("exists",),
    "is_absent": ("not_exists",),
}
_LOOSE: Final = {"is_present": "exists true", "is_absent": "exists false"}
_NO_LITERAL: Final = {
    "true": "write true or false in lower case",
    "false": "write true or false in lower case",
    "null": "test for null with exists or not_exists",
    "none": "test for null with exists or not_exists",
    "undefined": "test whether a field is there with exists or not_exists",
}
_ANY_CONTEXT = Scope(context={}, open_context=True)
_REQUEST = msgspec.json.Decoder[object](float_hook=Decimal)


class GuardError(Struct, frozen=True):
    """What is wrong with a guard or its context; `at` is the offset of the token to blame."""

    code: str
    message: str
    hint: str = ""
    at: int = 0


class _Token(NamedTuple):
    text: str
    at: int


def parse_guard(text: str) -> Expr | GuardError:
    """Return the expression a guard stands for, or the first thing that is wrong with it."""
    tokens = _split(text)
    if len(tokens) != _TOKENS:
        return _miscounted(text, tokens)
    field, op, value = tokens
    error = _field_error(field) or _operator_error(op)
    if error is not None:
        return error
    operand = _read_value(op.text, value)
    if isinstance(operand, GuardError):
        return operand
    return _build(Name(field.text, field.at), op, operand)


def loosen(text: str) -> str | None:
    """Return the strict form of `X is_present` and `X is_absent`, and of nothing else."""
    match _split(text):
        case [field, test] if test.text in _LOOSE:
            return f"{field.text} {_LOOSE[test.text]}"
        case _:
            return None


def _split(text: str) -> list[_Token]:
    """Return the tokens of a guard."""
    text = text.rstrip(_SPACE)
    found: list[_Token] = []
    end = 0
    while match := _TOKEN.search(text, end):
        at = match.start()
        end = _end_of_value(text, at) if len(found) == _TOKENS - 1 else match.end()
        found.append(_Token(text[at:end], at))
    return found


def _end_of_value(text: str, at: int) -> int:
    """Return where the third token ends; white space inside its brackets belongs to it."""
    depth = 0
    for end in range(at, len(text)):
        sign = text[end]
        if sign == "[":
            depth += 1
        elif sign == "]":
            depth = max(depth - 1, 0)
        elif depth == 0 and sign in _SPACE:
            return end
    return len(text)


def _miscounted(text: str, tokens: list[_Token]) -> GuardError:
    count = f"has {len(tokens)} token(s), expected exactly {_TOKENS}"
    code = "GUARD_SYNTAX_ERROR"
    if not tokens:
        what = "the guard is empty" + (" after trimming its white space" if text else "")
        return GuardError(code, f"{what}: it {count}", "write `field operator value`")
    if len(tokens) > _TOKENS:
        hint = "values have no white space, and a guard is a single comparison"
    elif strict := loosen(text):
        hint = f"write `{strict}`"
    elif attached := next(filter(None, (_ATTACHED.search(token.text) for token in tokens)), None):
        hint = f"put white space on both sides of {_shown(attached.group())}"
    else:
        hint = "write `field operator value`"
    blamed = tokens[_TOKENS] if len(tokens) > _TOKENS else tokens[-1]
    return GuardError(code, f"the guard {_shown(text.strip(_SPACE))} {count}", hint, blamed.at)


def _field_error(token: _Token) -> GuardError | None:
    code, what = "GUARD_INVALID_FIELD", f"the field name {_shown(token.text)}"
    if token.text[0] in "0123456789":
        return GuardError(code, f"{what} starts with a digit", at=token.at)
    bad = _NOT_IN_NAME.search(token.text)
    if bad is None:
        return None
    hint = "names consist of ASCII letters, digits and `_`"
    if bad.group() in ".[":
        hint = "guards read top-level fields only: lift the nested value into one"
    message = f"{what} contains the invalid character {bad.group()!r}"
    return GuardError(code, message, hint, token.at)


def _operator_error(token: _Token) -> GuardError | None:
    op = token.text
    if op in OPERATORS:
        return None
    lower = op.lower()
    if lower in OPERATORS:
        hint = f"operators are case-sensitive: did you mean {lower!r}?"
    elif lower in _MEANT:
        hint = f"did you mean {' or '.join(map(repr, _MEANT[lower]))}?"
    else:
        hint = did_you_mean(lower[:_SHOWN], list(OPERATORS))
    message = f"unknown operator {_shown(op)}; the valid ones are {', '.join(OPERATORS)}"
    return GuardError("GUARD_INVALID_OPERATOR", message, hint, token.at)


def _bad_value(token: _Token, reason: str, hint: str = "") -> GuardError:
    message = f"the value {_shown(token.text)} {reason}"
    return GuardError("GUARD_INVALID_VALUE", message, hint, token.at)


def _read_value(op: str, token: _Token) -> Const | Items | GuardError:
    """Return a guard's third token as the operand its operator needs."""
    if op == "matches":
        return _read_pattern(token)
    array = token.text.startswith("[")
    operand = _read_array(token) if array else _read_literal(token)
    if isinstance(operand, GuardError) or _takes(op, operand):
        return operand
    hint = "only in and not_in take an array" if array else ""
    return _bad_value(token, f"does not fit: {op} needs {_NEEDS.get(op, _SINGLE)}", hint)


def _takes(op: str, operand: Const | Items) -> bool:
    needs = _NEEDS.get(op, _SINGLE)
    match operand:
        case Items():
            return needs == _ARRAY
        case Const(value=bool()):
            return needs in {_SINGLE, _TRUTH}
        case Const(value=int() | Decimal()):
            return needs in {_SINGLE, _NUMERAL}
        case Const():
            return needs == _SINGLE


def _read_pattern(token: _Token) -> Const | GuardError:
    try:
        compile_pattern(token.text)
    except Unsupported as reason:
        return _bad_value(token, f"is no pattern that can be used: {reason}")
    return Const(token.text, token.at)


def _read_literal(token: _Token) -> Const | GuardError:
    text, at = token
    if text in {"true", "false"}:
        return Const(text == "true", at)
    if _NUMBER.fullmatch(text):
        whole = "." not in text and len(text) <= _INT_DIGITS
        return Const(int(text) if whole else Decimal(text), at)
    if text.lower() in _NO_LITERAL:
        return _bad_value(token, "is no literal", _NO_LITERAL[text.lower()])
    if _WORD.fullmatch(text):
        return Const(text, at)
    return _refuse_literal(token)


def _refuse_literal(token: _Token) -> GuardError:
    text = token.text
    if text[0] in "'\"`":
        return _bad_value(token, "is quoted", "write words without quotes")
    if _ALMOST_NUMBER.fullmatch(text):
        return _bad_value(token, "is no number", "write numbers as in 3, -1 or 0.5, no exponent")
    bad = _NOT_IN_NAME.search(text)
    sign = bad.group() if bad else text
    hint = "words consist of ASCII letters, digits and `_`; other text can be tested with matches"
    return _bad_value(token, f"contains the invalid character {sign!r}", hint)


def _read_array(token: _Token) -> Items | GuardError:
    depth = 0
    for position, sign in enumerate(token.text):
        depth += (sign == "[") - (sign == "]")
        if depth > 1:
            return _unclosed(token) or _bad_value(token, "has an array in an array")
        if depth == 0 and position < len(token.text) - 1:
            return _bad_value(token, "goes on after its closing bracket")
    return _unclosed(token) or _read_elements(token)


def _unclosed(token: _Token) -> GuardError | None:
    if token.text.count("[") <= token.text.count("]"):
        return None
    return _bad_value(token, "has an array bracket that is not closed", "end the array with `]`")


def _read_elements(token: _Token) -> Items | GuardError:
    inner = token.text[1:-1]
    if not inner.strip(_SPACE):
        return Items((), token.at)
    items: list[Const] = []
    at = token.at + 1
    for part in inner.split(","):
        bare = part.strip(_SPACE)
        if not bare:
            return _bad_value(token, "has an empty element", "put one element between two commas")
        start = at + len(part) - len(part.lstrip(_SPACE))
        item = _read_literal(_Token(bare, start))
        if isinstance(item, GuardError):
            return item
        items.append(item)
        at += len(part) + 1
    return Items(tuple(items), token.at)


def _build(field: Name, op: _Token, operand: Const | Items) -> Expr:
    match op.text:
        case "exists" | "not_exists":
            call = Call("exists", (field,), op.at)
            wanted = isinstance(operand, Const) and operand.value is (op.text == "exists")
            return call if wanted else Not(call, op.at)
        case "contains":
            return Compare("in", operand, field, op.at)
        case "matches":
            return Call("matches", (field, operand), op.at)
        case _:
            return Compare(_COMPARISONS[op.text], field, operand, op.at)


def evaluate_guard(expr: Expr, context: Mapping[str, object]) -> bool | GuardError:
    """Tell whether a guard holds for a context of untyped JSON data, or why that has no answer."""
    data = {name: _exact(context[name]) for name in names_in(expr) if name in context}
    try:
        return bool(compile_condition(expr, _ANY_CONTEXT)(data, {}))
    except TypeClash as reason:
        fields = ", ".join(map(_shown, names_in(expr)))
        return GuardError("GUARD_TYPE_ERROR", f"the field {fields} has the wrong type: {reason}")
    except Malformed as reason:
        return GuardError("GUARD_EVALUATION_ERROR", reason.message, reason.hint, reason.at)
    except ArithmeticError as reason:
        return GuardError("EVALUATION_ERROR", f"the expression has no value: {reason}")


def _exact(value: object) -> object:
    """Return a field with its number exact; how large it is does not matter to a guard."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def answer(request: object) -> dict[str, object]:
    """Answer a request `{"expr", "context"}`; without a context, say whether the guard loads."""
    if not isinstance(request, Mapping) or "expr" not in request:
        return _told(GuardError("VALIDATION_ERROR", 'a request is an object with "expr"'))
    text: object = request["expr"]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(text, str):
        return _told(GuardError("GUARD_SYNTAX_ERROR", 'the guard in "expr" is not a string'))
    expr = parse_guard(text)
    if isinstance(expr, GuardError):
        return _told(expr)
    context: object = request.get("context")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if context is None:
        return {"loads": True}
    if not isinstance(context, Mapping):
        return _told(GuardError("VALIDATION_ERROR", '"context" is neither an object nor null'))
    value = evaluate_guard(expr, context)  # pyright: ignore[reportUnknownArgumentType]
    return _told(value) if isinstance(value, GuardError) else {"value": value}


def answer_line(line: str | bytes) -> str:
    """Answer one line of JSON with one line of JSON."""
    try:
        request = _REQUEST.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ArithmeticError):
        error = GuardError("VALIDATION_ERROR", "the line is not JSON that can be read")
        return write_json(_told(error))
    return write_json(answer(request))


def _told(error: GuardError) -> dict[str, object]:
    told = f"{error.message} ({error.hint})" if error.hint else error.message
    return {"error": error.code, "message": told}


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
