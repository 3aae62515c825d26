"""The ways of edges: down through the layers, and to the side only between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from interlock.diagram.across import Ports
    from interlock.diagram.layers import Mesh

Point = tuple[float, float]
_PLAIN = 22.0  # between two layers where no edge goes to the side
_TRACK = 10.0  # between two edges that go to the side one under the other
_AT_BOX = 19.0  # from a box to the first of them, with room for the head of an arrow
_AT_LABEL = 11.0
_NEAR = 7.0  # ways nearer than this look like one
_MOST_TRACKS = 12
_MOST_SORTED = 64  # pieces between two layers, up to which each pair is compared


class Route(Struct, frozen=True):
    """The way of an edge from its source to its target, and the left middle of its label."""

    points: tuple[Point, ...]
    label: Point


class Piece(NamedTuple):
    """A part of an edge between two layers, from where it comes to where it goes."""

    above: float
    below: float

    def spans(self, x: float) -> bool:
        """Tell whether the piece passes a place on its way to the side."""
        return min(self) - _NEAR < x < max(self) + _NEAR


class Rows(NamedTuple):
    """The top and foot of each layer, and the height at which each bent piece goes sideways."""

    bands: list[tuple[float, float]]
    turns: dict[tuple[int, int], float]


def lead_ways(
    mesh: Mesh, layers: list[list[int]], xs: list[float], ports: Ports
) -> tuple[list[Route], Rows]:
    """Return the way of each link, and the rows that all of it stands in."""
    layer_of = mesh.layer_of()
    stops: list[list[float]] = []
    for number, chain in enumerate(mesh.chains):
        stop = [xs[vertex] for vertex in chain]
        if stop:
            stop[0] += ports.leaving[number]
            stop[-1] += ports.meeting[number]
        stops.append(stop)
    rows = _rows(mesh, layers, layer_of, stops)
    routes = [_route(mesh, number, stops[number], layer_of, rows) for number in range(len(stops))]
    return routes, rows


def _rows(
    mesh: Mesh, layers: list[list[int]], layer_of: list[int], stops: list[list[float]]
) -> Rows:
    gaps: list[dict[tuple[int, int], Piece]] = [{} for _ in layers]
    for number, stop in enumerate(stops):
        for place, piece in enumerate(map(Piece, stop, stop[1:])):
            if piece.above != piece.below:
                gaps[layer_of[mesh.chains[number][place]]][number, place] = piece
    rows = Rows([], {})
    top = 0.0
    for number, layer in enumerate(layers):
        foot = top + max(mesh.sizes[vertex].height for vertex in layer)
        rows.bands.append((top, foot))
        tracks = assign_tracks(list(gaps[number].values()))
        before, after = (_AT_LABEL, _AT_BOX) if number % 2 else (_AT_BOX, _AT_LABEL)
        for key, track in zip(gaps[number], tracks, strict=True):
            rows.turns[key] = foot + before + track * _TRACK
        top = foot + (before + max(tracks) * _TRACK + after if tracks else _PLAIN)
    return rows


def assign_tracks(pieces: list[Piece]) -> list[int]:
    """Return how far down each piece goes to the side, so that they cross seldom."""
    if len(pieces) > _MOST_SORTED:
        return [number % _MOST_TRACKS for number in range(len(pieces))]
    over: list[set[int]] = [set() for _ in pieces]
    beside: list[set[int]] = [set() for _ in pieces]
    for one, piece in enumerate(pieces):
        for two in range(one):
            first, second = _cost(piece, pieces[two]), _cost(pieces[two], piece)
            if not first and not second:
                continue
            beside[one].add(two)
            beside[two].add(one)
            if first < second:
                over[two].add(one)
            elif second < first:
                over[one].add(two)
    tracks = [-1] * len(pieces)
    left = list(range(len(pieces)))
    while left:
        number = min(left, key=lambda n: (sum(tracks[o] < 0 for o in over[n]), n))
        left.remove(number)
        tracks[number] = 1 + max((tracks[other] for other in beside[number]), default=-1)
    return tracks


def _cost(upper: Piece, lower: Piece) -> int:
    """Return how bad it is to lead one piece to the side above another."""
    crossings = upper.spans(lower.above) + lower.spans(upper.below)
    one_line = abs(upper.below - lower.above) < _NEAR
    return crossings + (8 if one_line else 0)


def _route(mesh: Mesh, number: int, stop: list[float], layer_of: list[int], rows: Rows) -> Route:
    chain = mesh.chains[number]
    points: list[Point] = []
    label = (0.0, 0.0)
    for place, vertex in enumerate(chain):
        top, foot = rows.bands[layer_of[vertex]]
        middle, x = (top + foot) / 2, stop[place]
        if 0 < place < len(chain) - 1:
            if mesh.sizes[vertex].height:
                label = (x, middle)
        else:
            half = mesh.sizes[vertex].height / 2
            points.append((x, middle + half if place == 0 else middle - half))
        turn = rows.turns.get((number, place))
        if turn is not None:
            points += [(x, turn), (stop[place + 1], turn)]
    if mesh.flipped[number]:
        points.reverse()
    return Route(tuple(points), label)
