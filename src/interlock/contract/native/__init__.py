"""The native form: reading it, writing it, and its schema."""

from __future__ import annotations
