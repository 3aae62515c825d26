"""Trying a contract in the terminal: events typed in or given, the story they make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from interlock.contract.expression.values import decode_json, write_json
from interlock.contract.model import rows_by_event
from interlock.contract.outcome import Moved, Refused
from interlock.errors import SettingsError
from interlock.machine import step
from interlock.play import begin, outcome_word
from interlock.show import paint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.contract.model import Contract
    from interlock.machine import Outcome

_EVENT = re.compile(r"\s*([^\s={]+)\s*=?\s*(\{.*\})?\s*", re.DOTALL)
HELP = 'Type an event, such as `pay {"amount": 3}`; `?` lists what may happen, `back`, `quit`.'


class Session:
    """One instance being played, with all that happened to it."""

    def __init__(self, contract: Contract, *, state: str | None, context: str | None) -> None:
        """Begin where the contract begins, or in a given state with a given context."""
        self.contract = contract
        begun = begin(contract, state, _object(context) if context else None)
        self.state = begun.state
        self.context: Mapping[str, Any] = begun.context
        self.trouble = begun.message if isinstance(begun, Refused) else ""
        self.trail = list(begun.trail) if isinstance(begun, Moved) else []
        self.intents = list(begun.intents) if isinstance(begun, Moved) else []
        self.outcomes: list[tuple[str, Outcome]] = []

    def play(self, text: str) -> Outcome | None:
        """Play one event written as `name` or `name {payload}`."""
        match = _EVENT.fullmatch(text)
        if match is None:
            return None
        try:
            payload = decode_json(match[2]) if match[2] else None
        except (msgspec.DecodeError, ValueError):
            return None
        outcome = step(self.contract, self.state, self.context, (match[1], payload))
        self.outcomes.append((text.strip(), outcome))
        if not isinstance(outcome, Refused):
            self.state, self.context = outcome.state, outcome.context
            self.trail += outcome.trail
            self.intents += outcome.intents
        return outcome

    def script(self, events: list[str]) -> None:
        """Play events one after another."""
        for event in events if not self.trouble else ():
            if self.play(event) is None:
                self.trouble = f"{event!r} is not an event: write name or name={{payload}}"
                return

    def result(self) -> dict[str, object]:
        """Return what came of it, as data."""
        return {
            "state": self.state,
            "context": dict(self.context),
            "trail": self.trail,
            "outcomes": [outcome_word(outcome) for _, outcome in self.outcomes],
            "intents": [intent.name for intent in self.intents],
        }

    def story(self, *, color: bool) -> str:
        """Return what came of it, as text."""
        lines = [show_outcome(text, outcome, color=color) for text, outcome in self.outcomes]
        lines.append(f"{paint(self.state, 'place', color=color)} {write_json(self.context)}")
        if self.trouble:
            lines.append(paint(self.trouble, "error", color=color))
        return "\n".join(lines)

    def choices(self) -> str:
        """Return the events the current state answers to."""
        state = self.contract.states.get(self.state)
        if state is None:
            return "(no such state)"
        names = rows_by_event(self.contract, state)
        return ", ".join(names) or "(nothing: it has ended)"

    def converse(self) -> None:
        """Read events from the terminal until told to stop."""
        print(HELP)
        past: list[tuple[str, Any]] = []
        while True:
            try:
                line = input(f"{self.state}> ").strip()
            except (EOFError, KeyboardInterrupt):
                return
            match line:
                case "":
                    continue
                case "quit" | "exit" | "q":
                    return
                case "?" | "help":
                    print(f"{self.choices()}\n{write_json(self.context)}")
                case "back" if past:
                    self.state, self.context = past.pop()
                case _:
                    past.append((self.state, self.context))
                    outcome = self.play(line)
                    print(show_outcome(line, outcome, color=True))


def show_outcome(text: str, outcome: Outcome | None, *, color: bool) -> str:
    """Return one played event and what it came to, with the intents it emitted."""
    if outcome is None:
        return paint(f"{text}: not an event; write name or name {{payload}}", "error", color=color)
    if isinstance(outcome, Refused):
        return f"{text}: {paint(outcome.code, 'error', color=color)} {outcome.message}"
    way = " -> ".join(outcome.trail) or f"stays in {outcome.state}"
    lines = [f"{text}: {paint(way, 'good', color=color)}"]
    lines += [f"    {intent.name} {write_json(intent.payload)}" for intent in outcome.intents]
    return "\n".join(lines)


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.convert(decode_json(text), dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError):
        raise SettingsError(f"the context is not a JSON object: {text[:60]}") from None
