"""What every reader of contracts uses: taking values out of a source, gathering problems."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from interlock.contract.expression.declare import Undeclarable, parse_declaration
from interlock.contract.expression.expr import Const, Expr, Items, Malformed
from interlock.contract.expression.parse import parse_expression
from interlock.contract.expression.values import JSON, Mismatch, parse_duration, read_json, shown
from interlock.contract.model import Field, Update
from interlock.contract.problem import NOWHERE, Mark, Problem, Severity, did_you_mean, problem
from interlock.contract.source.node import Node, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import timedelta

MAX_NAME = 200
Word = TypeVar("Word", bound=str)
NO_KEYS: Mapping[str, Node] = {}


class Reading:
    """The problems found so far while one contract is read."""

    def __init__(self) -> None:
        """Begin without problems."""
        self.problems: list[Problem] = []
        self.places: dict[tuple[str, str], Mark] = {}
        self.codes: dict[str, str] = {}

    def report(
        self,
        code: str,
        message: str,
        *,
        at: Node | Mark | None = None,
        where: str = "",
        hint: str = "",
        severity: Severity = "error",
    ) -> None:
        """Add a problem at a node or mark."""
        mark = at.mark if isinstance(at, Node) else at or NOWHERE
        self.problems.append(
            problem(code, message, mark=mark, where=where, hint=hint, severity=severity)
        )

    def mapping(
        self, node: Node | None, known: Collection[str] | None, where: str
    ) -> Mapping[str, Node]:
        """Return a mapping's entries, reporting unknown keys; nothing counts as empty."""
        if node is None or node.value is None:
            return NO_KEYS
        if not isinstance(node.value, dict):
            self.wrong(node, "a mapping of keys and values", where)
            return NO_KEYS
        if known is None:
            return node.value
        for key in node.value:
            if key not in known:
                self.unknown_key(key, node.keys.get(key, node.mark), known, where)
        return {key: value for key, value in node.value.items() if key in known}

    def unknown_key(self, key: str, mark: Mark, known: Collection[str], where: str) -> None:
        """Report a key that means nothing here."""
        near = did_you_mean(key, list(known))
        hint = near or f"known here: {', '.join(sorted(known))}"
        if any(sign in key for sign in "()[]<>="):
            hint = "an expression with a comma or a bracket needs quotes inside { }"
        self.report("unknown_key", f"unknown key {key!r}", at=mark, where=where, hint=hint)

    def wrong(self, node: Node, wanted: str, where: str, hint: str = "") -> None:
        """Report a value of the wrong shape."""
        told = f"expected {wanted}, not {shown(plain(node))}"
        self.report("bad_value", told, at=node, where=where, hint=hint)

    def items(self, node: Node | None, where: str) -> list[Node]:
        """Return a list's items; nothing counts as empty."""
        if node is None or node.value is None:
            return []
        if isinstance(node.value, list):
            return node.value
        self.wrong(node, "a list", where)
        return []

    def text(self, node: Node | None, where: str, default: str = "") -> str:
        """Return a text; numbers are taken as they are written."""
        match node:
            case None:
                return default
            case Node(value=str() as value):
                return value
            case Node(value=int() | Decimal() as value) if not isinstance(value, bool):
                return node.raw or str(value)
            case _:
                self.wrong(node, "a text", where)
                return default

    def name(self, node: Node | None, where: str) -> str | None:
        """Return a name: a text of reasonable length without control characters."""
        if node is None:
            return None
        value = self.text(node, where)
        if not value:
            if node.value == "":
                self.wrong(node, "a name", where)
            return None
        if len(value) > MAX_NAME or not value.isprintable():
            self.wrong(node, f"a printable name of at most {MAX_NAME} characters", where)
            return None
        self.places.setdefault((where, value), node.mark)
        return value

    def event(self, node: Node | None, where: str) -> str | None:
        """Return the name of an event that may be written as its code."""
        name = self.name(node, where)
        return None if name is None else self.codes.get(name, name)

    def events(self, node: Node | None, where: str) -> tuple[str, ...]:
        """Return the names of events that may be written as their codes."""
        return tuple(self.codes.get(name, name) for name in self.names(node, where))

    def names(self, node: Node | None, where: str) -> tuple[str, ...]:
        """Return a list of names; a single one may stand alone."""
        if node is not None and not isinstance(node.value, list | dict) and node.value is not None:
            one = self.name(node, where)
            return () if one is None else (one,)
        found = (self.name(item, where) for item in self.items(node, where))
        return tuple(name for name in found if name is not None)

    def flag(self, node: Node | None, where: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        if node is None:
            return default
        if isinstance(node.value, bool):
            return node.value
        word = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(node.value))
        self.wrong(node, "true or false", where, f"write `{word}`" if word else "")
        return default

    def number(self, node: Node | None, where: str, default: int = 0) -> int:
        """Return a whole number."""
        if node is None:
            return default
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        self.wrong(node, "a whole number", where)
        return default

    def choice(self, node: Node | None, allowed: Collection[Word], where: str) -> Word | None:
        """Return one of a closed set of words."""
        if node is None:
            return None
        for word in allowed:
            if node.value == word:
                return word
        words = ", ".join(allowed)
        self.wrong(node, f"one of {words}", where, did_you_mean(str(node.value), list(allowed)))
        return None

    def duration(self, node: Node | None, where: str) -> timedelta | None:
        """Return a duration."""
        if node is None:
            return None
        try:
            return parse_duration(self.text(node, where))
        except Mismatch as reason:
            self.report("bad_value", str(reason), at=node, where=where)
            return None

    def expression(self, node: Node, where: str) -> Expr | None:
        """Return an expression: texts are parsed, other scalars and lists stand for themselves."""
        if isinstance(node.value, list):
            parts = [self.expression(item, where) for item in node.value]
            return Items(tuple(part for part in parts if part is not None))
        if isinstance(node.value, dict):
            return self.constant(node, where)
        if not isinstance(node.value, str):
            return Const(node.value)
        try:
            return parse_expression(node.value)
        except Malformed as reason:
            self.malformed(reason, node, where)
            return None

    def constant(self, node: Node, where: str) -> Expr | None:
        """Return data that stands for itself."""
        try:
            return Const(read_json(plain(node)))
        except Mismatch as reason:
            self.report("bad_value", str(reason), at=node, where=where)
            return None

    def malformed(self, reason: Malformed, node: Node | Mark, where: str) -> None:
        """Report an expression that cannot be read, at its own column where that is known."""
        mark = expression_mark(node, reason.at) if isinstance(node, Node) else node
        self.report("syntax", reason.message, at=mark, where=where, hint=reason.hint)

    def updates(self, node: Node | None, where: str) -> tuple[Update, ...]:
        """Return the updates of a `set`."""
        found: list[Update] = []
        for name, value in self.mapping(node, None, where).items():
            expr = self.expression(value, where)
            if expr is not None:
                found.append(Update(name, expr, expression_mark(value, 0)))
        return tuple(found)

    def field(self, name: str, node: Node, where: str) -> Field | None:
        """Return a declared field; one that cannot be read is untyped, so that nothing follows."""
        if not name.isidentifier() or not name.isascii():
            self.report(
                "bad_value",
                f"{name!r} cannot name a field",
                at=node,
                where=where,
                hint="use ASCII letters, digits and underscores",
            )
            return None
        if not isinstance(node.value, str):
            hint = "quote it, as in 'decimal = 0'" if node.value is not None else ""
            self.wrong(node, "a type, such as `decimal = 0`", where, hint)
            return Field(name=name, type=JSON, default=None, mark=node.mark)
        try:
            type_, default = parse_declaration(node.value)
        except Undeclarable as reason:
            self.report("type_error", str(reason), at=node, where=where)
            return Field(name=name, type=JSON, default=None, mark=node.mark)
        return Field(name=name, type=type_, default=default, mark=node.mark)


def expression_mark(node: Node, offset: int) -> Mark:
    """Return the place of an offset within an expression written on one line."""
    shift = offset + (1 if node.quoted else 0) if "\n" not in node.raw else 0
    return Mark(node.mark.line, node.mark.column + shift)
