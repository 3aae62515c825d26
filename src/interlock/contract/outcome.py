"""What a step comes to: moved, stayed, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from interlock.contract.data import Context, Intent
from interlock.contract.model import Row


class Moved(Struct, frozen=True, gc=False):
    """The event led to a state, perhaps the same one again, left and entered."""

    state: str
    context: Context
    intents: tuple[Intent, ...] = ()
    trail: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()


class Stayed(Struct, frozen=True, gc=False):
    """The event was answered without leaving the state."""

    state: str
    context: Context
    intents: tuple[Intent, ...] = ()
    trail: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()


class Tried(Struct, frozen=True):
    """A row whose guard did not hold, and the values the guard saw."""

    row: str
    guard: str
    values: dict[str, object]


class Refused(Struct, frozen=True, kw_only=True):
    """The event changed nothing: why, and what was tried."""

    code: str
    message: str
    state: str
    context: Mapping[str, Any]
    tried: tuple[Tried, ...] = ()
