"""The FSM dialect: states and transitions in lists, three-token guards."""

from __future__ import annotations
