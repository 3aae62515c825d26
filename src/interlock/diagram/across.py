"""The second half of a layered layout: where each vertex stands in its layer."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from interlock.diagram.simplex import Span, settle

if TYPE_CHECKING:
    from interlock.diagram.layers import Mesh

_PORT = 24.0  # between two edges that meet a box on the same side
_EFFORT = 4_000_000
_SMALL = 900  # vertices, up to which the best places are searched for
_MOST_SWEEPS = 12
_LEAST_SWEEPS = 4
_SWEPT = 200_000  # vertices in all sweeps together, unless that is fewer than the least
_AT_START, _INSIDE, _AT_END = 2, 200, 3  # how much it matters that an edge is upright there
_SPINE = 16  # and how much more for one between neighbours


class Pull(NamedTuple):
    """A piece of an edge between two layers, and how much it wants to be upright."""

    upper: int
    lower: int
    shift: float  # from the upper vertex to the lower one when the piece is upright
    weight: int


class Ports(NamedTuple):
    """Where each chain leaves its upper end and meets its lower one, from their middles."""

    leaving: list[float]
    meeting: list[float]


def place_ports(mesh: Mesh, layers: list[list[int]]) -> Ports:
    """Spread the ends of edges along the boxes, the first of the short ones in the middle."""
    places = [0] * len(mesh.sizes)
    for layer in layers:
        for place, vertex in enumerate(layer):
            places[vertex] = place
    ports = Ports([0.0] * len(mesh.chains), [0.0] * len(mesh.chains))
    for offsets, end, beside in ((ports.leaving, 0, 1), (ports.meeting, -1, -2)):
        sides: dict[int, list[int]] = {}
        for number, chain in enumerate(mesh.chains):
            if chain:
                sides.setdefault(chain[end], []).append(number)
        for vertex, numbers in sides.items():
            main = min(numbers, key=lambda n: (len(mesh.chains[n]), mesh.flipped[n], n))
            numbers.sort(key=lambda n: places[mesh.chains[n][beside]])
            middle = numbers.index(main)
            room = max(mesh.sizes[vertex].left - 22, 4)
            step = round(min(_PORT, room / max(middle, len(numbers) - 1 - middle, 1)), 1)
            for place, number in enumerate(numbers):
                offsets[number] = (place - middle) * step
    return ports


def place_across(mesh: Mesh, layers: list[list[int]], ports: Ports) -> list[float]:
    """Return the place of each vertex from the left, the least of them near 0."""
    pulls = _pulls(mesh, ports)
    places = _sweep(mesh, layers, pulls)
    if len(mesh.sizes) <= _SMALL:
        places = _settle(mesh, layers, pulls, places)
    else:
        _straighten(mesh, layers, places)
    places = [float(round(place)) for place in places]
    least = min(place - size.left for place, size in zip(places, mesh.sizes, strict=True))
    return [place - least for place in places]


def _pulls(mesh: Mesh, ports: Ports) -> list[Pull]:
    found: list[Pull] = []
    for number, chain in enumerate(mesh.chains):
        last = len(chain) - 2
        straight = last == 1 and ports.leaving[number] == ports.meeting[number] == 0
        for place, (upper, lower) in enumerate(pairwise(chain)):
            shift = (ports.leaving[number] if place == 0 else 0.0) - (
                ports.meeting[number] if place == last else 0.0
            )
            weight = _INSIDE if 0 < place < last else (_AT_END if place else _AT_START)
            found.append(Pull(upper, lower, shift, weight * (_SPINE if straight else 1)))
    return found


def _least_distances(mesh: Mesh, layer: list[int]) -> list[float]:
    """Return how far each vertex of a layer is from the first one at least."""
    found = [0.0]
    for left, right in pairwise(layer):
        found.append(found[-1] + ceil(mesh.sizes[left].right + mesh.sizes[right].left))
    return found


def _sweep(mesh: Mesh, layers: list[list[int]], pulls: list[Pull]) -> list[float]:
    """Let layer after layer give way to what pulls at its vertices, down and up."""
    above: list[list[tuple[int, float, int]]] = [[] for _ in mesh.sizes]
    below: list[list[tuple[int, float, int]]] = [[] for _ in mesh.sizes]
    for upper, lower, shift, weight in pulls:
        above[lower].append((upper, shift, weight))
        below[upper].append((lower, -shift, weight))
    places = [0.0] * len(mesh.sizes)
    distances = [_least_distances(mesh, layer) for layer in layers]
    for layer, least in zip(layers, distances, strict=True):
        for vertex, place in zip(layer, least, strict=True):
            places[vertex] = place - least[-1] / 2
    rows = list(zip(layers, distances, strict=True))
    sweeps = min(_MOST_SWEEPS, max(_LEAST_SWEEPS, _SWEPT // len(places)))
    for sweep in range(sweeps):
        for layer, least in rows if sweep % 2 == 0 else rows[::-1]:
            wanted: list[float] = []
            weights: list[float] = []
            for vertex in layer:
                near = above[vertex] if sweep % 2 == 0 else below[vertex]
                if sweep >= sweeps - 2:
                    near = above[vertex] + below[vertex]
                total = sum(weight for _, _, weight in near)
                pulled = sum((places[v] + shift) * weight for v, shift, weight in near)
                wanted.append(pulled / total if total else places[vertex])
                weights.append(total or 0.1)
            for vertex, place in zip(layer, _fit(wanted, weights, least), strict=True):
                places[vertex] = place
    return places


def _fit(wanted: list[float], weights: list[float], least: list[float]) -> list[float]:
    """Return the places nearest to those wanted that keep their order and distances."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, vertices
    for want, weight, distance in zip(wanted, weights, least, strict=True):
        mean, total, size = want - distance, weight, 1
        while blocks and blocks[-1][0] >= mean:
            before, heavy, count = blocks.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, size = heavy + total, count + size
        blocks.append((mean, total, size))
    means = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + distance for mean, distance in zip(means, least, strict=True)]


def _straighten(mesh: Mesh, layers: list[list[int]], places: list[float]) -> None:
    """Put each dummy right under the vertex above it in its chain where there is room."""
    before = {lower: upper for c in mesh.chains for upper, lower in pairwise(c[1:-1])}
    for layer in layers:
        least = _least_distances(mesh, layer)
        for place, vertex in enumerate(layer):
            if vertex in before:
                wanted = places[before[vertex]]
                left, right = float("-inf"), float("inf")
                if place:
                    left = places[layer[place - 1]] + least[place] - least[place - 1]
                if place + 1 < len(layer):
                    right = places[layer[place + 1]] - least[place + 1] + least[place]
                if left <= wanted <= right:
                    places[vertex] = wanted


def _settle(
    mesh: Mesh, layers: list[list[int]], pulls: list[Pull], places: list[float]
) -> list[float]:
    """Make as many edges upright as can be, starting from places that are allowed."""
    start = [round(place) for place in places]
    spans: list[Span] = []
    for layer in layers:
        for left, right in pairwise(layer):
            distance = ceil(mesh.sizes[left].right + mesh.sizes[right].left)
            start[right] = max(start[right], start[left] + distance)
            spans.append(Span(left, right, distance, 0))
    for upper, lower, shift, weight in pulls:
        between = len(start)
        turn = round(shift)
        start.append(min(start[upper] + turn, start[lower]))
        spans.append(Span(between, upper, -turn, weight))
        spans.append(Span(between, lower, 0, weight))
    return [float(x) for x in settle(spans, start, effort=_EFFORT)[: len(places)]]
