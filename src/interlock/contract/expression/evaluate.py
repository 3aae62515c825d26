"""Typing an expression and making it a function, in one walk over its tree."""

from __future__ import annotations

import operator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from interlock.contract.expression.expr import (
    Arithmetic,
    Call,
    Choice,
    Compare,
    Const,
    EventField,
    Expr,
    Items,
    Logic,
    Malformed,
    Name,
    Negative,
    Not,
)
from interlock.contract.expression.operators import (
    EXACT,
    NUMERIC,
    WHOLE,
    TypeClash,
    join,
    length_of,
    member,
    number_in,
    same,
    untyped_operator,
)
from interlock.contract.expression.pattern import Unsupported, compile_pattern
from interlock.contract.expression.scope import (
    Data,
    Run,
    Scope,
    Typed,
    arithmetic_type,
    bare_field,
    common_type,
    presence,
    type_of,
)
from interlock.contract.expression.values import (
    BOOL,
    INT,
    JSON,
    NULL,
    NUMBERS,
    Type,
    name_type,
    shown,
)
from interlock.contract.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_MATCHED = 10_000
MAX_PLACES = 12


def compile_expression(expr: Expr, scope: Scope) -> Typed:
    """Return the type and the function of an expression, or raise `Malformed`."""
    match expr:
        case Const(value=value):
            return Typed(type_of(value), lambda _c, _e: value)
        case Name() | EventField():
            return _field(expr, scope)
        case Items():
            return _items(expr, scope)
        case Negative(operand=operand):
            return _arithmetic(Arithmetic("-", Const(0, expr.at), operand, expr.at), scope)
        case Not(operand=operand):
            holds = compile_condition(operand, scope)
            return Typed(BOOL, lambda c, e: not holds(c, e))
        case Arithmetic():
            return _arithmetic(expr, scope)
        case Compare():
            return _compare(expr, scope)
        case Logic():
            return _logic(expr, scope)
        case Call():
            return _call(expr, scope)
        case Choice():
            return _choice(expr, scope)


def compile_condition(expr: Expr, scope: Scope) -> Run:
    """Return the function that tells whether a condition holds; null does not."""
    typed = compile_expression(expr, scope)
    type_, run = typed.type, typed.run
    if type_.kind == "bool":
        return (lambda c, e: run(c, e) is True) if type_.nullable else run
    if type_.kind not in {"json", "null"}:
        _refuse(expr, f"a condition must be true or false, not {name_type(type_)}")

    def holds(c: Data, e: Data) -> bool:
        value = run(c, e)
        if value is None or value is True or value is False:
            return value is True
        raise TypeClash(f"a condition must be true or false, not {shown(value)}")

    return holds


def _refuse(expr: Expr, message: str, hint: str = "") -> NoReturn:
    raise Malformed(message, at=expr.at, hint=hint)


def _field(expr: Name | EventField, scope: Scope) -> Typed:
    name = expr.name
    if isinstance(expr, Name):
        known, is_open, what = scope.context, scope.open_context, "the context"
    elif scope.event is None:
        _refuse(expr, "`event` is not known here", "only rows of an event can read its payload")
    else:
        known, is_open, what = scope.event, scope.open_event, "the event"
    if name not in known and not is_open:
        near = did_you_mean(name, known) or f"a text needs quotes of its own: \"'{name}'\""
        _refuse(expr, f"no field {name!r} in {what}", near)
    type_ = known.get(name, JSON)
    if type_.nullable and type_.kind != "json" and bare_field(expr) in scope.present:
        type_ = Type(type_.kind, members=type_.members, item=type_.item, bounds=type_.bounds)
    if isinstance(expr, EventField):
        return Typed(type_, lambda _c, e: e.get(name))
    if name in known:
        return Typed(type_, lambda c, _e: c[name])
    return Typed(type_, lambda c, _e: c.get(name))


def _items(expr: Items, scope: Scope) -> Typed:
    parts = [compile_expression(item, scope) for item in expr.items]
    runs = tuple(part.run for part in parts)
    kinds = {part.type for part in parts}
    item = kinds.pop() if len(kinds) == 1 else JSON
    if all(isinstance(part, Const) for part in expr.items):
        value = tuple(run({}, {}) for run in runs)
        return Typed(Type("list", item=item), lambda _c, _e: value)
    return Typed(Type("list", item=item), lambda c, e: tuple(run(c, e) for run in runs))


def _logic(expr: Logic, scope: Scope) -> Typed:
    runs: list[Run] = []
    for item in expr.items:
        runs.append(compile_condition(item, scope))
        if expr.op == "and":
            present = scope.present | presence(item)
            scope = Scope(scope.context, scope.event, scope.open_context, scope.open_event, present)
    if len(runs) == 2:  # the usual pair needs no loop
        first, second = runs
        if expr.op == "and":
            return Typed(BOOL, lambda c, e: first(c, e) and second(c, e))
        return Typed(BOOL, lambda c, e: first(c, e) or second(c, e))
    if expr.op == "and":
        return Typed(BOOL, lambda c, e: all(run(c, e) for run in runs))
    return Typed(BOOL, lambda c, e: any(run(c, e) for run in runs))


def _choice(expr: Choice, scope: Scope) -> Typed:
    test = compile_condition(expr.test, scope)
    present = scope.present | presence(expr.test)
    inner = Scope(scope.context, scope.event, scope.open_context, scope.open_event, present)
    yes, no = compile_expression(expr.then, inner), compile_expression(expr.otherwise, scope)
    type_ = common_type(yes.type, no.type)
    if type_ is None:
        _refuse(expr, f"{name_type(yes.type)} or {name_type(no.type)}: the two do not fit")
    return Typed(type_, lambda c, e: yes.run(c, e) if test(c, e) else no.run(c, e))


def _call(expr: Call, scope: Scope) -> Typed:
    first = expr.arguments[0]
    match expr.function:
        case "exists":
            if not isinstance(first, Name | EventField):
                _refuse(expr, "exists needs a field")
            run = compile_expression(first, scope).run
            return Typed(BOOL, lambda c, e: run(c, e) is not None)
        case "matches":
            return _matches(expr, scope)
        case "round":
            return _round(expr, scope)
        case _:
            typed = compile_expression(first, scope)
            type_, measured = typed.type, typed.run
            if type_.kind not in {"str", "list", "json"}:
                _refuse(expr, f"len needs a str or a list, not {name_type(type_)}")
            return Typed(Type("int", type_.nullable), lambda c, e: length_of(measured(c, e)))


def _round(expr: Call, scope: Scope) -> Typed:
    first, places = expr.arguments
    typed = compile_expression(first, scope)
    type_, run = typed.type, typed.run
    if not (
        isinstance(places, Const)
        and isinstance(places.value, int)
        and 0 <= places.value <= MAX_PLACES
    ):
        _refuse(expr, f"round needs a number of places from 0 to {MAX_PLACES} written out")
    if type_.kind not in {*NUMBERS, "json"}:
        _refuse(expr, f"round needs a number, not {name_type(type_)}")
    unit = Decimal(1).scaleb(-places.value)

    def rounded(c: Data, e: Data) -> Decimal | None:
        value = run(c, e)
        return None if value is None else EXACT.quantize(Decimal(number_in(value)), unit)

    return Typed(Type("decimal", type_.nullable), rounded)


def _matches(expr: Call, scope: Scope) -> Typed:
    first, pattern = expr.arguments
    if not (isinstance(pattern, Const) and isinstance(pattern.value, str)):
        _refuse(expr, "matches needs its pattern written out as a string")
    try:
        search = compile_pattern(pattern.value)
    except Unsupported as reason:
        raise Malformed(
            f"the pattern {pattern.value!r} is refused: {reason}", at=pattern.at
        ) from None
    typed = compile_expression(first, scope)
    type_, run = typed.type, typed.run
    if type_.kind not in {"str", "enum", "json"}:
        _refuse(expr, f"matches needs a str, not {name_type(type_)}")

    def matches(c: Data, e: Data) -> bool:
        value = run(c, e)
        if value is None:
            return False
        if isinstance(value, str):
            if len(value) > MAX_MATCHED:
                raise TypeClash(f"matches looks at no more than {MAX_MATCHED} characters")
            return search(value)
        raise TypeClash(f"matches needs a string, not {shown(value)}")

    return Typed(BOOL, matches)


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_EQUAL: dict[str, Callable[[Any, Any], bool]] = {"==": operator.eq, "!=": operator.ne}


_WITH_CONSTANT: dict[str, Callable[[Any, Any], Run]] = {
    "<": lambda name, limit: lambda c, _e: c[name] < limit,
    "<=": lambda name, limit: lambda c, _e: c[name] <= limit,
    ">": lambda name, limit: lambda c, _e: c[name] > limit,
    ">=": lambda name, limit: lambda c, _e: c[name] >= limit,
    "==": lambda name, limit: lambda c, _e: c[name] == limit,
    "!=": lambda name, limit: lambda c, _e: c[name] != limit,
}


def _compare(expr: Compare, scope: Scope) -> Typed:
    left, right = compile_expression(expr.left, scope), compile_expression(expr.right, scope)
    if expr.op in {"in", "not in"}:
        return _membership(expr, left, right)
    if NULL in (left.type, right.type):
        return _null_test(expr, left, right)
    _check_comparable(expr, left.type, right.type)
    ordered = expr.op in _ORDER
    test = _ORDER[expr.op] if ordered else _EQUAL[expr.op]
    if "json" in {left.type.kind, right.type.kind}:
        return Typed(BOOL, _dynamic(expr.op, left.run, right.run))
    if not left.type.nullable and not right.type.nullable:
        if isinstance(expr.left, Name) and isinstance(expr.right, Const):
            return Typed(BOOL, _WITH_CONSTANT[expr.op](expr.left.name, expr.right.value))
        return Typed(BOOL, lambda c, e: test(left.run(c, e), right.run(c, e)))

    def compare(c: Data, e: Data) -> bool:
        one, other = left.run(c, e), right.run(c, e)
        return one is not None and other is not None and test(one, other)

    return Typed(BOOL, compare)


def _dynamic(op: str, left: Run, right: Run) -> Run:
    def equal(c: Data, e: Data) -> bool:
        one, other = left(c, e), right(c, e)
        return one is not None and other is not None and same(one, other) is wanted

    def ordered(c: Data, e: Data) -> bool:
        one, other = left(c, e), right(c, e)
        if one is None or other is None:
            return False
        return test(number_in(one), number_in(other))

    wanted = op == "=="
    if op in _EQUAL:
        return equal
    test = _ORDER[op]
    return ordered


def _null_test(expr: Compare, left: Typed, right: Typed) -> Typed:
    if expr.op not in _EQUAL:
        _refuse(expr, "null has no order", "test with `exists(field)`")
    run = right.run if left.type == NULL else left.run
    if expr.op == "==":
        return Typed(BOOL, lambda c, e: run(c, e) is None)
    return Typed(BOOL, lambda c, e: run(c, e) is not None)


def _check_comparable(expr: Compare, left: Type, right: Type) -> None:
    kinds = {left.kind, right.kind}
    if expr.op in _ORDER:
        orderable = (set(NUMBERS), {"time"}, {"duration"})
        if not any(kinds <= {*group, "json"} for group in orderable):
            _refuse(
                expr,
                f"{name_type(left)} {expr.op} {name_type(right)}: no order between them",
                "order is known for numbers, times and durations",
            )
        return
    alike = "json" in kinds or kinds <= set(NUMBERS) or kinds <= {"str", "enum"} or len(kinds) == 1
    if not alike:
        _refuse(expr, f"{name_type(left)} {expr.op} {name_type(right)}: never equal")
    for side, other in ((left, expr.right), (right, expr.left)):
        if side.kind == "enum" and isinstance(other, Const) and other.value not in side.members:
            _refuse(
                expr,
                f"{other.value!r} is not one of {' | '.join(side.members)}",
                did_you_mean(str(other.value), list(side.members)),
            )


def _membership(expr: Compare, left: Typed, right: Typed) -> Typed:
    if right.type.kind not in {"list", "json"}:
        _refuse(expr, f"`in` needs a list, not {name_type(right.type)}")
    if left.type.kind == "list":
        _refuse(expr, "`in` needs a single value on its left")
    if left.type.kind == "enum" and isinstance(expr.right, Items):
        for item in expr.right.items:
            _check_comparable(
                Compare("==", expr.left, item, expr.at),
                left.type,
                type_of(item.value if isinstance(item, Const) else ""),
            )
    inside = expr.op == "in"

    def test(c: Data, e: Data) -> bool:
        value, values = left.run(c, e), right.run(c, e)
        if value is None or values is None:
            return False
        return member(value, values) is inside

    return Typed(BOOL, test)


def _arithmetic(expr: Arithmetic, scope: Scope) -> Typed:
    left, right = compile_expression(expr.left, scope), compile_expression(expr.right, scope)
    kinds = (left.type.kind, right.type.kind)
    nullable = left.type.nullable or right.type.nullable
    if "json" in kinds:
        return Typed(JSON, _nullsafe(untyped_operator(expr.op), left.run, right.run))
    result = arithmetic_type(expr.op, left.type, right.type)
    if result is None:
        _refuse(expr, f"{name_type(left.type)} {expr.op} {name_type(right.type)} has no meaning")
    work: Callable[[Any, Any], Any]
    if result.kind == "decimal":
        work = NUMERIC[expr.op]
    elif result.kind == "int":
        work = WHOLE[expr.op]
    elif result.kind == "duration" and "int" in kinds:
        work = operator.mul
    else:
        work = join if result.kind in {"str", "list"} else WHOLE[expr.op]
    if nullable:
        return Typed(
            Type(result.kind, nullable=True, item=result.item), _nullsafe(work, left.run, right.run)
        )
    if result.kind == "int" and isinstance(expr.left, Name) and isinstance(expr.right, Const):
        name, step = expr.left.name, expr.right.value
        if expr.op in {"+", "-"} and isinstance(step, int):
            delta = step if expr.op == "+" else -step
            return Typed(INT, lambda c, _e: c[name] + delta)
    return Typed(result, lambda c, e: work(left.run(c, e), right.run(c, e)))


def _nullsafe(work: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(c: Data, e: Data) -> object:
        one, other = left(c, e), right(c, e)
        return None if one is None or other is None else work(one, other)

    return run
