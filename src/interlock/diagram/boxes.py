"""What stands in the boxes and labels of a picture, and how large it makes them."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct

from interlock.diagram.graph import ANY_TEXT, Kind, shorten
from interlock.diagram.layers import Size
from interlock.diagram.measure import measure, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.diagram.graph import Edge, Graph, Label, Node

TITLE_SIZE = 15.0
NAME_SIZE = 13.5
DETAIL_SIZE = 11.0
LABEL_SIZE = 11.5
LINE = 15.0  # from one line of a detail or label to the next
HEAD = 34.0  # the height of a box with nothing but a name
LOOP = 30.0  # how far an edge to its own source goes out
ASIDE = 8.0  # from an edge to its label
_LONGEST_NAME = 40
_LONGEST_LINE = 52
_LONGEST_GUARD = 60
_WIDEST_LABEL = 210.0
_MOST_LINES = 9
_MARGIN = 14.0  # around boxes
_PORT = 20.0
_WIDEST_BOX = 240.0

Line = tuple[tuple[str, str], ...]  # pieces of text, each with its class


class Box(Struct, frozen=True, kw_only=True):
    """A node ready to be drawn: its texts and its own width and height."""

    name: str
    kind: Kind | None
    width: float
    height: float
    is_double: bool = False
    details: tuple[str, ...] = ()
    badge: str = ""
    told: tuple[str, ...] = ()
    loop: tuple[Line, ...] = ()
    loop_told: tuple[str, ...] = ()

    def size(self) -> Size:
        """Return the room the box takes, its loop included."""
        half = self.width / 2 + _MARGIN
        if not self.loop:
            return Size(half, half, self.height)
        loop = label_size(self.loop)
        return Size(half, half + LOOP + loop.right, max(self.height, loop.height))


def state_box(node: Node, loop: Edge | None, ways: int) -> Box:
    """Return the box of a state, wide enough for so many edges at its top or its foot."""
    ends = ("ends here",) if node.is_end else ()
    return _box(
        node.name,
        node.details,
        kind=node.kind,
        is_double=node.is_end or node.kind in {"success", "terminal"},
        badge="" if node.count is None else f"{node.count:,}",
        told=(*ends, node.text) if node.text else ends,
        loop=loop,
        least=min(44 + _PORT * (ways - 1), _WIDEST_BOX),
    )


def any_box(graph: Graph) -> Box:
    """Return the box that stands for every state that has not ended."""
    return _box(ANY_TEXT, graph.any_details, kind=None)


def _box(
    name: str,
    details: tuple[str, ...],
    *,
    kind: Kind | None,
    is_double: bool = False,
    badge: str = "",
    told: tuple[str, ...] = (),
    loop: Edge | None = None,
    least: float = 0,
) -> Box:
    shown = shorten(name, _LONGEST_NAME)
    lines = _cut(list(dict.fromkeys(shorten(line, _LONGEST_LINE) for line in details)))
    widest = max((measure(line, DETAIL_SIZE) for line in lines), default=0)
    head = measure(shown, NAME_SIZE, bold=True) + (badge_width(badge) + 8 if badge else 0)
    kinds = (name,) if kind is None else (f"{name} ({kind})",)
    return Box(
        name=shown,
        kind=kind,
        width=round(max(head + 32, widest + 24, least, 76)),
        height=HEAD + (len(lines) * LINE + 9 if lines else 0),
        is_double=is_double,
        details=tuple(lines),
        badge=badge,
        told=(*kinds, *told, *details),
        loop=label_lines(loop.labels) if loop else (),
        loop_told=tell_labels(loop.labels) if loop else (),
    )


def badge_width(badge: str) -> float:
    """Return the width of the pill around a count."""
    return max(measure(badge, DETAIL_SIZE, bold=True) + 12, 20)


def label_lines(labels: tuple[Label, ...]) -> tuple[Line, ...]:
    """Return the lines of a label; a guard has lines of its own where it is long."""
    lines: list[Line] = []
    for label in labels:
        guard = f"[{shorten(label.guard, _LONGEST_GUARD)}]" if label.guard else ""
        event = shorten(label.event, _LONGEST_NAME)
        aside = " ".join(part for part in (guard, label.after) if part)
        kind = "aside" if label.event == "always" else "event"
        if measure(f"{event} {aside}", LABEL_SIZE) <= _WIDEST_LABEL:
            lines.append(((kind, event), ("aside", f" {aside}")) if aside else ((kind, event),))
        else:
            lines.append(((kind, event),))
            lines += [(("aside", line),) for line in _wrap_aside(guard, label.after)]
    if len(lines) > _MOST_LINES:
        rest = len(lines) - _MOST_LINES + 1
        lines[_MOST_LINES - 1 :] = [(("aside", f"and {rest} more"),)]
    return tuple(lines)


def _wrap_aside(guard: str, after: str) -> Iterator[str]:
    """Break a guard before its `and` and `or` if that will do, else anywhere."""
    whole = f"{guard} {after}".strip()
    pieces = [*re.split(r" (?=and |or )", guard), after]
    width = _WIDEST_LABEL
    if any(measure(piece, LABEL_SIZE) > width for piece in pieces):
        pieces = whole.split(" ")
        across = measure(whole, LABEL_SIZE)
        width = across / ceil(across / width) + 36
    return wrap([piece for piece in pieces if piece], width, LABEL_SIZE)


def tell_labels(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return the whole text of each label."""
    return tuple(
        " ".join(
            part
            for part in (label.event, f"[{label.guard}]" if label.guard else "", label.after)
            if part
        )
        for label in labels
    )


def label_size(lines: tuple[Line, ...]) -> Size:
    """Return the room a label takes, as seen from its edge."""
    widest = max(sum(measure(text, LABEL_SIZE) for _, text in line) for line in lines)
    return Size(8, ASIDE + round(widest) + 10, len(lines) * LINE + 4)


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    rest = len(lines) - _MOST_LINES + 1
    return [*lines[: _MOST_LINES - 1], f"and {rest} more"]
