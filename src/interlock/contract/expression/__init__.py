"""The language of types, guards, updates and payloads: its text, its tree, its functions."""

from __future__ import annotations
