"""Measuring side by side: the candidates take turns, and each one's best turn counts."""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TURNS = 40
SECONDS = 12.0


class Figure(NamedTuple):
    """A measured number beside the one asked for."""

    name: str
    measured: float
    asked: float
    at_most: bool = True

    @property
    def reached(self) -> bool:
        """Tell whether the figure was reached."""
        return self.measured <= self.asked if self.at_most else self.measured >= self.asked


def best_of(
    candidates: Mapping[str, Callable[[int], object]], *, loops: int, slow: Sequence[str] = ()
) -> dict[str, float]:
    """Return the nanoseconds a call of each candidate takes in its best turn."""
    best = dict.fromkeys(candidates, float("inf"))
    end = time.perf_counter() + SECONDS
    for _ in range(TURNS):
        for name, run in candidates.items():
            count = loops // 20 if name in slow else loops
            gc.collect()
            began = time.perf_counter_ns()
            run(count)
            best[name] = min(best[name], (time.perf_counter_ns() - began) / count)
        if time.perf_counter() > end:
            break
    return best


def show_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns under a title."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        first, *others = row
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  " + "  ".join(cells))


def show_figures(figures: Sequence[Figure]) -> None:
    """Print each figure beside the one asked for."""
    rows = [["figure", "measured", "asked", ""]]
    for figure in figures:
        sign = "<=" if figure.at_most else ">="
        word = "reached" if figure.reached else "MISSED"
        rows.append([figure.name, f"{figure.measured:.2f}", f"{sign} {figure.asked:g}", word])
    show_table("Figures", rows)


def show_json(name: str, data: Mapping[str, object]) -> None:
    """Print everything measured as one line of JSON, with the machine it was measured on."""
    machine = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
    json.dump({"bench": name, "machine": machine, **data}, sys.stdout)
    print()
