"""The pieces of an SVG picture: boxes, ways with their heads and labels, texts."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from interlock.diagram.boxes import ASIDE, DETAIL_SIZE, HEAD, LINE, LOOP, NAME_SIZE, badge_width
from interlock.diagram.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlock.diagram.boxes import Box, Line
    from interlock.diagram.ways import Point

_TIP = 8.0
_CORNER = 9.0
_TURN = 10.0  # the radius of a rounded turn


def write_box(box: Box, middle: Point) -> Iterator[str]:
    """Return the elements of a state's box, its loop among them."""
    x, y = middle[0] - box.width / 2, middle[1] - box.height / 2
    yield "<g>\n" + write_told(box.told)
    look = f"box {box.kind or 'anywhere dashed'}" + (" dashed" if box.kind == "unknown" else "")
    yield write_rect((x, y), box.width, box.height, look=look, corner=_CORNER)
    if box.is_double:
        width, height = box.width - 6, box.height - 6
        yield write_rect(
            (x + 3, y + 3), width, height, look=f"inner {box.kind}", corner=_CORNER - 3
        )
    pill = badge_width(box.badge) if box.badge else 0
    name_x = middle[0] - (pill + 8) / 2 if pill else middle[0]
    yield write_text(box.name, name_x, y + HEAD / 2 + NAME_SIZE * 0.36, "name")
    if pill:
        left = name_x + measure(box.name, NAME_SIZE, bold=True) / 2 + 8
        at = (left, y + HEAD / 2 - 9)
        yield write_rect(at, pill, 18, look=f"pill-{box.kind}", corner=9)
        yield write_text(box.badge, left + pill / 2, y + HEAD / 2 + 4, "count")
    if box.details:
        rule = y + HEAD - 2
        yield (
            f'<path class="rule {box.kind or "anywhere"}" '
            f'd="M{digits(x + 10, rule)}H{digits(x + box.width - 10)}"/>\n'
        )
        for number, line in enumerate(box.details):
            yield write_text(line, x + 13, rule + 5 + LINE * number + DETAIL_SIZE, "detail")
    yield "</g>\n"
    if box.loop:
        yield from _loop(box, middle)


def _loop(box: Box, middle: Point) -> Iterator[str]:
    x, y = middle[0] + box.width / 2, middle[1]
    out = x + LOOP
    yield "<g>\n" + write_told((f"{box.name} → {box.name}", *box.loop_told))
    yield (
        f'<path class="way" d="M{digits(x, y - 9)}C{digits(out, y - 16, out, y + 16)} '
        f'{digits(x + _TIP - 1, y + 9)}"/>\n'
    )
    yield f'<path class="tip" d="M{digits(x, y + 8)}l{digits(_TIP)} -2.4l-1 8z"/>\n'
    yield from write_label(box.loop, (x + LOOP - 6, y))
    yield "</g>\n"


def write_way(points: Sequence[Point], *, look: str, tip: str) -> Iterator[str]:
    """Return a line through points, with a head on its last one and its corners rounded."""
    *before, (x, y) = points
    down = y > points[0][1]
    line = [*before, (x, y - _TIP + 1 if down else y + _TIP - 1)]
    path = [f"M{digits(*line[0])}"]
    for last, corner, following in zip(line, line[1:], line[2:], strict=False):
        reach = min(_TURN, _distance(last, corner) / 2, _distance(corner, following) / 2)
        (ax, ay), (bx, by) = _towards(corner, last, reach), _towards(corner, following, reach)
        path.append(f"L{digits(ax, ay)}Q{digits(*corner, bx, by)}")
    path.append(f"L{digits(*line[-1])}")
    yield f'<path class="way{look}" d="{"".join(path)}"/>\n'
    side = -_TIP if down else _TIP
    yield f'<path class="{tip}" d="M{digits(x, y)}l-4 {digits(side)}h8z"/>\n'


def _distance(one: Point, other: Point) -> float:
    """Return the distance of two points of which one is beside or above the other."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, goal: Point, reach: float) -> Point:
    part = reach / (_distance(start, goal) or 1)
    return start[0] + (goal[0] - start[0]) * part, start[1] + (goal[1] - start[1]) * part


def write_label(lines: tuple[Line, ...], at: Point) -> Iterator[str]:
    """Return the lines of a label to the right of a point."""
    top = at[1] - (len(lines) - 1) * LINE / 2 + 4
    for number, line in enumerate(lines):
        pieces = "".join(f'<tspan class="{kind}">{escape(text)}</tspan>' for kind, text in line)
        x, y = at[0] + ASIDE, top + number * LINE
        look = 'class="label" xml:space="preserve"'
        yield f'<text {look} x="{digits(x)}" y="{digits(y)}">{pieces}</text>\n'


def digits(*values: float) -> str:
    """Return numbers with at most one decimal each."""
    return " ".join(f"{value:.1f}".removesuffix(".0") for value in values)


def write_text(text: str, x: float, y: float, look: str) -> str:
    """Return one line of text."""
    return f'<text class="{look}" x="{digits(x)}" y="{digits(y)}">{escape(text)}</text>\n'


def write_told(lines: Sequence[str]) -> str:
    """Return what is told when a reader points at an element."""
    return f"<title>{escape(chr(10).join(lines))}</title>\n"


def write_rect(at: Point, width: float, height: float, *, look: str, corner: float) -> str:
    """Return a rectangle with round corners."""
    return (
        f'<rect class="{look}" x="{digits(at[0])}" y="{digits(at[1])}" '
        f'width="{digits(width)}" height="{digits(height)}" rx="{digits(corner)}"/>\n'
    )


def escape(text: str) -> str:
    """Return a text as it stands in a document."""
    return html.escape(text, quote=True)
