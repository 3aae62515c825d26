"""What a fault found in reading leaves uncertain: states that may have lost a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.keys import STATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.contract.model import Contract
    from interlock.contract.problem import Problem

# Parts of the contract, and of a row, that lead nowhere.
_ELSEWHERE = ("context", "events", "codes", "counters", "params", "tests", "migrate", "policy")
_WITHIN_ROWS = (".when", ".set", ".with", ".note", ".do")
_LEADING = {"to", "else", "any", "states", "initial", "on", "always", "after", "end", "begins"}
_WHOLE = {"kind_mismatch", "unsupported_setting", "unknown_event", "unknown_state"}


def unsure_states(contract: Contract, faults: Sequence[Problem]) -> set[str]:
    """Return the states whose ways out may not all have been read."""
    unsure: set[str] = set()
    for fault in faults:
        if _loses_nothing(fault):
            continue
        name = next((name for name in contract.states if _is_in(fault.where, name)), None)
        unsure |= set(contract.states) if name is None else {name}
    return unsure


def _is_in(where: str, state: str) -> bool:
    place = f"states.{state}"
    return where == place or where.startswith((f"{place}.", f"{place}["))


def _loses_nothing(fault: Problem) -> bool:
    place = fault.where.partition(".")[0].partition("[")[0]
    if place in _ELSEWHERE or fault.code in _WHOLE:
        return True
    if any(part in fault.where for part in _WITHIN_ROWS):
        return True
    if fault.code == "unknown_key" and fault.hint.startswith("did you mean"):
        return not any(f"'{word}'" in fault.hint for word in _LEADING)
    key = fault.where.split(".")[2:3]
    if place == "states" and key and key[0] in STATE:
        return key[0] not in _LEADING
    return place in {"contract", "version", "text", "kind"}
