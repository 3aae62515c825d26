"""How wide a text is, near enough: the font is the reader's own and cannot be asked."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hundredths of the font's size, as wide as in the widest of the fonts in common use.
_WIDTHS = {
    sign: width
    for width, signs in {
        28: "'",
        32: " ,.IJijl",
        36: "-/:;\\f|",
        40: "!()[]rt",
        46: '"',
        52: "*_`sz",
        55: "?Lc",
        62: "FPTYaekovxy…",
        64: "$0123456789EKSbdghnpqu{}",
        69: "ABCRVXZ",
        76: "DGHNU",
        80: "&OQw",
        84: "#+<=>M^~",
        97: "%m",
        100: "@W",
    }.items()
    for sign in signs
}
_BOLD = 1.1
_OTHER = 72


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in a font of a size."""
    width = sum(map(_width, text)) * size / 100
    return width * _BOLD if bold else width


def _width(sign: str) -> int:
    known = _WIDTHS.get(sign)
    if known is not None:
        return known
    if unicodedata.combining(sign):
        return 0
    return 125 if unicodedata.east_asian_width(sign) in "WF" else _OTHER


def wrap(words: list[str], width: float, size: float) -> Iterator[str]:
    """Join words to lines, none wider than allowed unless it is one word."""
    line = ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if line and measure(longer, size) > width:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line
