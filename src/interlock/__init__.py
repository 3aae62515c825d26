"""Interlock runs lifecycles: declare one as a contract, move any number of entities through it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.contract.data import Context
    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem
    from interlock.contract.read import bundled
    from interlock.contract.tables import Intent
    from interlock.errors import ContractError, InterlockError
    from interlock.loading import check, load
    from interlock.machine import Event, Moved, Refused, Stayed, start, step

__version__ = "0.1.0"

_PLACES = {
    "Context": "interlock.contract.data",
    "Contract": "interlock.contract.model",
    "ContractError": "interlock.errors",
    "Event": "interlock.machine",
    "Intent": "interlock.contract.tables",
    "InterlockError": "interlock.errors",
    "Moved": "interlock.machine",
    "Problem": "interlock.contract.problem",
    "Refused": "interlock.machine",
    "Stayed": "interlock.machine",
    "bundled": "interlock.contract.read",
    "check": "interlock.loading",
    "load": "interlock.loading",
    "start": "interlock.machine",
    "step": "interlock.machine",
}

__all__ = [
    "Context",
    "Contract",
    "ContractError",
    "Event",
    "Intent",
    "InterlockError",
    "Moved",
    "Problem",
    "Refused",
    "Stayed",
    "bundled",
    "check",
    "load",
    "start",
    "step",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that importing the package is cheap."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    value = getattr(import_module(place), name)
    globals()[name] = value
    return value
