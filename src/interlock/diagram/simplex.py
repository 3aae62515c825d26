"""The network simplex method: whole numbers that keep their distances at the least cost."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A demand: the head is at least `length` after the tail, and each further step costs."""

    tail: int
    head: int
    length: int
    weight: int


class _Rooted(NamedTuple):
    """A spanning tree seen from vertex 0: the way up, and each subtree as a range of `order`."""

    order: list[int]
    place: list[int]
    last: list[int]
    parent: list[int]


def settle(spans: list[Span], start: list[int], *, effort: int) -> list[int]:
    """Return the cheapest values found with the effort allowed, from values that are allowed.

    The spans connect all vertices. `effort` bounds the spans looked at in all steps together.
    """
    values = list(start)
    if not spans:
        return values
    tree = _tight_tree(spans, values)
    for _ in range(effort // (len(spans) + len(values))):
        rooted = _root(spans, tree, len(values))
        leaving = _worst(spans, tree, rooted, _slopes(spans, rooted))
        if leaving is None:
            break
        child, raised, edge = leaving
        entering, slack = _nearest(spans, values, rooted, child, raised=raised)
        _shift(values, rooted, child, slack if raised else -slack)
        tree[tree.index(edge)] = entering
    return values


def _tight_tree(spans: list[Span], values: list[int]) -> list[int]:
    """Grow a tree of spans without slack, moving what is in it towards what is nearest."""
    touching: list[list[int]] = [[] for _ in values]
    for number, span in enumerate(spans):
        touching[span.tail].append(number)
        touching[span.head].append(number)
    inside = [True] + [False] * (len(values) - 1)
    members = [0]
    tree: list[int] = []
    fresh = [0]
    while True:
        while fresh:
            vertex = fresh.pop()
            for number in touching[vertex]:
                tail, head, length, _ = spans[number]
                other = head if tail == vertex else tail
                if not inside[other] and values[head] - values[tail] == length:
                    inside[other] = True
                    tree.append(number)
                    fresh.append(other)
                    members.append(other)
        if len(members) == len(values):
            return tree
        vertex, move = _nearest_outside(spans, values, inside)
        for member in members:
            values[member] += move
        fresh.append(vertex)


def _nearest_outside(spans: list[Span], values: list[int], inside: list[bool]) -> tuple[int, int]:
    """Return the vertex that a span joins nearest to one outside, and how far it is to move."""
    vertex = best = -1
    for tail, head, length, _ in spans:
        if inside[tail] != inside[head]:
            slack = values[head] - values[tail] - length
            if vertex < 0 or slack < abs(best):
                vertex, best = (tail, slack) if inside[tail] else (head, -slack)
    return vertex, best


def _root(spans: list[Span], tree: list[int], size: int) -> _Rooted:
    beside: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for number in tree:
        tail, head, _, _ = spans[number]
        beside[tail].append((head, number))
        beside[head].append((tail, number))
    order: list[int] = []
    place = [0] * size
    parent = [-1] * size
    stack = [(0, -1)]
    while stack:
        vertex, number = stack.pop()
        place[vertex] = len(order)
        parent[vertex] = number
        order.append(vertex)
        stack.extend(entry for entry in beside[vertex] if entry[1] != number)
    last = [0] * size
    for vertex in reversed(order):
        last[vertex] = max(last[vertex], place[vertex])
        if parent[vertex] >= 0:
            span = spans[parent[vertex]]
            above = span.head if span.tail == vertex else span.tail
            last[above] = max(last[above], last[vertex])
    return _Rooted(order, place, last, parent)


def _slopes(spans: list[Span], rooted: _Rooted) -> list[int]:
    """Return what raising each subtree by one costs."""
    slopes = [0] * len(rooted.order)
    for tail, head, _, weight in spans:
        slopes[head] += weight
        slopes[tail] -= weight
    for vertex in reversed(rooted.order):
        number = rooted.parent[vertex]
        if number >= 0:
            tail, head, _, _ = spans[number]
            slopes[head if tail == vertex else tail] += slopes[vertex]
    return slopes


def _worst(
    spans: list[Span], tree: list[int], rooted: _Rooted, slopes: list[int]
) -> tuple[int, bool, int] | None:
    """Return the subtree whose move saves most, whether it moves up, and the span it leaves."""
    best, found = 0, None
    for number in tree:
        tail, head, _, _ = spans[number]
        raised = rooted.parent[head] == number
        child = head if raised else tail
        gain = -slopes[child] if raised else slopes[child]
        if gain > best:
            best, found = gain, (child, raised, number)
    return found


def _nearest(
    spans: list[Span], values: list[int], rooted: _Rooted, child: int, *, raised: bool
) -> tuple[int, int]:
    """Return the span that stops a subtree first, and how far it may move until then."""
    place, first, last = rooted.place, rooted.place[child], rooted.last[child]
    found, best = -1, 0
    for number, (tail, head, length, _) in enumerate(spans):
        tail_in = first <= place[tail] <= last
        if tail_in == raised and tail_in != (first <= place[head] <= last):
            slack = values[head] - values[tail] - length
            if found < 0 or slack < best:
                found, best = number, slack
    return found, best


def _shift(values: list[int], rooted: _Rooted, child: int, by: int) -> None:
    for place in range(rooted.place[child], rooted.last[child] + 1):
        values[rooted.order[place]] += by
