"""The checker: everything that is wrong with a contract, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.contract.check.expressions import check_expressions
from interlock.contract.check.graph import MAX_EDGES, Graph, build_graph
from interlock.contract.check.loops import check_always, check_retries
from interlock.contract.check.names import check_names
from interlock.contract.check.places import Placed, placed_rows
from interlock.contract.check.rows import check_rows
from interlock.contract.check.structure import check_ends, check_reach
from interlock.contract.check.waits import check_waits
from interlock.contract.problem import Problem, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlock.contract.model import Contract


# Where reading may find fault without losing a row or its target.
_BESIDE_ROWS = ("context", "events", "codes", "counters", "params", "tests", "migrate", "policy")
_WITHIN_ROWS = (".when", ".set", ".with", ".note")
_KEEPING = {"kind_mismatch", "unsupported_setting", "unknown_event", "unknown_state"}


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
    if not all(map(_keeps_rows, errors)):
        return found
    untyped += errors
    graph = build_graph(contract)
    if graph is not None:
        found += check_reach(contract, graph, warn=warn)
        found += check_always(contract, graph, warn=warn)
    found += check_ends(contract, rows, graph)
    found += check_rows(contract, rows, graph, faulty={one.where for one in untyped}, warn=warn)
    if warn:
        found += _check_more(contract, rows, graph)
    return found


def _keeps_rows(fault: Problem) -> bool:
    """Tell whether a fault of reading left every row and its target in the contract."""
    place = fault.where.partition(".")[0].partition("[")[0]
    inside = any(part in fault.where for part in _WITHIN_ROWS)
    return place in _BESIDE_ROWS or inside or fault.code in _KEEPING


def _check_more(
    contract: Contract, rows: tuple[Placed, ...], graph: Graph | None
) -> Iterator[Problem]:
    """Report what only warnings are made of."""
    if graph is None:
        return
    yield from check_retries(contract, graph)
    yield from check_waits(contract, rows, graph)
