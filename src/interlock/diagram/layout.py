"""Where everything in a picture stands: boxes, ways of edges, places of labels."""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

from interlock.diagram.across import place_across, place_ports
from interlock.diagram.layers import Link, Size, build_mesh
from interlock.diagram.order import order_layers
from interlock.diagram.ways import Point, Route, lead_ways

DUMMY = Size(12, 12, 0)
_APART = 40.0  # between two parts that nothing connects
_SHAPE = 1.3  # how much wider than high many parts are packed


class Layout(Struct, frozen=True):
    """The middle of each vertex, the way of each link, and the size of it all."""

    middles: tuple[Point, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(sizes: list[Size], links: list[Link], root: int) -> Layout:
    """Place vertices and links; parts that nothing connects stand side by side.

    A link from a vertex to itself is not to be among them: it is part of its vertex's size.
    """
    parts = _parts(len(sizes), links, root)
    done = [_lay_out_part(sizes, links, part, root) for part in parts]
    middles: list[Point] = [(0, 0)] * len(sizes)
    routes: list[Route] = [Route((), (0, 0))] * len(links)
    corners = _pack([(layout.width, layout.height) for layout in done])
    width = height = 0.0
    for (vertices, numbers), layout, (x, y) in zip(parts, done, corners, strict=True):
        for vertex, (mx, my) in zip(vertices, layout.middles, strict=True):
            middles[vertex] = (mx + x, my + y)
        for number, route in zip(numbers, layout.routes, strict=True):
            points = tuple((px + x, py + y) for px, py in route.points)
            routes[number] = Route(points, (route.label[0] + x, route.label[1] + y))
        width, height = max(width, x + layout.width), max(height, y + layout.height)
    return Layout(tuple(middles), tuple(routes), width, height)


def _parts(count: int, links: list[Link], root: int) -> list[tuple[list[int], list[int]]]:
    """Return the vertices and links of each connected part, that of the root first."""
    touching: list[list[int]] = [[] for _ in range(count)]
    for link in links:
        touching[link.source].append(link.target)
        touching[link.target].append(link.source)
    part_of = [-1] * count
    parts: list[tuple[list[int], list[int]]] = []
    for start in (root, *range(count)):
        if part_of[start] >= 0:
            continue
        vertices: list[int] = []
        stack = [start]
        part_of[start] = len(parts)
        while stack:
            vertex = stack.pop()
            vertices.append(vertex)
            for other in touching[vertex]:
                if part_of[other] < 0:
                    part_of[other] = len(parts)
                    stack.append(other)
        parts.append((sorted(vertices), []))
    for number, link in enumerate(links):
        parts[part_of[link.source]][1].append(number)
    return parts


def _pack(sizes: list[tuple[float, float]]) -> list[Point]:
    """Stack parts in columns, none much higher than the first part or a square of them all."""
    area = sum((width + _APART) * (height + _APART) for width, height in sizes)
    limit = max(sizes[0][1], sqrt(area / _SHAPE))
    corners: list[Point] = []
    left = top = column = 0.0
    for width, height in sizes:
        if top and top + height > limit:
            left, top, column = left + column + _APART, 0.0, 0.0
        corners.append((left, top))
        top += height + _APART
        column = max(column, width)
    return corners


def _lay_out_part(
    sizes: list[Size], links: list[Link], part: tuple[list[int], list[int]], root: int
) -> Layout:
    vertices, numbers = part
    local = {vertex: number for number, vertex in enumerate(vertices)}
    own = [Link(local[links[n].source], local[links[n].target], links[n].label) for n in numbers]
    mesh = build_mesh([sizes[v] for v in vertices], own, local.get(root, 0), spacing=DUMMY)
    layers = order_layers(mesh)
    ports = place_ports(mesh, layers)
    xs = place_across(mesh, layers, ports)
    routes, rows = lead_ways(mesh, layers, xs, ports)
    layer_of = mesh.layer_of()
    middles = tuple((xs[v], sum(rows.bands[layer_of[v]]) / 2) for v in range(mesh.real))
    width = max(x + size.right for x, size in zip(xs, mesh.sizes, strict=True))
    return Layout(middles, tuple(routes), width, rows.bands[-1][1])
