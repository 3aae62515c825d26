"""What a new version of a contract means for those who live with the old one."""

from __future__ import annotations
