"""A contract as a Graphviz digraph."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from interlock.diagram.graph import ANY_ID, ANY_TEXT, shorten, write_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlock.diagram.graph import Edge, Graph, Node

_LONGEST = 60
_COLOURS = {
    "initial": ("#e7f0fd", "#3d7fd9"),
    "operational": ("#f3f5f8", "#8793a3"),
    "snapshot": ("#f0ebfc", "#7d5cc0"),
    "success": ("#e4f5e9", "#2f9a55"),
    "error": ("#fdeaea", "#d0504f"),
    "terminal": ("#e6e8ec", "#4d5866"),
    "unknown": ("#fff7e6", "#b7791f"),
}


def write_dot(graph: Graph) -> str:
    """Return the text of a `digraph`."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    yield f"digraph {_quote(graph.name)} {{"
    yield '  graph [rankdir=TB, nodesep=0.4, ranksep=0.5, charset="UTF-8"];'
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=12];'
    yield '  edge [fontname="Helvetica", fontsize=10, color="#66717f", arrowsize=0.7];'
    yield '  "[start]" [shape=circle, style=filled, fillcolor="#4d5866", label="", width=0.16];'
    for node in graph.nodes:
        yield f"  {_quote(node.id)} [{_node(node)}];"
    if graph.has_any:
        label = _text(ANY_TEXT, graph.any_details)
        yield f'  {_quote(ANY_ID)} [label={label}, style="rounded,dashed", color="#8793a3"];'
    yield f'  "[start]" -> {_quote(graph.nodes[graph.initial].id)};'
    for edge in graph.edges:
        yield _edge(graph, edge)
    yield "}"


def _node(node: Node) -> str:
    live = () if node.count is None else (f"{node.count} live",)
    fill, line = _COLOURS[node.kind]
    look = f'label={_text(node.name, (*node.details, *live))}, fillcolor="{fill}", color="{line}"'
    if node.kind == "unknown":
        look += ', style="rounded,filled,dashed"'
    return f"{look}, peripheries=2" if node.is_end else look


def _edge(graph: Graph, edge: Edge) -> str:
    source = ANY_ID if edge.source is None else graph.nodes[edge.source].id
    lines = [write_label(label, longest=_LONGEST) for label in edge.labels]
    dashed = ", style=dashed" if edge.source is None else ""
    target = _quote(graph.nodes[edge.target].id)
    return f"  {_quote(source)} -> {target} [label={_quote(*lines)}{dashed}];"


def _quote(*lines: str) -> str:
    """Write lines as one string; Graphviz reads entities and backslashes in them."""
    escaped = (
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
    return '"' + "\\n".join(escaped) + '"'


def _text(name: str, lines: Sequence[str]) -> str:
    """Write a name with smaller lines under it."""
    if not lines:
        return _quote(name)
    small = "".join(
        f'<BR/><FONT POINT-SIZE="10">{html.escape(shorten(line, _LONGEST))}</FONT>'
        for line in lines
    )
    return f"<<B>{html.escape(name)}</B>{small}>"
