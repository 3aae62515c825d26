"""Loading a contract for use: read, checked, and refused with all its errors at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.check import check_contract
from interlock.contract.problem import Problem, has_errors
from interlock.contract.read import Read, Source, find_source, read_contract
from interlock.errors import ContractError

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.contract.model import Contract


def load(path_or_text: str | bytes | Path, *, policy: str | bytes | Path | None = None) -> Contract:
    """Return the contract of a file, a text or a bundled name; errors raise `ContractError`."""
    contract, problems, source, _ = examine(path_or_text, policy=policy, warn=False)
    if contract is None or has_errors(problems):
        errors = [found for found in problems if found.severity == "error"]
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        place = f"{source.name}:{first.line}:{first.column}" if first.line else source.name
        raise ContractError(f"{place}: {first.message}{more}", errors)
    return contract


def check(
    path_or_text: str | bytes | Path, *, policy: str | bytes | Path | None = None
) -> list[Problem]:
    """Return every problem of a contract, errors and warnings, in the order of the text."""
    return examine(path_or_text, policy=policy).problems


def examine(
    path_or_text: str | bytes | Path,
    *,
    policy: str | bytes | Path | None = None,
    warn: bool = True,
) -> Read:
    """Read and check a contract, keeping whatever could be read beside the problems."""
    found = find_source(path_or_text)
    beside = None if policy is None else find_source(policy)
    if isinstance(found, Problem):
        return Read(None, [found], Source("", str(path_or_text)[:200]))
    if isinstance(beside, Problem):
        return Read(None, [beside], found)
    contract, problems = read_contract(found, policy=beside)[:2]
    if contract is not None:
        problems = [*problems, *check_contract(contract, warn=warn, faults=problems)]
        if contract.tests and not has_errors(problems):
            from interlock.play import run_tests  # only where there are tests

            problems += run_tests(contract)
    ordered = sorted(problems, key=lambda one: (one.line, one.column))
    return Read(contract, ordered, found, beside)
