"""The order of the vertices in each layer: few edges cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.diagram.layers import Mesh

Neighbours = list[list[int]]
_EFFORT = 1_500_000
_MOST_SWEEPS = 24
_SMALL = 1_500  # vertices, up to which neighbours are also swapped one by one


def order_layers(mesh: Mesh) -> list[list[int]]:
    """Return the layers with their vertices in an order found by sweeps of barycentres."""
    above, below = _neighbours(mesh)
    size = len(mesh.sizes)
    sweeps = min(_MOST_SWEEPS, max(2, _EFFORT // (8 * size)))
    best: list[list[int]] = mesh.layers
    least = _crossings(best, below, size)
    for start in _starts(mesh, above, below):
        layers = start
        for sweep in range(sweeps):
            if not least:
                break
            down = sweep % 2 == 0
            _sweep(layers, above if down else below, size, down=down, lean=sweep % 4 > 1)
            if size <= _SMALL:
                _swap_neighbours(layers, above, below, size)
            crossings = _crossings(layers, below, size)
            if crossings < least:
                best, least = [list(layer) for layer in layers], crossings
    return best


def _neighbours(mesh: Mesh) -> tuple[Neighbours, Neighbours]:
    above: Neighbours = [[] for _ in mesh.sizes]
    below: Neighbours = [[] for _ in mesh.sizes]
    for chain in mesh.chains:
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
    return above, below


def _starts(mesh: Mesh, above: Neighbours, below: Neighbours) -> list[list[list[int]]]:
    """Return the layers in the order of a walk down from the top, and of one up from the foot."""
    layer_of = mesh.layer_of()
    starts: list[list[list[int]]] = []
    for beside, tops in ((below, mesh.layers), (above, mesh.layers[::-1])):
        seen = [False] * len(mesh.sizes)
        layers: list[list[int]] = [[] for _ in mesh.layers]
        stack = [vertex for layer in reversed(tops) for vertex in reversed(layer)]
        while stack:
            vertex = stack.pop()
            if not seen[vertex]:
                seen[vertex] = True
                layers[layer_of[vertex]].append(vertex)
                stack.extend(reversed(beside[vertex]))
        starts.append(layers)
    return starts


def _places(layers: list[list[int]], size: int) -> list[int]:
    places = [0] * size
    for layer in layers:
        for place, vertex in enumerate(layer):
            places[vertex] = place
    return places


def _sweep(
    layers: list[list[int]], beside: Neighbours, size: int, *, down: bool, lean: bool
) -> None:
    """Sort each layer by the mean place of its vertices' neighbours in the layer before."""
    places = [0] * size
    rows = range(len(layers)) if down else range(len(layers) - 1, -1, -1)
    for number in rows:
        layer = layers[number][::-1] if lean else layers[number]
        wanted: dict[int, float] = {}
        for place, vertex in enumerate(layers[number]):
            near = beside[vertex]
            wanted[vertex] = sum(places[v] for v in near) / len(near) if near else place
        layers[number] = sorted(layer, key=wanted.__getitem__)
        for place, vertex in enumerate(layers[number]):
            places[vertex] = place


def _crossings(layers: list[list[int]], below: Neighbours, size: int) -> int:
    places = _places(layers, size)
    total = 0
    for layer in layers:
        seen: list[int] = []
        for vertex in layer:
            ends = sorted(places[lower] for lower in below[vertex])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _swap_neighbours(
    layers: list[list[int]], above: Neighbours, below: Neighbours, size: int
) -> None:
    """Swap vertices that stand side by side wherever that uncrosses edges."""
    places = _places(layers, size)
    for layer in layers:
        for place in range(len(layer) - 1):
            left, right = layer[place], layer[place + 1]
            now = then = 0
            for beside in (above, below):
                ends = [places[v] for v in beside[left]]
                others = [places[v] for v in beside[right]]
                now += sum(end > other for end in ends for other in others)
                then += sum(end < other for end in ends for other in others)
            if then < now:
                layer[place], layer[place + 1] = right, left
                places[left], places[right] = place + 1, place
