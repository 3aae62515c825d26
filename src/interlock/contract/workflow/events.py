"""Reading the events of a workflow definition: of their own list, or as transitions name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from interlock.contract.model import Event
from interlock.contract.reading import Reading
from interlock.contract.source.node import Node
from interlock.contract.workflow.terms import EVENT, TRANSITION, Lexicon, fold, need, read_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.contract.problem import Mark


def read_events(top: Mapping[str, Node], reading: Reading) -> tuple[dict[str, Event], Lexicon]:
    """Return the events of a definition and the names and codes by which they may be meant."""
    source = top.get("events")
    if source is None:
        return _gather(_events_of_transitions(top.get("transitions")), reading, repeats=True)
    if isinstance(source.value, dict):
        given = [
            _read_event(name, code, source.keys.get(name, code.mark), reading)
            for name, code in source.value.items()
        ]
        return _gather(given, reading)
    items = enumerate(reading.items(source, "events"))
    found = (_read_listed_event(item, f"events[{index}]", reading) for index, item in items)
    return _gather((event for event in found if event is not None), reading)


def _gather(
    given: Iterable[Event], reading: Reading, *, repeats: bool = False
) -> tuple[dict[str, Event], Lexicon]:
    """Index events by name and code; no two may share either, but transitions repeat theirs."""
    events: dict[str, Event] = {}
    names: dict[str, str] = {}
    codes: dict[int, str] = {}
    for event in given:
        by_name = names.get(fold(event.name))
        by_code = None if event.code is None else codes.get(event.code)
        if by_name is None and by_code is None:
            events[event.name] = event
            names[fold(event.name)] = event.name
            if event.code is not None:
                codes[event.code] = event.name
        elif not repeats or (event.code is not None and by_name != by_code):
            told = f"the event {event.name!r} stands twice"
            if by_name is None:
                told = f"the events {by_code!r} and {event.name!r} have the same code {event.code}"
            reading.report("duplicate_name", told, at=event.mark, where=f"events.{event.name}")
    return events, Lexicon("", "", names, codes, {})


def _read_listed_event(node: Node, where: str, reading: Reading) -> Event | None:
    if not isinstance(node.value, dict):
        name = reading.name(node, where)
        if name is not None and type(node.value) is int:
            return _read_event(_name_of(node.value), node, node.mark, reading)
        return None if name is None else _read_event(name, None, node.mark, reading)
    entries = read_terms(node, EVENT, reading, where)
    code = entries.get("code")
    name = reading.name(entries.get("name", entries.get("display_name")), where)
    if name is None and code is not None and type(code.value) is int:
        name = _name_of(code.value)
    if name is None:
        need(entries, "name", node, reading, where)
        return None
    text = reading.text(entries.get("display_name"), where)
    event = _read_event(name, code, node.mark, reading)
    return replace(event, text=reading.text(entries.get("description"), where, text))


def _read_event(name: str, code: Node | None, mark: Mark, reading: Reading) -> Event:
    number: int | None = None
    match code:
        case None | Node(value=None):
            pass
        case Node(value=int() as value) if type(value) is int and value >= 0:
            number = value
        case _:
            reading.wrong(code, "a code: a whole number that is not negative", f"events.{name}")
    return Event(name=name, open=True, code=number, mark=mark)


def _name_of(code: int) -> str:
    return f"event_{code}"


def _events_of_transitions(node: Node | None) -> list[Event]:
    """Return the events that transitions name; their faults are told with the transitions."""
    aside = Reading()
    found: list[Event] = []
    for item in aside.items(node, ""):
        entries = read_terms(item, TRANSITION, aside, "")
        given = [entries[key] for key in ("event", "event_code", "event_name") if key in entries]
        code = next((each.value for each in given if type(each.value) is int), None)
        texts = (aside.name(each, "") for each in given if isinstance(each.value, str))
        name = next((text for text in texts if text), None)
        if name is not None or code is not None:
            called = name or _name_of(code or 0)
            found.append(Event(name=called, open=True, code=code, mark=given[0].mark))
    return _agree(found)


def _agree(events: list[Event]) -> list[Event]:
    """Let all mentions of a code have the first name that is given to it, and the reverse."""
    named = [event for event in events if event.code is not None and not _is_unnamed(event)]
    names = {event.code: event.name for event in reversed(named)}
    codes = {event.name: event.code for event in reversed(named)}
    return [
        replace(event, code=codes.get(event.name))
        if event.code is None
        else replace(event, name=names.get(event.code, event.name))
        for event in events
    ]


def _is_unnamed(event: Event) -> bool:
    return event.code is not None and event.name == _name_of(event.code)
