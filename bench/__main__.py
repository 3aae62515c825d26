"""Run every benchmark, or the ones named: `python -m bench step`."""

from __future__ import annotations

import sys
from importlib import import_module

ALL = ("step",)

for name in sys.argv[1:] or ALL:
    import_module(f"bench.{name}").main()
