"""A contract as an SVG picture that needs nothing but itself."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from interlock.diagram.boxes import (
    DETAIL_SIZE,
    TITLE_SIZE,
    any_box,
    label_lines,
    label_size,
    state_box,
    tell_labels,
)
from interlock.diagram.graph import ANY_TEXT, KINDS, shorten
from interlock.diagram.layers import Link, Size
from interlock.diagram.layout import lay_out
from interlock.diagram.measure import measure
from interlock.diagram.shapes import (
    digits,
    escape,
    write_box,
    write_label,
    write_rect,
    write_text,
    write_told,
    write_way,
)
from interlock.diagram.style import write_style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.diagram.boxes import Box, Line
    from interlock.diagram.graph import Edge, Graph
    from interlock.diagram.layout import Layout

_EDGE = 24.0  # around the whole picture
_TITLE = 44.0  # for the title above
_START = 6.0  # the radius of the mark of the beginning
_KEY = 24.0  # from one line of the legend to the next
_SWATCH = 26.0
_LEAST_WIDTH = 300.0
_LONGEST = 60
_MEANINGS = {"unknown": "not in the contract"}


class Key(NamedTuple):
    """An entry of the legend: what is drawn, what it means, and where."""

    looks: tuple[str, ...]
    text: str
    x: float
    y: float


class Scene(NamedTuple):
    """All that is drawn: a box of each state, and at the end what stands for several."""

    boxes: list[Box]
    ways: list[Edge]
    labels: list[tuple[Line, ...]]
    layout: Layout


def write_svg(graph: Graph) -> str:
    """Return a picture of a graph as a document of its own."""
    scene = _scene(graph)
    title = measure("".join(_title(graph)), TITLE_SIZE, bold=True)
    inner = max(scene.layout.width, _LEAST_WIDTH, title)
    top = _EDGE + _TITLE
    keys = _legend(graph, scene, inner, top + scene.layout.height + 32)
    shift = _EDGE + (inner - scene.layout.width) / 2
    return "".join(
        [
            *_head(graph, inner + 2 * _EDGE, keys[-1].y + _EDGE),
            f'<g transform="translate({digits(shift, top)})">\n',
            *_ways(graph, scene),
            *_boxes(scene),
            "</g>\n",
            *_keys(keys),
            "</svg>\n",
        ]
    )


def _scene(graph: Graph) -> Scene:
    loops = {edge.target: edge for edge in graph.edges if edge.source == edge.target}
    ways = [edge for edge in graph.edges if edge.source != edge.target]
    leaving = Counter(edge.source for edge in ways)
    meeting = Counter(edge.target for edge in ways)
    boxes = [
        state_box(node, loops.get(number), max(leaving[number], meeting[number]))
        for number, node in enumerate(graph.nodes)
    ]
    anywhere = len(boxes)
    if graph.has_any:
        boxes.append(any_box(graph))
    start = len(boxes)
    labels = [label_lines(edge.labels) for edge in ways]
    links = [
        Link(anywhere if edge.source is None else edge.source, edge.target, label_size(label))
        for edge, label in zip(ways, labels, strict=True)
    ]
    sizes = [*(box.size() for box in boxes), Size(24, 24, 2 * _START)]
    layout = lay_out(sizes, [*links, Link(start, graph.initial)], start)
    return Scene(boxes, ways, labels, layout)


def _title(graph: Graph) -> tuple[str, str]:
    return shorten(graph.name, _LONGEST), f" · version {shorten(graph.version, _LONGEST)}"


def _head(graph: Graph, width: float, height: float) -> Iterator[str]:
    digest = hashlib.sha256(repr(graph).encode("utf-8", "replace")).hexdigest()[:8]
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="interlock" '
        f'viewBox="0 0 {digits(width, height)}" '
        f'width="{digits(width)}" height="{digits(height)}" role="img" '
        f'aria-labelledby="title-{digest} desc-{digest}">\n'
    )
    yield f'<title id="title-{digest}">{escape("".join(_title(graph)))}</title>\n'
    yield f'<desc id="desc-{digest}">{escape(_describe(graph))}</desc>\n'
    yield f"<style>\n{write_style()}</style>\n"
    yield f'<rect class="paper" width="{digits(width)}" height="{digits(height)}" rx="8"/>\n'
    x, y = _EDGE, _EDGE + TITLE_SIZE
    name, version = _title(graph)
    yield (
        f'<text x="{digits(x)}" y="{digits(y)}" xml:space="preserve">'
        f'<tspan class="title">{escape(name)}</tspan>'
        f'<tspan class="key">{escape(version)}</tspan></text>\n'
    )


def _describe(graph: Graph) -> str:
    ends = [node.name for node in graph.nodes if node.is_end]
    parts = [
        graph.text,
        f"States: {len(graph.nodes)}, beginning in {graph.nodes[graph.initial].name}",
        f"ending in {', '.join(ends)}" if ends else "without an end",
    ]
    told = [
        f"{_way_name(graph, edge)}: {', '.join(tell_labels(edge.labels))}" for edge in graph.edges
    ]
    return ". ".join(part for part in (*parts, *told) if part) + "."


def _way_name(graph: Graph, edge: Edge) -> str:
    source = ANY_TEXT if edge.source is None else graph.nodes[edge.source].name
    return f"{source} → {graph.nodes[edge.target].name}"


def _ways(graph: Graph, scene: Scene) -> Iterator[str]:
    *routes, first = scene.layout.routes
    drawn = [one for one in zip(scene.ways, scene.labels, routes, strict=True) if one[2].points]
    x, y = scene.layout.middles[-1]
    yield f'<circle class="start" cx="{digits(x)}" cy="{digits(y)}" r="{digits(_START)}"/>\n'
    yield from write_way(first.points, look="", tip="tip")
    for edge, _, route in drawn:
        bad = graph.nodes[edge.target].kind == "error"
        yield "<g>\n" + write_told((_way_name(graph, edge), *tell_labels(edge.labels)))
        look = (" error-way" if bad else "") + (" dashed" if edge.source is None else "")
        yield from write_way(route.points, look=look, tip="error-tip" if bad else "tip")
        yield "</g>\n"
    for _, label, route in drawn:
        yield from write_label(label, route.label)


def _boxes(scene: Scene) -> Iterator[str]:
    for box, middle in zip(scene.boxes, scene.layout.middles, strict=False):
        yield from write_box(box, middle)


def _legend(graph: Graph, scene: Scene, width: float, y: float) -> list[Key]:
    keys: list[Key] = []
    x = 0.0
    for looks, text in _entries(graph, scene):
        room = (_SWATCH if looks else 0) + measure(text, DETAIL_SIZE) + 18
        if x and x + room > width + 18:
            x, y = 0.0, y + _KEY
        keys.append(Key(looks, text, _EDGE + x, y))
        x += room
    return keys


def _entries(graph: Graph, scene: Scene) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return what the legend explains: the swatches, one inside the other, and their meaning."""
    kinds = {node.kind for node in graph.nodes}
    for kind in KINDS:
        if kind in kinds:
            yield (f"box {kind}",), _MEANINGS.get(kind, kind)
    if any(node.is_end for node in graph.nodes):
        yield ("box anywhere", "inner anywhere"), "ends here"
    if graph.has_any:
        yield ("box anywhere dashed",), "any state that has not ended"
    hidden = sum(not route.points for route in scene.layout.routes)
    if hidden:
        yield (), f"{hidden:,} of {len(scene.ways):,} edges are too many to draw"


def _keys(keys: list[Key]) -> Iterator[str]:
    for looks, text, x, y in keys:
        for number, look in enumerate(looks):
            yield _swatch(look, x, y, 2.5 * number)
        yield write_text(text, x + (_SWATCH if looks else 0), y + 4, "key")


def _swatch(look: str, x: float, y: float, inset: float) -> str:
    at = (x + inset, y - 6.5 + inset)
    return write_rect(at, 19 - 2 * inset, 13 - 2 * inset, look=look, corner=4 - inset / 2)
