"""Parsing the text of an expression into its tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from interlock.contract.expression.expr import (
    FUNCTIONS,
    SPELLED,
    WORDS,
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
    children,
)
from interlock.contract.expression.values import Mismatch, parse_duration

if TYPE_CHECKING:
    from datetime import timedelta

MAX_LENGTH = 4_000
MAX_DEPTH = 40
MAX_HEIGHT = 60

Operand = Callable[[], Expr]

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<duration>\d+(?:ms|[smhdw])(?:\d+(?:ms|[smhdw]))*(?![A-Za-z0-9_]))
    | (?P<number>\d+(?:\.\d+)?(?![A-Za-z0-9_.]))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | `(?P<quoted>[A-Za-z_][A-Za-z0-9_]*)`
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<op>==|!=|<=|>=|//|[<>+\-*/%()\[\],.])
    | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CUT_OFF = "inside { } of YAML an expression with a comma or a bracket needs quotes"
_HINTS = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "=": "compare with `==`",
    "{": "objects cannot be written in an expression",
}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip(" \t\r\n"))
            sign = text[at : at + 1]
            what = "an unclosed string" if sign in "'\"" else f"an unexpected {sign!r}"
            raise Malformed(f"{what} in the expression", at=at, hint=_HINTS.get(sign, ""))
        kind = str(match.lastgroup)
        found.append(_Token(kind, match.group(kind), match.start(kind)))
        position = match.end()
        if kind == "end":
            return found


def _unquote(text: str) -> str:
    return re.sub(r"\\(['\"\\])", r"\1", text[1:-1])


class _Parser:
    """A recursive descent over the tokens, in the order of Python's precedence."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.position = 0
        self.depth = 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.position]

    def take(self, *texts: str) -> _Token | None:
        token = self.here
        if token.kind in {"op", "name"} and token.text in texts:
            self.position += 1
            return token
        return None

    def need(self, text: str) -> _Token:
        return self.take(text) or self.fail(f"expected {text!r}", _CUT_OFF)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        token = self.here
        found = "the end" if token.kind == "end" else repr(token.text)
        raise Malformed(f"{message}, found {found}", at=token.at, hint=hint)

    def choice(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed(f"nested more than {MAX_DEPTH} deep", at=self.here.at)
        then = self.either()
        if token := self.take("if"):
            test = self.either()
            self.need("else")
            then = Choice(then, test, self.choice(), token.at)
        self.depth -= 1
        return then

    def either(self) -> Expr:
        return self.joined("or", self.both)

    def both(self) -> Expr:
        return self.joined("and", self.negation)

    def joined(self, word: str, operand: Operand) -> Expr:
        items = [operand()]
        at = self.here.at
        while self.take(word):
            items.append(operand())
        return items[0] if len(items) == 1 else Logic(word, tuple(items), at)

    def negation(self) -> Expr:
        nots: list[_Token] = []
        while token := self.take("not"):
            nots.append(token)
        result = self.comparison()
        for token in reversed(nots[-MAX_DEPTH:]):
            result = Not(result, token.at)
        if len(nots) > MAX_DEPTH:
            raise Malformed(f"nested more than {MAX_DEPTH} deep", at=self.here.at)
        return result

    def comparison(self) -> Expr:
        left = self.sum()
        links: list[Expr] = []
        while token := self.take("==", "!=", "<", "<=", ">", ">=", "in", "not"):
            if token.text == "not":
                self.need("in")
            right = self.sum()
            op = "not in" if token.text == "not" else token.text
            links.append(Compare(op, left, right, token.at))
            left = right
        if not links:
            return left
        return links[0] if len(links) == 1 else Logic("and", tuple(links), self.here.at)

    def sum(self) -> Expr:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Expr:
        return self.chain(("*", "/", "//", "%"), self.sign)

    def chain(self, ops: tuple[str, ...], operand: Operand) -> Expr:
        left = operand()
        length = 0
        while token := self.take(*ops):
            length += 1
            if length > MAX_DEPTH:
                raise Malformed(f"more than {MAX_DEPTH} operators in a row", at=token.at)
            left = Arithmetic(token.text, left, operand(), token.at)
        return left

    def sign(self) -> Expr:
        token = self.take("-")
        if token is None:
            return self.atom()
        operand = self.atom()
        match operand:
            case Const(value=Decimal() as number):
                return Const(number.copy_negate(), token.at)  # a bare minus would round it
            case Const(value=int() as number) if not isinstance(number, bool):
                return Const(-number, token.at)
            case _:
                return Negative(operand, token.at)

    def atom(self) -> Expr:
        token = self.here
        self.position += 1
        match token.kind:
            case "number":
                return Const(
                    Decimal(token.text) if "." in token.text else int(token.text), token.at
                )
            case "duration":
                return Const(_duration(token), token.at)
            case "string":
                return Const(_unquote(token.text), token.at)
            case "name":
                return self.named(token)
            case "quoted":
                return Name(token.text, token.at)
            case "op" if token.text == "(":
                inner = self.choice()
                self.need(")")
                return inner
            case "op" if token.text == "[":
                return Items(self.arguments("]"), token.at)
            case _:
                self.position -= 1
                return self.fail("expected a value")

    def named(self, token: _Token) -> Expr:
        match token.text:
            case "true" | "false":
                return Const(token.text == "true", token.at)
            case "null":
                return Const(None, token.at)
            case "event":
                self.need(".")
                if self.here.kind not in {"name", "quoted"}:
                    self.fail("expected a field of the event")
                self.position += 1
                return EventField(self.tokens[self.position - 1].text, token.at)
            case word if word in WORDS or word in SPELLED:
                self.position -= 1
                return self.fail("expected a value", hint=_spelling(word))
            case function if self.take("("):
                return self.call(token, function)
            case name:
                if self.here.text == ".":
                    self.fail(f"{name!r} has no fields", hint="only `event.` has fields")
                return Name(name, token.at)

    def call(self, token: _Token, function: str) -> Expr:
        arguments = self.arguments(")")
        wanted = FUNCTIONS.get(function)
        if wanted is None:
            known = ", ".join(FUNCTIONS)
            raise Malformed(f"no function {function!r}", at=token.at, hint=f"there are: {known}")
        if len(arguments) != wanted:
            raise Malformed(f"{function} takes {wanted} argument(s)", at=token.at)
        return Call(function, arguments, token.at)

    def arguments(self, closing: str) -> tuple[Expr, ...]:
        items: list[Expr] = []
        while not self.take(closing):
            if items:
                self.need(",")
                if self.take(closing):
                    break
            items.append(self.choice())
        return tuple(items)


def _duration(token: _Token) -> timedelta:
    try:
        return parse_duration(token.text)
    except Mismatch as reason:  # longer than any duration can be
        raise Malformed(str(reason), at=token.at) from None


def _spelling(word: str) -> str:
    return f"write `{SPELLED[word]}`" if word in SPELLED else ""


def parse_expression(text: str) -> Expr:
    """Parse a text into its tree, or raise `Malformed`."""
    if len(text) > MAX_LENGTH:
        raise Malformed(f"longer than {MAX_LENGTH} characters")
    if not text.strip():
        raise Malformed("the expression is empty")
    parser = _Parser(text)
    result = parser.choice()
    if parser.here.kind != "end":
        parser.fail("expected an operator or the end", hint=_spelling(parser.here.text))
    _limit_height(result)
    return result


def _limit_height(expr: Expr) -> None:
    """Refuse a tree too high to be walked safely."""
    level = [expr]
    for _ in range(MAX_HEIGHT):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise Malformed(f"nested more than {MAX_HEIGHT} deep")
