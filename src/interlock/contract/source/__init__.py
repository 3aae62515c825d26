"""The text of a contract as a tree that knows where everything stands."""

from __future__ import annotations
