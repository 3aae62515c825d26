"""Pictures of a contract: Mermaid, Graphviz and SVG, each a pure function to text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.contract.model import Contract

Form = Literal["mermaid", "dot", "svg"]


def draw(
    contract: Contract,
    form: Form,
    *,
    counts: Mapping[str, int] | None = None,
    details: bool = True,
) -> str:
    """Draw a contract in a form, with its live instances per state if they are given."""
    from interlock.diagram.graph import build_graph

    graph = build_graph(contract, counts=counts or {}, details=details)
    match form:
        case "mermaid":
            from interlock.diagram.mermaid import write_mermaid

            return write_mermaid(graph)
        case "dot":
            from interlock.diagram.dot import write_dot

            return write_dot(graph)
        case "svg":
            from interlock.diagram.svg import write_svg

            return write_svg(graph)
        case _:
            assert_never(form)
