"""Sets of values: what a field may hold where a guard holds, or where it does not."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from interlock.contract.expression.expr import write_literal
from interlock.contract.expression.values import MAX_INT, Mismatch, Type, format_duration, reader

if TYPE_CHECKING:
    from collections.abc import Callable

MICROSECOND = timedelta(microseconds=1)
MAX_SPAN = 10**17  # microseconds that surely fit a duration
Cut = tuple[Fraction | float, int]  # a value, and whether the cut is before (0) or after (1) it
FIRST: Cut = (-math.inf, 1)
LAST: Cut = (math.inf, 0)


class Span(NamedTuple):
    """The numbers between two cuts."""

    low: Cut
    high: Cut


EVERY = (Span(FIRST, LAST),)


class Texts(NamedTuple):
    """Some texts, or all but some."""

    members: frozenset[str] = frozenset()
    all_but: bool = False


class Domain(Struct, frozen=True):
    """A set of values of any kind; durations count in microseconds, `other` is all the rest."""

    null: bool = False
    bools: frozenset[bool] = frozenset()
    numbers: tuple[Span, ...] = ()
    texts: Texts = Texts()
    other: bool = False
    whole: bool = False

    def __bool__(self) -> bool:
        """Tell whether there is any value in it."""
        texts = self.texts.all_but or bool(self.texts.members)
        return self.null or self.other or bool(self.bools) or bool(self.numbers) or texts


NULL = Domain(null=True)
BOOLS = Domain(bools=frozenset((True, False)))
NUMBERS = Domain(numbers=EVERY)
TEXTS = Domain(texts=Texts(all_but=True))
ANYTHING = Domain(True, BOOLS.bools, EVERY, TEXTS.texts, other=True)  # noqa: FBT003  # null
PRESENT = Domain(False, BOOLS.bools, EVERY, TEXTS.texts, other=True)  # noqa: FBT003  # no null


def only(value: object) -> Domain | None:
    """Return the set of one value, or nothing for a value that is not compared here."""
    match value:
        case None:
            return NULL
        case bool():
            return Domain(bools=frozenset((value,)))
        case int() | Decimal() | timedelta():
            point = number(value)
            return Domain(numbers=(Span((point, 0), (point, 1)),))
        case str():
            return Domain(texts=Texts(frozenset((value,))))
        case _:
            return None


def number(value: int | Decimal | timedelta) -> Fraction:
    """Return a number exactly; a duration counts in microseconds."""
    return Fraction(value // MICROSECOND if isinstance(value, timedelta) else value)


def compared(op: str, limit: Fraction) -> Domain:
    """Return the numbers that a comparison with a constant holds for."""
    spans: tuple[Span, ...]
    match op:
        case "<":
            spans = (Span(FIRST, (limit, 0)),)
        case "<=":
            spans = (Span(FIRST, (limit, 1)),)
        case ">":
            spans = (Span((limit, 1), LAST),)
        case ">=":
            spans = (Span((limit, 0), LAST),)
        case "==":
            spans = (Span((limit, 0), (limit, 1)),)
        case _:
            spans = (Span(FIRST, (limit, 0)), Span((limit, 1), LAST))
    return Domain(numbers=spans)


def meet(one: Domain, other: Domain) -> Domain:
    """Return the values in both sets."""
    whole = one.whole or other.whole
    return Domain(
        null=one.null and other.null,
        bools=one.bools & other.bools,
        numbers=_meet_spans(one.numbers, other.numbers, whole=whole),
        texts=_meet_texts(one.texts, other.texts),
        other=one.other and other.other,
        whole=whole,
    )


def join(one: Domain, other: Domain) -> Domain:
    """Return the values in either set."""
    return opposite(meet(opposite(one), opposite(other)))


def opposite(domain: Domain) -> Domain:
    """Return the values that are not in a set."""
    low = FIRST
    gaps: list[Span] = []
    for span in domain.numbers:
        if low < span.low:
            gaps.append(Span(low, span.low))
        low = span.high
    if low < LAST:
        gaps.append(Span(low, LAST))
    return Domain(
        null=not domain.null,
        bools=BOOLS.bools - domain.bools,
        numbers=tuple(gaps),
        texts=Texts(domain.texts.members, not domain.texts.all_but),
        other=not domain.other,
    )


def _meet_spans(
    ones: tuple[Span, ...], others: tuple[Span, ...], *, whole: bool
) -> tuple[Span, ...]:
    found: list[Span] = []
    for one in ones:
        for other in others:
            span = Span(max(one.low, other.low), min(one.high, other.high))
            span = _tighten(span) if whole else span
            if span.low < span.high:
                found.append(span)
    return tuple(sorted(found))


def _tighten(span: Span) -> Span:
    """Narrow a span to the whole numbers in it."""
    low, high = span
    if not isinstance(low[0], float):
        low = (Fraction(math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])), 0)
    if not isinstance(high[0], float):
        high = (Fraction(math.floor(high[0]) if high[1] else math.ceil(high[0]) - 1), 1)
    return Span(low, high)


def _meet_texts(one: Texts, other: Texts) -> Texts:
    if one.all_but and other.all_but:
        return Texts(one.members | other.members, all_but=True)
    if one.all_but:
        return Texts(other.members - one.members)
    if other.all_but:
        return Texts(one.members - other.members)
    return Texts(one.members & other.members)


def domain_of(type_: Type) -> Domain:
    """Return the values that a type allows, but for bounds on texts."""
    core = _core(type_)
    for bound in type_.bounds:
        if not isinstance(bound.limit, str) and not bound.of_length:
            core = meet(core, compared(bound.op, Fraction(bound.limit)))
    return replace(core, null=True) if type_.nullable else core


def _core(type_: Type) -> Domain:
    match type_.kind:
        case "bool":
            return BOOLS
        case "int":
            most = Fraction(MAX_INT)
            return Domain(numbers=(Span((-most, 0), (most, 1)),), whole=True)
        case "decimal" | "duration" | "time":
            return NUMBERS
        case "str":
            return TEXTS
        case "enum":
            return Domain(texts=Texts(frozenset(type_.members)))
        case "list":
            return Domain(other=True)
        case "null":
            return NULL
        case _:
            return ANYTHING


def is_bounded_text(type_: Type) -> bool:
    """Tell whether a type's texts have bounds that are not part of its set of values."""
    return type_.kind == "str" and bool(type_.bounds)


def example(domain: Domain, type_: Type) -> str | None:
    """Return a value of a set as it is written in an expression, the most telling one."""
    makers: tuple[Callable[[], str | None], ...] = (
        lambda: write_literal(min(domain.bools)) if len(domain.bools) == 1 else None,
        lambda: _example_number(domain, type_) if domain.numbers != EVERY else None,
        lambda: _example_text(domain.texts, type_),
        lambda: _example_number(domain, type_),
        lambda: write_literal(min(domain.bools)) if domain.bools else None,
        lambda: "null" if domain.null else None,
    )
    return next((text for maker in makers if (text := maker()) is not None), None)


def _example_number(domain: Domain, type_: Type) -> str | None:
    if not domain.numbers:
        return None
    value = min((_inside(span) for span in domain.numbers), key=lambda found: (abs(found), -found))
    if type_.kind == "duration":
        fits = abs(value) < MAX_SPAN
        return format_duration(int(value) * MICROSECOND) if fits else None
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return write_literal(value.numerator if value.denominator == 1 else exact)


def _inside(span: Span) -> Fraction:
    """Return the simplest number of a span."""
    (low, after_low), (high, after_high) = span
    if (low, after_low) <= (Fraction(0), 0) and (Fraction(0), 1) <= (high, after_high):
        return Fraction(0)
    if isinstance(low, Fraction) and not after_low:
        return low
    if isinstance(high, Fraction) and after_high:
        return high
    if isinstance(low, Fraction):
        whole = Fraction(math.floor(low) + 1)
        if isinstance(high, float) or whole < high:
            return whole
        return (low + high) / 2
    return Fraction(math.ceil(high) - 1) if isinstance(high, Fraction) else Fraction(0)


def _example_text(texts: Texts, type_: Type) -> str | None:
    fits = reader(type_)
    if not texts.all_but:
        return next(
            (write_literal(text) for text in sorted(texts.members) if _reads(fits, text)), None
        )
    tried = ("other", "x", "", *(f"other{n}" for n in range(len(texts.members) + 1)))
    found = (text for text in tried if text not in texts.members and _reads(fits, text))
    return next((write_literal(text) for text in found), None)


def _reads(fits: Callable[[object], object], text: str) -> bool:
    try:
        fits(text)
    except Mismatch:
        return False
    return True
