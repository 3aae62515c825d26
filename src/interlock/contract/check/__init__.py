"""The checker: everything that is wrong with a contract, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.check.doubt import unsure_states
from interlock.contract.check.expressions import check_expressions
from interlock.contract.check.graph import MAX_EDGES, build_graph
from interlock.contract.check.idle import check_idle
from interlock.contract.check.loops import check_always, check_retries
from interlock.contract.check.names import check_names
from interlock.contract.check.places import placed_rows
from interlock.contract.check.rows import check_rows
from interlock.contract.check.structure import check_ends, check_reach
from interlock.contract.check.waits import check_waits
from interlock.contract.problem import Problem, has_errors, problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.contract.model import Contract


def check_contract(
    contract: Contract, *, warn: bool = True, faults: Sequence[Problem] = ()
) -> list[Problem]:
    """Return every problem of a contract that was read; with `faults` in it, what is certain."""
    if not contract.states:
        return [problem("no_states", "the contract has no states", mark=contract.mark)]
    if len(contract.states) * (len(contract.any) + 1) > MAX_EDGES:
        message = f"more than {MAX_EDGES} rows, counting those of `any` in each state"
        return [problem("too_large", message, mark=contract.mark)]
    rows = placed_rows(contract)
    errors = [fault for fault in faults if fault.severity == "error"]
    untyped = list(check_expressions(contract, rows))
    found = [*check_names(contract, rows, broken=bool(errors)), *untyped]
    found += [one for one in check_idle(contract, rows) if warn or one.severity == "error"]
    untyped += errors
    graph = build_graph(contract, unsure=unsure_states(contract, errors))
    found += check_reach(contract, graph, warn=warn)
    found += check_always(contract, graph, warn=warn)
    found += check_ends(contract, rows, graph)
    found += check_rows(contract, rows, graph, faulty={one.where for one in untyped}, warn=warn)
    if warn and not has_errors(found):
        found += [*check_retries(contract, graph), *check_waits(contract, rows, graph)]
    return found
