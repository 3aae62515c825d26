"""The first half of a layered layout: which way edges point, and the layer of each vertex."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from interlock.diagram.simplex import Span, settle

_EFFORT = 2_000_000
_MOST_DUMMIES = 100_000


class Size(NamedTuple):
    """How far a vertex reaches from where its edges meet it: left, right, and its height."""

    left: float
    right: float
    height: float


class Link(Struct, frozen=True):
    """An edge to be laid out, with the size of its label if it has one."""

    source: int
    target: int
    label: Size = Size(0, 0, 0)


class Mesh(Struct, frozen=True):
    """A graph whose edges all go down one layer: the vertices of the graph, then dummies.

    A chain is the way of a link from its upper end to its lower one, against its arrow if flipped;
    it is empty if the link is left out because the mesh would be too large.
    """

    sizes: list[Size]
    layers: list[list[int]]
    chains: list[list[int]]
    flipped: list[bool]
    real: int

    def layer_of(self) -> list[int]:
        """Return the number of the layer of each vertex."""
        found = [0] * len(self.sizes)
        for number, layer in enumerate(self.layers):
            for vertex in layer:
                found[vertex] = number
        return found


def build_mesh(sizes: list[Size], links: list[Link], root: int, *, spacing: Size) -> Mesh:
    """Lay vertices in layers, with a layer for labels between each two of them."""
    flipped = break_cycles(len(sizes), links, root)
    ends = [
        (link.target, link.source) if flip else (link.source, link.target)
        for link, flip in zip(links, flipped, strict=True)
    ]
    ranks = rank_vertices(len(sizes), ends)
    layers: list[list[int]] = [[] for _ in range(2 * max(ranks) + 1)]
    for vertex, rank in enumerate(ranks):
        layers[2 * rank].append(vertex)
    longest = _longest_drawn([2 * (ranks[lower] - ranks[upper]) - 1 for upper, lower in ends])
    all_sizes = list(sizes)
    widths = [0.0] * len(layers)
    chains: list[list[int]] = []
    for link, (upper, lower), flip in zip(links, ends, flipped, strict=True):
        between = range(2 * ranks[upper] + 1, 2 * ranks[lower])
        if len(between) > longest:
            chains.append([])
            continue
        at = _label_layer(between, widths, flip=flip)
        widths[at] += link.label.right
        chain = [upper]
        for layer in between:
            chain.append(len(all_sizes))
            layers[layer].append(len(all_sizes))
            all_sizes.append(_widest(link.label, spacing) if layer == at else spacing)
        chains.append([*chain, lower])
    return Mesh(sizes=all_sizes, layers=layers, chains=chains, flipped=flipped, real=len(sizes))


def _longest_drawn(lengths: list[int]) -> int:
    """Return the number of dummies above which a link is left out, to keep the mesh small."""
    total = 0
    for length in sorted(lengths):
        total += length
        if total > _MOST_DUMMIES:
            return length - 1
    return max(lengths, default=0)


def _label_layer(between: range, widths: list[float], *, flip: bool) -> int:
    """Choose the layer of a label: near the source of its edge, unless that is crowded."""
    near = list(between[::2])
    if flip:
        near.reverse()
    choice = near[: max(1, (len(near) + 1) // 2)]
    return min(choice, key=lambda layer: widths[layer] + 60 * abs(layer - choice[0]))


def _widest(one: Size, other: Size) -> Size:
    return Size(*map(max, one, other))


def break_cycles(count: int, links: list[Link], root: int) -> list[bool]:
    """Tell which links to turn around so that no cycle is left, by a walk from the root."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        leaving[link.source].append(number)
    flipped = [False] * len(links)
    state = [0] * count  # 1 while a vertex is on the way, 2 once all behind it is seen
    for start in (root, *range(count)):
        if state[start]:
            continue
        state[start] = 1
        way = [(start, iter(leaving[start]))]
        while way:
            vertex, rest = way[-1]
            for number in rest:
                target = links[number].target
                flipped[number] = state[target] == 1
                if state[target] == 0:
                    state[target] = 1
                    way.append((target, iter(leaving[target])))
                    break
            else:
                state[vertex] = 2
                way.pop()
    return flipped


def rank_vertices(count: int, ends: list[tuple[int, int]]) -> list[int]:
    """Return the layer of each vertex of a connected graph, with edges as short as can be."""
    ranks = _longest_paths(count, ends)
    spans = [Span(upper, lower, 1, 1) for upper, lower in ends]
    settled = settle(spans, ranks, effort=_EFFORT)
    first = min(settled)
    return [rank - first for rank in settled]


def _longest_paths(count: int, ends: list[tuple[int, int]]) -> list[int]:
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for upper, lower in ends:
        below[upper].append(lower)
        waiting[lower] += 1
    ranks = [0] * count
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    while ready:
        vertex = ready.pop()
        for lower in below[vertex]:
            ranks[lower] = max(ranks[lower], ranks[vertex] + 1)
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    return ranks
