"""Interlock runs lifecycles: declare one as a contract, move any number of entities through it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.contract.data import Context, Intent
    from interlock.contract.model import Contract
    from interlock.contract.outcome import Moved, Refused, Stayed
    from interlock.contract.problem import Problem
    from interlock.contract.read import bundled
    from interlock.errors import ContractError, InterlockError
    from interlock.loading import check, load
    from interlock.machine import Event, start, step

__version__ = "0.1.0"

_PLACES = {
    "Context": "interlock.contract.data",
    "Contract": "interlock.contract.model",
    "ContractError": "interlock.errors",
    "Event": "interlock.machine",
    "Intent": "interlock.contract.data",
    "InterlockError": "interlock.errors",
    "Moved": "interlock.contract.outcome",
    "Problem": "interlock.contract.problem",
    "Refused": "interlock.contract.outcome",
    "Stayed": "interlock.contract.outcome",
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
