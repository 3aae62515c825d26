"""Data that has been read: contexts that cannot be changed, payloads of their declared types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from msgspec import UNSET, Struct

from interlock.contract.expression.values import Mismatch, is_object, read_json, reader
from interlock.contract.model import Effect

if TYPE_CHECKING:
    from interlock.contract.model import Event, Field

PayloadReader = Callable[[object], Mapping[str, Any]]


def _frozen(*_: object, **__: object) -> NoReturn:
    raise TypeError("this data is read-only: a step returns new data instead")


class Context(dict[str, Any]):
    """Read-only data of an instance or an intent, every value of its declared type."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _frozen
    update = setdefault = pop = popitem = clear = _frozen

    def __hash__(self) -> NoReturn:  # type: ignore[override]  # dict has none
        """Refuse: the values may be lists."""
        raise TypeError("unhashable type: 'Context'")


EMPTY = Context()


class Intent(Struct, frozen=True):
    """A side effect asked for by a step: its name and its payload."""

    name: str
    payload: Context = EMPTY
    effect: Effect | None = None

    def __repr__(self) -> str:
        """Show what is emitted, not where it is declared."""
        return f"Intent({self.name!r}, {dict(self.payload)!r})"


def is_required(field: Field) -> bool:
    """Tell whether a payload must carry a field."""
    return field.default is UNSET


def payload_reader(event: Event | None) -> PayloadReader | None:
    """Return the function that reads an event's payload, or nothing where it has no fields."""
    if event is None or (not event.fields and not event.open):
        return None
    fields = tuple((field.name, reader(field.type), field.default) for field in event.fields)
    known = frozenset(field.name for field in event.fields)
    is_open = event.open

    def read(payload: object) -> Mapping[str, Any]:
        data = as_mapping(payload)
        values: dict[str, Any] = {}
        for name, read_field, default in fields:
            if name in data:
                values[name] = read_named(name, read_field, data[name])
            elif default is UNSET:
                raise Mismatch(f"the payload lacks {name!r}")
            else:
                values[name] = default
        if len(data) > len(values) or not known.issuperset(data):
            for name in data:
                if name not in known:
                    if not is_open:
                        raise Mismatch(f"the payload has an undeclared field {str(name)[:60]!r}")
                    values[name] = read_named(name, read_undeclared(name), data[name])
        return values

    return read


def read_undeclared(name: str) -> Callable[[object], object]:
    """Return the reader of a field that is not declared, whose name comes with the data."""
    if not name.isascii():
        read_json(name)
    return read_json


def as_mapping(payload: object) -> Mapping[str, Any]:
    """Return a payload as an object with text keys; nothing counts as an empty one."""
    if payload is None:
        return EMPTY
    if is_object(payload) and all(type(key) is str for key in payload):
        return cast("Mapping[str, Any]", payload)
    raise Mismatch("expected an object with text keys")


def read_named(name: str, read_field: Callable[[object], object], value: object) -> object:
    """Read a field, telling its name where it does not fit."""
    try:
        return read_field(value)
    except Mismatch as reason:
        raise Mismatch(f"{name}: {reason}") from None
