"""The colours of a picture, by day and by night."""

from __future__ import annotations

from interlock.diagram.boxes import DETAIL_SIZE, LABEL_SIZE, NAME_SIZE

# Of each kind: the fill and the line of its boxes by day, then by night.
COLOURS = {
    "initial": ("#e7f0fd", "#3d7fd9", "#14263f", "#5b9bf0"),
    "operational": ("#f3f5f8", "#8793a3", "#20262e", "#7d8896"),
    "snapshot": ("#f0ebfc", "#7d5cc0", "#251d3a", "#a286e0"),
    "success": ("#e4f5e9", "#2f9a55", "#142b1d", "#4cb873"),
    "error": ("#fdeaea", "#d0504f", "#371a1c", "#e5716f"),
    "terminal": ("#e6e8ec", "#4d5866", "#2b3139", "#a3adb9"),
    "unknown": ("#fff7e6", "#b7791f", "#33270f", "#d9a441"),
}
_DAY = {"paper": "#ffffff", "ink": "#16202c", "faint": "#5d6875", "way": "#77828f"}
_NIGHT = {"paper": "#0f1318", "ink": "#e8ecf1", "faint": "#a0abb8", "way": "#8793a1"}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def write_style() -> str:
    """Return the style sheet that a picture carries with it."""
    night = "".join(f"{rule}\n" for rule in _paints(_NIGHT, 2))
    return (
        f".interlock{{font-family:{_FONT}}}\n"
        f".interlock .title{{font-size:15px;font-weight:650}}\n"
        f".interlock .name{{font-size:{NAME_SIZE}px;font-weight:600;text-anchor:middle}}\n"
        f".interlock .detail,.interlock .key{{font-size:{DETAIL_SIZE}px}}\n"
        f".interlock .label{{font-size:{LABEL_SIZE}px}}\n"
        f".interlock .count{{font-size:{DETAIL_SIZE}px;font-weight:600;text-anchor:middle}}\n"
        ".interlock .way{fill:none;stroke-width:1.4}\n"
        ".interlock .box{stroke-width:1.5}\n"
        ".interlock .inner{fill:none;stroke-width:1}\n"
        ".interlock .rule{stroke-width:1;stroke-opacity:.35}\n"
        ".interlock .dashed{stroke-dasharray:5 4}\n"
        + "".join(f"{rule}\n" for rule in _paints(_DAY, 0))
        + f"@media (prefers-color-scheme:dark){{\n{night}}}\n"
    )


def _paints(shades: dict[str, str], at: int) -> list[str]:
    kinds = [
        f".interlock .{kind}{{fill:{colours[at]};stroke:{colours[at + 1]}}}"
        for kind, colours in COLOURS.items()
    ]
    pills = [
        f".interlock .pill-{kind}{{fill:{colours[at + 1]}}}" for kind, colours in COLOURS.items()
    ]
    return [
        f".interlock .paper,.interlock .anywhere{{fill:{shades['paper']}}}",
        f".interlock .title,.interlock .name,.interlock .event{{fill:{shades['ink']}}}",
        f".interlock .detail,.interlock .key,.interlock .aside{{fill:{shades['faint']}}}",
        f".interlock .way,.interlock .anywhere{{stroke:{shades['way']}}}",
        f".interlock .tip,.interlock .start{{fill:{shades['way']}}}",
        *kinds,
        *pills,
        f".interlock .count{{fill:{shades['paper']}}}",
        ".interlock .inner{fill:none}",
        f".interlock .error-way{{stroke:{COLOURS['error'][at + 1]}}}",
        f".interlock .error-tip{{fill:{COLOURS['error'][at + 1]}}}",
    ]
