"""The workflow dialect: a definition and its policy."""

from __future__ import annotations
