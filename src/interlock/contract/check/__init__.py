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
    from collections.abc import Iterator

    from interlock.contract.model import Contract


def check_contract(contract: Contract, *, warn: bool = True, broken: bool = False) -> list[Problem]:
    """Return every problem of a contract that was read; of a broken one, only what is certain."""
    if not contract.states:
        return [problem("no_states", "the contract has no states", mark=contract.mark)]
    rows = placed_rows(contract)
    if broken:
        return list(check_names(contract, rows, broken=True))
    found = [*check_names(contract, rows), *check_expressions(contract, rows)]
    graph = build_graph(contract)
    if graph is not None:
        found += check_reach(contract, graph, warn=warn)
        found += check_always(contract, graph, warn=warn)
    found += check_ends(contract, rows, graph)
    found += check_rows(contract, rows, graph, warn=warn)
    if warn:
        found += _check_more(contract, rows, graph)
    return found


def _check_more(
    contract: Contract, rows: tuple[Placed, ...], graph: Graph | None
) -> Iterator[Problem]:
    """Report what only warnings are made of."""
    if graph is None:
        message = f"more than {MAX_EDGES} rows, counting `any` in each state: ways are unchecked"
        yield problem("too_large", message, mark=contract.mark, severity="warning")
        return
    yield from check_retries(contract, graph)
    yield from check_waits(contract, rows, graph)
