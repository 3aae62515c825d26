"""The shortest event sequences that together take every row."""

from __future__ import annotations
