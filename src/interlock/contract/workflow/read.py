"""Reading a workflow: a definition of states, events and transitions, and its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from interlock.contract.model import Contract, End, Row, State
from interlock.contract.source.node import Node
from interlock.contract.workflow.events import read_events
from interlock.contract.workflow.policy import Part, Policy, read_policy
from interlock.contract.workflow.terms import (
    DEFINITION,
    HEADER,
    POLICY,
    STATE,
    TRANSITION,
    Lexicon,
    find_event,
    find_state,
    fold,
    nearest,
    need,
    note_environment,
    read_terms,
    read_timer,
    spellings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.contract.reading import Reading


_INITIAL, _FINAL, _SYSTEM, _ERROR = 1, 2, 4, 8
_ALL_FLAGS = _INITIAL | _FINAL | _SYSTEM | _ERROR
_POLICY_ONLY = {
    spelling
    for spelling, name in spellings(POLICY).items()
    if name in {"policy_name", "for", "params", "rules", "timeouts"}
}


class _Declared(NamedTuple):
    """A state as declared: whether instances begin there, and its entries for what comes later."""

    state: State
    is_initial: bool
    entries: Mapping[str, Node]
    node: Node


def read_workflow(root: Node, reading: Reading, policy: Node | None = None) -> Contract | None:
    """Read a definition with its policy; problems go to the reading."""
    definition, rules = _find_halves(root, policy, reading)
    if definition is None:
        _refuse_policy_alone(root, rules or root, reading)
        return None
    return _read_definition(definition, rules, reading)


def _find_halves(
    root: Node, beside: Node | None, reading: Reading
) -> tuple[Node | None, Node | None]:
    """Return the definition and the policy, wherever they stand."""
    top = root.value if isinstance(root.value, dict) else {}
    within = top.get("policy")
    head = top.get("definition")
    loose = {key: value for key, value in top.items() if key in _POLICY_ONLY}
    if head is not None and isinstance(head.value, dict) and "states" in head.value:
        for key in top.keys() - {"definition", "policy", "$schema"}:
            reading.unknown_key(key, root.keys.get(key, root.mark), ("definition", "policy"), "")
        definition: Node | None = head
    elif "states" in top or "transitions" in top or (head is not None and not loose):
        rest = {key: value for key, value in top.items() if key not in loose and key != "policy"}
        definition = Node(value=rest, mark=root.mark, keys=root.keys)
        if loose and within is None:
            within = Node(value=loose, mark=next(iter(loose.values())).mark, keys=root.keys)
    else:
        return None, within
    if beside is not None and within is not None:
        told = "the file holds a policy already, and another one is given"
        reading.report("duplicate_name", told, at=within, where="policy", hint="give one of them")
    return definition, within if beside is None else _unwrap(beside)


def _unwrap(policy: Node) -> Node:
    """Return the policy of a file that holds it under `policy`."""
    inner = policy.value.get("policy") if isinstance(policy.value, dict) else None
    return inner if inner is not None and isinstance(inner.value, dict) else policy


def _refuse_policy_alone(root: Node, policy: Node, reading: Reading) -> None:
    """Check the shape of a policy that came without its definition, and say what it lacks."""
    read_policy(policy, reading, None)
    reading.report(
        "no_states",
        "this is a policy, and a policy needs its definition",
        at=root,
        hint="give the definition as the file and this one with --policy",
    )


def _read_definition(root: Node, policy: Node | None, reading: Reading) -> Contract | None:
    top = _read_header(root, reading)
    name = reading.name(top.get("name"), "definition.name")
    if name is None and "name" not in top:
        reading.report("bad_value", "the definition has no name", at=root, hint="name: NAME")
    states = _read_states(top.get("states"), reading)
    if not states:
        if "states" not in top or top["states"].value == []:
            told = "the definition has no states"
            reading.report("no_states", told, at=top.get("states", root))
        return None
    events, lexicon = read_events(top, reading)
    lexicon = replace(
        lexicon,
        name=name or "unnamed",
        version=_read_version(top.get("version"), reading),
        states=_state_names(states),
    )
    _check_categories(top.get("categories"), states, reading)
    said = None if policy is None else read_policy(policy, reading, lexicon)
    rows = _read_transitions(top.get("transitions"), lexicon, reading)
    return Contract(
        name=lexicon.name,
        version=lexicon.version,
        initial=_find_initial(states, top["states"], reading),
        states=_assemble(states, rows, said, lexicon, reading),
        events=events,
        open=True,
        keep_refused_first=True,
        params=said.params if said else (),
        text=reading.text(top.get("description"), "definition.description"),
        policy=said.hash if said else "",
        dialect="workflow",
        mark=root.mark,
    )


def _read_header(root: Node, reading: Reading) -> Mapping[str, Node]:
    """Return a definition's entries, with those of its header if it has one."""
    top = dict(read_terms(root, DEFINITION, reading, "definition"))
    header = top.get("name")
    if header is not None and isinstance(header.value, dict):
        del top["name"]
        top |= read_terms(header, HEADER, reading, "definition")
    if "name" not in top and "display_name" in top:
        top["name"] = top["display_name"]
    note_environment(top, reading, "definition")
    return top


def _read_version(node: Node | None, reading: Reading) -> str:
    version = reading.text(node, "definition.version", "1")
    if all(part.isdecimal() and part.isascii() and len(part) < 10 for part in version.split(".")):
        return version
    if node is not None:
        reading.wrong(node, "a version such as 2 or 1.0.0", "definition.version")
    return "1"


def _read_states(node: Node | None, reading: Reading) -> list[_Declared]:
    found: dict[str, _Declared] = {}
    for index, item in enumerate(reading.items(node, "states")):
        declared = _read_state(item, f"states[{index}]", reading)
        if declared is None:
            continue
        key = fold(declared.state.name)
        if key in found:
            told = f"the state {declared.state.name!r} stands twice"
            first = found[key].state.mark.line
            hint = f"the first is in line {first}; names differ by more than their case"
            reading.report("duplicate_state", told, at=item, where=f"states[{index}]", hint=hint)
        else:
            found[key] = declared
    return list(found.values())


def _read_state(node: Node, where: str, reading: Reading) -> _Declared | None:
    if isinstance(node.value, str):
        node = Node(value={"name": node}, mark=node.mark)
    entries = read_terms(node, STATE, reading, where)
    name = reading.name(entries.get("name", entries.get("display_name")), f"{where}.name")
    if name is None:
        need(entries, "name", node, reading, where)
        return None
    where = f"states.{name}"
    flags = reading.number(entries.get("flags"), f"{where}.flags")
    if flags & ~_ALL_FLAGS:
        reading.wrong(entries["flags"], "bits 1 to 8 (1, 2, 4, 8)", f"{where}.flags")
    is_final = reading.flag(
        entries.get("is_final"), f"{where}.is_final", default=bool(flags & _FINAL)
    )
    category = reading.text(entries.get("category"), f"{where}.category")
    failed = bool(flags & _ERROR) or category.casefold() == "error"
    is_error = reading.flag(entries.get("is_error"), f"{where}.is_error", default=failed)
    end: End = "error" if is_error else "ok"
    shown = reading.text(entries.get("display_name"), f"{where}.display_name")
    state = State(
        name=name,
        end=end if is_final else None,
        category=category,
        text=reading.text(entries.get("description"), f"{where}.description", shown),
        mark=node.mark,
    )
    is_initial = reading.flag(
        entries.get("is_initial"), f"{where}.is_initial", default=bool(flags & _INITIAL)
    )
    return _Declared(state, is_initial, entries, node)


def _find_initial(states: list[_Declared], node: Node, reading: Reading) -> str:
    """Return the one state marked initial; none or several are errors."""
    marked = [declared for declared in states if declared.is_initial]
    if not marked:
        told = "no state is marked as the initial one"
        reading.report("bad_value", told, at=node, where="states", hint='"is_initial": true')
    for other in marked[1:]:
        told = f"{other.state.name!r} is marked initial, but so is {marked[0].state.name!r}"
        where = f"states.{other.state.name}"
        reading.report("bad_value", told, at=other.node, where=where, hint="mark one of them")
    return (marked or states)[0].state.name


def _state_names(states: Iterable[_Declared]) -> dict[str, str]:
    """Return the states by what they are called: by display name where no name says the same."""
    shown: dict[str, str] = {}
    for declared in states:
        display = declared.entries.get("display_name")
        if display is not None and isinstance(display.value, str):
            shown.setdefault(fold(display.value), declared.state.name)
    return shown | {fold(declared.state.name): declared.state.name for declared in states}


def _check_categories(node: Node | None, states: Iterable[_Declared], reading: Reading) -> None:
    """Warn of a state whose category is not among those listed, where they are."""
    if node is None:
        return
    known: list[str] = []
    for item in reading.items(node, "categories"):
        named = item.value.get("name") if isinstance(item.value, dict) else item
        known.append(reading.text(named, "categories"))
    folded = {fold(name) for name in known}
    for declared in states:
        category = declared.state.category
        if category and fold(category) not in folded:
            reading.report(
                "bad_value",
                f"the category {category[:60]!r} is not listed",
                at=declared.entries["category"],
                where=f"states.{declared.state.name}",
                hint=nearest(category, known, reading),
                severity="warning",
            )


def _read_transitions(
    node: Node | None, lexicon: Lexicon, reading: Reading
) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for index, item in enumerate(reading.items(node, "transitions")):
        where = f"transitions[{index}]"
        entries = read_terms(item, TRANSITION, reading, where)
        for key in ("from", "to"):
            need(entries, key, item, reading, where)
        source = find_state(entries.get("from"), lexicon, reading, f"{where}.from")
        target = find_state(entries.get("to"), lexicon, reading, f"{where}.to")
        event = _find_trigger(entries, item, lexicon, reading, where)
        text = reading.text(entries.get("description"), where)
        if source is not None and target is not None and event is not None:
            row = Row(event=event, to=target, text=text, mark=item.mark)
            rows.setdefault(source, []).append(row)
    return rows


def _find_trigger(
    entries: Mapping[str, Node], node: Node, lexicon: Lexicon, reading: Reading, where: str
) -> str | None:
    """Return a transition's event, named in up to three ways that must agree."""
    given = [key for key in ("event", "event_code", "event_name") if key in entries]
    if not given:
        need(entries, "event", node, reading, where)
        return None
    event = find_event(entries[given[0]], lexicon, reading, f"{where}.{given[0]}")
    for key in given[1:]:
        other = entries[key]
        name = lexicon.events.get(fold(str(other.value)))
        if isinstance(other.value, int):
            name = lexicon.codes.get(other.value, name)
        if event is not None and name != event:
            told = f"the event is {event!r}, but {key} is {str(other.value)[:60]!r}"
            reading.report("bad_value", told, at=other, where=where, hint="name it once")
    return event


def _assemble(
    states: Iterable[_Declared],
    rows: Mapping[str, list[Row]],
    policy: Policy | None,
    lexicon: Lexicon,
    reading: Reading,
) -> dict[str, State]:
    """Put the parts of each state together; a policy's time-outs replace the definition's."""
    found: dict[str, State] = {}
    for state, _, entries, node in states:
        where = f"states.{state.name}"
        own = read_timer(entries, node, reading, lexicon, where)
        part = policy.parts.get(state.name, Part()) if policy else Part()
        found[state.name] = replace(
            state,
            rows=tuple(rows.get(state.name, ())),
            timers=part.timers or (() if own is None else (own,)),
            hooks=part.hooks,
            rules=part.rules,
        )
    return found
