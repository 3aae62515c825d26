"""A contract as a Mermaid state diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.diagram.graph import ANY_ID, ANY_TEXT, KINDS, shorten, write_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.diagram.graph import Edge, Graph, Node

_LONGEST = 60
_SAFE = frozenset(" _-.,()[]=+*/!?'|@")
_STYLES = {
    "initial": "fill:#e7f0fd,stroke:#3d7fd9,color:#16202c",
    "operational": "fill:#f3f5f8,stroke:#8793a3,color:#16202c",
    "snapshot": "fill:#f0ebfc,stroke:#7d5cc0,color:#16202c",
    "success": "fill:#e4f5e9,stroke:#2f9a55,color:#16202c",
    "error": "fill:#fdeaea,stroke:#d0504f,color:#16202c",
    "terminal": "fill:#e6e8ec,stroke:#4d5866,color:#16202c",
    "unknown": "fill:#fff7e6,stroke:#b7791f,color:#16202c,stroke-dasharray:4 3",
    "anywhere": "fill:#ffffff,stroke:#8793a3,color:#16202c,stroke-dasharray:4 3",
}


def write_mermaid(graph: Graph) -> str:
    """Return the text of a `stateDiagram-v2`."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    yield "stateDiagram-v2"
    for node in graph.nodes:
        yield from _node(node)
    if graph.has_any:
        yield f'    state "{ANY_TEXT}" as {ANY_ID}'
        yield from (f"    {ANY_ID} : {_escape(line)}" for line in graph.any_details)
    yield f"    [*] --> {graph.nodes[graph.initial].id}"
    for edge in graph.edges:
        yield _edge(graph, edge)
    for node in graph.nodes:
        if node.is_end:
            yield f"    {node.id} --> [*]"
    yield from _classes(graph)


def _node(node: Node) -> Iterator[str]:
    # A state with descriptions shows the first of them as its title, and not its id.
    lone = not node.details and node.count is None and node.id == node.name
    yield f"    {node.id}" if lone else f'    state "{_escape(node.name)}" as {node.id}'
    yield from (f"    {node.id} : {_escape(shorten(line, _LONGEST))}" for line in node.details)
    if node.count is not None:
        yield f"    {node.id} : {node.count} live"


def _edge(graph: Graph, edge: Edge) -> str:
    source = ANY_ID if edge.source is None else graph.nodes[edge.source].id
    label = "<br/>".join(_escape(write_label(one, longest=_LONGEST)) for one in edge.labels)
    return f"    {source} --> {graph.nodes[edge.target].id} : {label}"


def _classes(graph: Graph) -> Iterator[str]:
    for kind in KINDS:
        ids = [node.id for node in graph.nodes if node.kind == kind]
        if ids:
            yield f"    classDef {kind} {_STYLES[kind]}"
            yield f"    class {','.join(ids)} {kind}"
    if graph.has_any:
        yield f"    classDef anywhere {_STYLES['anywhere']}"
        yield f"    class {ANY_ID} anywhere"


def _escape(text: str) -> str:
    """Write every sign that Mermaid could take for its own by its number."""
    return "".join(s if s.isalnum() or s in _SAFE or s == "…" else f"#{ord(s)};" for s in text)
