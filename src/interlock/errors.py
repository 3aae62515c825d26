"""Every exception Interlock raises, and how each is told to the outside.

InterlockError
├── ContractError     a contract that cannot be used; carries its problems
├── NotFound          a thing asked for by name is not there
├── Conflict          the request and the stored state cannot both hold
├── Unavailable       a store or service did not answer in time; safe to repeat
├── HandlerError      a user's handler broke its promise
└── SettingsError     a setting that cannot be used
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.contract.problem import Problem


class InterlockError(Exception):
    """The root of every exception that Interlock raises on purpose."""


class ContractError(InterlockError):
    """A contract that cannot be used; `problems` says everything that is wrong with it."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        """Keep the problems beside the message."""
        super().__init__(message)
        self.problems = tuple(problems)


class NotFound(InterlockError):
    """A thing asked for by name is not there."""


class Conflict(InterlockError):
    """The request and the stored state cannot both hold."""


class Unavailable(InterlockError):
    """A store or a service did not answer in time; the same request is safe to repeat."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Say when to try again, where that is known."""
        super().__init__(message)
        self.retry_after = retry_after


class HandlerError(InterlockError):
    """A user's handler broke its promise."""


class SettingsError(InterlockError):
    """A setting that cannot be used."""


class Told(NamedTuple):
    """How an exception is told to the outside."""

    http_status: int
    exit_code: int
    retry: bool


TOLD: dict[type[Exception], Told] = {
    InterlockError: Told(500, 1, retry=False),
    ContractError: Told(422, 1, retry=False),
    NotFound: Told(404, 3, retry=False),
    Conflict: Told(409, 4, retry=False),
    Unavailable: Told(503, 5, retry=True),
    HandlerError: Told(500, 6, retry=False),
    SettingsError: Told(400, 2, retry=False),
}
