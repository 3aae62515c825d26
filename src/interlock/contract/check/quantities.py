"""What guards read: fields, sums of fields and lengths, each with its possible values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlock.contract.check.domain import Domain, domain_of, is_bounded_text, meet
from interlock.contract.expression.expr import EventField, Expr, Name, children, write_expression
from interlock.contract.expression.values import JSON, Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.contract.expression.scope import Scope

MAX_EFFORT = 60_000


class Quantity(NamedTuple):
    """Something guards read: the fields behind it, its possible values, and how it is shown."""

    fields: frozenset[str]
    values: Domain
    type: Type
    free: bool = True


class Effort:
    """How many boxes may still be made for one contract; afterwards all is undecided."""

    def __init__(self, left: int = MAX_EFFORT) -> None:
        """Begin with all of it."""
        self.left = left

    def spend(self, boxes: int) -> bool:
        """Take some of it; false when it is used up."""
        self.left -= boxes
        return self.left >= 0


class Frame:
    """The quantities met so far in the guards of one state and event."""

    def __init__(self, scope: Scope, effort: Effort) -> None:
        """Begin without any."""
        self.scope = scope
        self.effort = effort
        self.quantities: dict[str, Quantity] = {}

    def quantity(self, key: str, make: Callable[[], Quantity]) -> str:
        """Know a quantity under its key."""
        if key not in self.quantities:
            self.quantities[key] = make()
        return key

    def limit(self, key: str, values: Domain) -> None:
        """Leave out values an operator cannot work with: they refuse the event by themselves."""
        known = self.quantities[key]
        self.quantities[key] = known._replace(values=meet(known.values, values))


def know_field(expr: Name | EventField, frame: Frame) -> tuple[str, Type]:
    """Know a field as a quantity; return its key and its type."""
    key = write_expression(expr)
    known = frame.scope.context if isinstance(expr, Name) else frame.scope.event or {}
    type_ = known.get(expr.name, JSON)
    free = not is_bounded_text(type_)
    frame.quantity(key, lambda: Quantity(frozenset((key,)), domain_of(type_), type_, free))
    return key, type_


def fields_in(expr: Expr, frame: Frame) -> frozenset[str]:
    """Return the fields an expression reads, and know them."""
    if isinstance(expr, Name | EventField):
        return frozenset((know_field(expr, frame)[0],))
    return frozenset(field for child in children(expr) for field in fields_in(child, frame))
