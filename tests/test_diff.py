"""Claims about what a new version means for instances in flight, senders and consumers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

import interlock
from interlock.contract.compare.versions import Change, compare, fits, verdict
from interlock.contract.expression.declare import parse_declaration
from interlock.contract.expression.expr import Compare, Const, Name
from interlock.contract.model import Argument, Effect, Hook, Retry, Row, Rule, Timer, Update
from interlock.contract.read import BUNDLED, Source, bundled, read_contract

if TYPE_CHECKING:
    from interlock.contract.model import Contract

COMPATIBLE, MAP, BREAKING = "compatible", "needs a map", "breaking"


def contract_of(text: str) -> Contract:
    """Return the contract of a text, read but not checked."""
    read = read_contract(Source(text, "test"))
    assert read.contract is not None
    assert read.problems == []
    return read.contract


PARCEL = """\
contract: parcel
version: 1
context: {weight: decimal = 0, tries: int = 0, note: str | null}
events:
  weigh: {weight: decimal > 0}
  send: {}
  back: {reason: str | null}
  mail: {to: str, urgent: bool = false}
codes: {send: 7}
params: {P1: {color: red}}
states:
  shelf:
    weigh: {set: {weight: event.weight}}
    send: [{when: weight > 20, to: freight}, {else: van}]
    mail: {do: {do: post, with: {to: event.to, from: note}}}
  van:
    enter: {do: drive, with: {weight: weight}, done: send, failed: back, retry: 3}
    after: {1h: back}
    hooks: [{route: scan, type: gate}]
    rules: [{params: P1}]
    send: gone
    back: {when: tries < 3, to: shelf, set: {tries: tries + 1}}
  freight: {always: {to: gone}}
  gone: {end: ok}
any: {back: shelf}
begins: [weigh]
publish: [send]
"""


def changed(*edits: tuple[str, str], more: str = "") -> list[Change]:
    """Return the changes that edits of the parcel make in its next version."""
    text = PARCEL.replace("version: 1", "version: 2")
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after)
    return compare(contract_of(PARCEL), contract_of(text + more))


def told(changes: list[Change]) -> list[tuple[str, str, str]]:
    return [(change.kind, change.where, change.message) for change in changes]


# Nothing changed


def test_equal_machines_have_no_changes_whatever_they_are_called() -> None:
    assert changed() == []
    assert changed(("  shelf:", "  shelf:\n    text: where parcels lie")) == []
    assert changed(more="tests: [{events: [send], expect: gone}]\n") == []
    assert changed(("contract: parcel", "contract: packet")) == []
    assert verdict([]) == COMPATIBLE


@pytest.mark.parametrize("name", bundled())
def test_a_contract_is_compatible_with_itself(name: str) -> None:
    contract = interlock.load(name)
    again = interlock.load((BUNDLED / f"{name}.yaml").read_text("utf-8"))
    assert compare(contract, again) == []


# Added things


@pytest.mark.parametrize(
    ("edit", "more", "where", "message"),
    [
        (
            ("  gone: {end: ok}", "  gone: {end: ok}\n  lost: {end: error}"),
            "",
            "states.lost",
            "is new",
        ),
        (("  send: {}\n", "  send: {}\n  lose: {}\n"), "", "events.lose", "is new"),
        (
            ("urgent: bool = false", "urgent: bool = false, cc: str | null"),
            "",
            "events.mail.cc",
            "",
        ),
        (("tries: int = 0", "tries: int = 0, left: time | null"), "", "context.left", "is new"),
        (
            ("tries: int = 0", "tries: int = 0, size: int = 1"),
            "",
            "context.size",
            "is new (int = 1)",
        ),
        (
            ("weigh: {weight: decimal > 0}", "weigh: {weight: decimal >= 0}"),
            "",
            "events.weigh.weight",
            "",
        ),
        (
            ("send: gone\n", "send: gone\n    weigh: van\n"),
            "",
            "states.van.weigh",
            "a new row -> van",
        ),
        (("publish: [send]", "publish: [send, back]"), "", "publish", "back now is published"),
        (
            ("params: {P1: {color: red}}", "params: {P1: {color: red}, P2: 1}"),
            "",
            "params.P2",
            "is new",
        ),
        (("codes: {send: 7}", "codes: {send: 7, back: 8}"), "", "events.back", "the code 8"),
        (("hooks: [{route", "hooks: [pack, {route"), "", "hooks.pack", "until somebody serves it"),
    ],
    ids=lambda value: value[1][-30:] if isinstance(value, tuple) else None,
)
def test_what_is_added_is_compatible(
    edit: tuple[str, str], more: str, where: str, message: str
) -> None:
    found = changed(edit, more=more)
    assert verdict(found) == COMPATIBLE
    assert any(change.where == where and message in change.message for change in found), found


# States


def test_a_removed_state_needs_a_map() -> None:
    found = changed(("  freight: {always: {to: gone}}\n", ""), ("to: freight", "to: gone"))
    assert verdict(found) == MAP
    [change] = [change for change in found if change.kind == MAP]
    assert change.where == "states.freight"
    assert change.hint == "say where to go: migrate: {1: {states: {freight: ...}}}"


RENAMED = [("  van:", "  truck:"), ("else: van", "else: truck")]


def test_a_renamed_state_needs_a_map_and_is_recognised_by_what_it_does() -> None:
    found = changed(*RENAMED)
    [change] = [change for change in found if change.kind == MAP]
    assert change.where == "states.van"
    assert change.hint == "if it is called truck now: migrate: {1: {states: {van: truck}}}"


def test_a_renamed_end_is_recognised_too() -> None:
    found = changed(("gone", "delivered"))
    [change] = [change for change in found if change.kind == MAP]
    assert "if it is called delivered now" in change.hint


def test_a_mapped_state_is_compatible() -> None:
    found = changed(*RENAMED, more="migrate: {1: {states: {van: truck}}}\n")
    assert verdict(found) == COMPATIBLE
    assert (COMPATIBLE, "states.van", "is gone; instances there go on in truck") in told(found)


def test_a_map_of_another_version_or_to_nowhere_maps_nothing() -> None:
    assert verdict(changed(*RENAMED, more="migrate: {0.9: {states: {van: truck}}}\n")) == MAP
    assert verdict(changed(*RENAMED, more="migrate: {1: {states: {van: lorry}}}\n")) == MAP


def test_what_a_mapped_state_no_longer_answers_is_breaking() -> None:
    edits = [*RENAMED, ("    send: gone\n", "")]
    found = changed(*edits, more="migrate: {1: {states: {van: truck}}}\n")
    message = "truck no longer answers send: who sends it there is refused"
    assert (BREAKING, "states.van.send", message) in told(found)


def test_a_state_that_becomes_an_end_needs_a_map() -> None:
    edit = ("  gone: {end: ok}", "  gone: {end: ok}\n  depot: {end: ok}")
    old = contract_of(PARCEL.replace(edit[0], f"{edit[0]}\n  depot: {{category: rest}}"))
    new = PARCEL.replace(*edit).replace("version: 1", "version: 2")
    found = compare(old, contract_of(new))
    assert any(change.kind == MAP and change.where == "states.depot.end" for change in found)
    mapped = compare(old, contract_of(new + "migrate: {1: {states: {depot: gone}}}\n"))
    assert not any(change.kind == MAP for change in mapped)


def test_another_kind_of_end_is_listed() -> None:
    found = changed(("gone: {end: ok}", "gone: {end: error, kind: error, category: sad}"))
    assert verdict(found) == COMPATIBLE
    assert ("compatible", "states.gone.end", "end is 'error', before 'ok'") in told(found)
    assert ("compatible", "states.gone.kind", "kind is error, before not said") in told(found)


def test_another_initial_state_is_listed() -> None:
    found = changed(more="initial: van\n")
    assert told(found) == [
        (COMPATIBLE, "initial", "new instances begin in van, before in shelf"),
    ]


# Events


def test_a_removed_event_that_was_answered_is_breaking() -> None:
    edits = [("  weigh: {weight: decimal > 0}\n", ""), ("begins: [weigh]\n", "")]
    found = changed(*edits, ("    weigh: {set: {weight: event.weight}}\n", ""))
    assert (BREAKING, "events.weigh", "is gone: who sends it is refused as UNKNOWN_EVENT") in told(
        found
    )
    assert not any(change.where == "states.shelf.weigh" for change in found)


def test_a_removed_event_that_nobody_answered_is_compatible() -> None:
    old = contract_of(PARCEL.replace("  send: {}\n", "  send: {}\n  never: {}\n"))
    new = contract_of(PARCEL.replace("version: 1", "version: 2"))
    assert told(compare(old, new)) == [
        (COMPATIBLE, "events.never", "is gone; no state answered it")
    ]


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ("mail: {to: str, ", "mail: {to: str, subject: str, ", "events.mail.subject"),
        ("urgent: bool = false", "urgent: bool", "events.mail.urgent"),
        (", urgent: bool = false", "", "events.mail.urgent"),
        ("reason: str | null", "reason: str", "events.back.reason"),
        ("weigh: {weight: decimal > 0}", "weigh: {weight: decimal > 1}", "events.weigh.weight"),
        ("weigh: {weight: decimal > 0}", "weigh: {weight: int > 0}", "events.weigh.weight"),
        ("codes: {send: 7}", "codes: {send: 8}", "events.send"),
        ("publish: [send]", "publish: []", "publish"),
        ("begins: [weigh]", "begins: []", "begins"),
    ],
)
def test_what_senders_and_readers_of_events_lose_is_breaking(
    before: str, after: str, where: str
) -> None:
    found = changed((before, after))
    assert any(change.kind == BREAKING and change.where == where for change in found), found


def test_closing_a_payload_is_breaking_and_opening_it_is_not() -> None:
    opened = PARCEL.replace("to: str, ", 'to: str, "*": json, ')
    closed = contract_of(PARCEL.replace("version: 1", "version: 2"))
    assert verdict(compare(contract_of(opened), closed)) == BREAKING
    assert verdict(changed(("to: str, ", 'to: str, "*": json, '))) == COMPATIBLE


def test_declaring_a_field_of_an_open_payload_is_breaking_unless_it_may_be_anything() -> None:
    before = PARCEL.replace("to: str, ", 'to: str, "*": json, ')
    for type_, kind in (("int | null", BREAKING), ("json", COMPATIBLE)):
        after = before.replace('"*": json', f'size: {type_}, "*": json')
        found = compare(contract_of(before), contract_of(after.replace("version: 1", "version: 2")))
        assert verdict(found) == kind


# Rows and effects: listed, since migrated instances behave otherwise


@pytest.mark.parametrize(
    ("before", "after", "where", "message"),
    [
        (
            "weight > 20",
            "weight > 25",
            "states.shelf.send",
            "is taken when weight > 25, before when",
        ),
        ("else: van", "else: shelf", "states.shelf.send", "leads to shelf instead of van"),
        (
            "tries < 3",
            "tries < 5",
            "states.van.back",
            "is taken when tries < 5, before when tries < 3",
        ),
        ("tries + 1}", "tries + 2}", "states.van.back", "sets tries = tries + 2, before tries ="),
        ("when: tries < 3, ", "", "states.van.back", "is taken in any case, before when tries < 3"),
        ("retry: 3", "retry: 5 in 2m", "states.van.enter", "retry 5 in 2m, before drive(weight"),
        (
            "after: {1h: back}",
            "after: {2h: back}",
            "states.van.after",
            "waits 2h for back, before 1h",
        ),
        ("after: {1h: back}\n", "text: t\n", "states.van.after", "no longer waits 1h for back"),
        (
            "type: gate",
            "type: effect",
            "states.van.hooks",
            "hands out effect scan, before gate scan",
        ),
        ("[{params: P1}]", "[]", "states.van.rules", "no longer tells always: P1"),
        ("color: red", "color: blue", "params.P1", "has other data"),
        ("any: {back: shelf}", "any: {back: van}", "any.back", "leads to van instead of shelf"),
        (
            "always: {to: gone}",
            "always: {to: gone, do: x}",
            "states.freight.always",
            "asks for x()",
        ),
        ("int = 0", "int = 1", "context.tries", "begins as 1, before 0"),
        (
            "urgent: bool = false",
            "urgent: bool = true",
            "events.mail.urgent",
            "is true when not given",
        ),
        ("begins: [weigh]", "begins: [weigh]\nstrict: true", "strict", "strict is on, before off"),
        ("begins: [weigh]", "begins: [weigh]\nindexed: [note]", "indexed", "note is in it now"),
        ("send: gone\n", "send: {to: gone, late: accept}\n", "states.van.send", "is late, before"),
        ("send: gone\n", "send: [gone, shelf]\n", "states.van.send", "a new row -> shelf"),
    ],
)
def test_changed_behaviour_is_compatible_and_listed(
    before: str, after: str, where: str, message: str
) -> None:
    found = changed((before, after))
    assert verdict(found) == COMPATIBLE
    assert any(change.where == where and message in change.message for change in found), found


def test_rows_in_another_order_are_listed() -> None:
    rows = "[{when: weight > 20, to: freight}, {when: weight > 10, to: van}]"
    turned = "[{when: weight > 10, to: van}, {when: weight > 20, to: freight}]"
    edit = ("[{when: weight > 20, to: freight}, {else: van}]", rows)
    old = contract_of(PARCEL.replace(*edit))
    new = contract_of(PARCEL.replace(edit[0], turned).replace("version: 1", "version: 2"))
    assert told(compare(old, new)) == [
        (COMPATIBLE, "states.shelf.send", "its rows are tried in another order")
    ]


def test_a_removed_row_of_an_event_still_answered_is_listed() -> None:
    found = changed(("[{when: weight > 20, to: freight}, {else: van}]", "[{else: van}]"))
    message = "the row -> freight when weight > 20 is gone"
    assert (COMPATIBLE, "states.shelf.send", message) in told(found)


def test_an_event_no_longer_answered_in_a_state_is_breaking() -> None:
    found = changed(("    weigh: {set: {weight: event.weight}}\n", ""))
    message = "shelf no longer answers weigh: who sends it there is refused"
    assert told(found) == [(BREAKING, "states.shelf.weigh", message)]


def test_an_event_ignored_from_now_on_is_listed() -> None:
    edit = ("    weigh: {set: {weight: event.weight}}\n", "    ignore: [weigh]\n")
    assert (COMPATIBLE, "states.shelf.ignore", "weigh is now ignored") in told(changed(edit))
    assert verdict(changed(edit)) == COMPATIBLE


NAME = Name("tries")
PARTS: list[tuple[str, str, Any]] = [
    ("enter", "arguments", (Argument("x", NAME),)),
    ("enter", "done", "back"),
    ("enter", "failed", "send"),
    ("enter", "retry", Retry(2, timedelta(hours=1))),
    ("enter", "timeout", timedelta(hours=1)),
    ("enter", "cancel_on_exit", True),
    ("timers", "after", timedelta(hours=7)),
    ("timers", "event", "send"),
    ("timers", "arguments", (Argument("reason", NAME),)),
    ("timers", "repeat", True),
    ("timers", "once", True),
    ("hooks", "gate", False),
    ("hooks", "via", "send"),
    ("hooks", "on", "exit"),
    ("hooks", "order", 2),
    ("hooks", "group", "g"),
    ("hooks", "ack_mode", "any"),
    ("hooks", "params", ("P1",)),
    ("hooks", "done", "send"),
    ("hooks", "failed", "back"),
    ("hooks", "not_before", timedelta(hours=1)),
    ("hooks", "deadline", timedelta(hours=1)),
    ("hooks", "always", True),
    ("rules", "via", "send"),
    ("rules", "params", ()),
    ("rules", "done", "send"),
    ("rules", "failed", "back"),
    ("rows", "to", "van"),
    ("rows", "when", Compare("==", NAME, Const(1))),
    ("rows", "noted", (Compare("==", NAME, Const(1)),)),
    ("rows", "updates", (Update("tries", NAME),)),
    ("rows", "effects", (Effect(intent="x"),)),
    ("rows", "touch", True),
    ("rows", "late", True),
    ("rows", "restart_timer", True),
]
WITHOUT_MEANING = {"mark", "when_mark", "text", "label", "notice", "name", "otherwise", "priority"}


@pytest.mark.parametrize(("part", "field", "value"), PARTS)
def test_every_setting_of_a_part_is_compared(part: str, field: str, value: Any) -> None:
    old = contract_of(PARCEL)
    van = old.states["van"]
    [first, *rest] = getattr(van, part)
    changed_part = replace(first, **{field: value})
    states = old.states | {"van": replace(van, **{part: (changed_part, *rest)})}
    found = compare(old, replace(old, version="2", states=states))
    assert found
    assert any(change.where.startswith(("states.van", "intents")) for change in found), found


def test_no_setting_of_a_part_is_forgotten_here() -> None:
    tested = {(part, field) for part, field, _ in PARTS}
    kinds = {"enter": Effect, "timers": Timer, "hooks": Hook, "rules": Rule, "rows": Row}
    known = {(part, field) for part, kind in kinds.items() for field in kind.__struct_fields__}
    names = {("enter", "intent"), ("hooks", "route"), ("rows", "event")}
    assert {one for one in known - tested - names if one[1] not in WITHOUT_MEANING} == set()


# Context


@pytest.mark.parametrize("type_", ["int = 0", "str | null", "decimal > 0 = 1"])
def test_a_narrower_type_of_a_context_field_is_breaking_unless_it_is_set(type_: str) -> None:
    edit = ("weight: decimal = 0", f"weight: {type_}")
    found = changed(edit)
    assert any(one.kind == BREAKING and one.where == "context.weight" for one in found)
    mapped = changed(edit, more="migrate: {1: {set: {weight: 1}}}\n")
    assert not any(one.kind == BREAKING for one in mapped)


def test_a_wider_type_of_a_context_field_is_compatible() -> None:
    found = changed(("tries: int = 0", "tries: int | null = 0"))
    assert verdict(found) == COMPATIBLE


def test_a_renamed_context_field_needs_a_map() -> None:
    edit = ("note", "remark")
    found = changed(edit)
    [change] = [change for change in found if change.kind == MAP]
    assert change.where == "context.remark"
    assert change.hint == "if it is the same: migrate: {1: {set: {remark: note}}}"
    assert verdict(changed(edit, more="migrate: {1: {set: {remark: note}}}\n")) == COMPATIBLE


def test_a_removed_context_field_is_listed() -> None:
    found = changed((", note: str | null", ""), (", from: note", ""))
    message = "is gone: migrated instances drop it"
    assert (COMPATIBLE, "context.note", message) in told(found)


def test_a_new_field_without_a_value_needs_a_map() -> None:
    text = PARCEL.replace("version: 1", "version: 2")
    new = contract_of(text.replace("tries: int = 0", "tries: int = 0, size: int = 0"))
    size = replace(new.context["size"], default=UNSET)
    found = compare(contract_of(PARCEL), replace(new, context=new.context | {"size": size}))
    assert (MAP, "context.size") in [(change.kind, change.where) for change in found]


def test_closing_the_context_needs_a_map_and_opening_it_does_not() -> None:
    opened = PARCEL.replace("tries: int = 0", 'tries: int = 0, "*": json')
    closed = contract_of(PARCEL.replace("version: 1", "version: 2"))
    assert verdict(compare(contract_of(opened), closed)) == MAP
    assert verdict(changed(("tries: int = 0", 'tries: int = 0, "*": json'))) == COMPATIBLE


# Intents and hooks


def test_an_intent_nobody_asks_for_any_more_is_breaking_for_its_consumers() -> None:
    found = changed(("do: drive", "do: haul"))
    message = "is never asked for any more: its consumers get nothing"
    assert (BREAKING, "intents.drive", message) in told(found)
    assert (COMPATIBLE, "intents.haul", "is new: it waits until somebody serves it") in told(found)


def test_a_smaller_payload_of_an_intent_is_breaking_and_a_larger_is_not() -> None:
    found = changed((", from: note", ""))
    assert (BREAKING, "intents.post", "its payload no longer has from") in told(found)
    assert verdict(changed((", from: note", ", from: note, size: weight"))) == COMPATIBLE


def test_a_hook_nobody_gets_any_more_is_breaking_for_its_consumers() -> None:
    found = changed(("    hooks: [{route: scan, type: gate}]\n", ""))
    assert any(one.kind == BREAKING and one.where == "hooks.scan" for one in found)


# The whole


def test_another_contract_is_breaking() -> None:
    found = changed(("contract: parcel", "contract: packet"), ("weight > 20", "weight > 25"))
    assert found[0].where == "contract"
    assert verdict(found) == BREAKING


@pytest.mark.parametrize("version", ["1", "0.9", "1.0"])
def test_a_version_that_is_not_above_the_old_is_told(version: str) -> None:
    found = changed(("version: 2", f"version: {version}"), ("weight > 20", "weight > 25"))
    assert found[0].where == "version"
    assert f"version {version} is not above 1" in found[0].message
    assert verdict(found) == COMPATIBLE


def test_the_gravest_change_gives_the_verdict() -> None:
    kinds = [COMPATIBLE, MAP, COMPATIBLE]
    changes = [Change(kind=kind, where="x", message="y") for kind in kinds]  # type: ignore[arg-type]
    assert verdict(changes) == MAP
    assert verdict([*changes, Change(kind="breaking", where="x", message="y")]) == BREAKING


def test_the_two_registrations_are_told_apart_in_one_line_each() -> None:
    found = compare(interlock.load("registration-1.0.0"), interlock.load("registration"))
    assert found
    for change in found:
        assert "\n" not in change.message + change.hint
        assert change.where
        assert change.message
    assert found == compare(interlock.load("registration-1.0.0"), interlock.load("registration"))


@pytest.mark.parametrize("old", bundled())
@pytest.mark.parametrize("new", bundled())
def test_any_two_contracts_can_be_compared(old: str, new: str) -> None:
    found = compare(interlock.load(old), interlock.load(new))
    assert (found == []) is (interlock.load(old).hash == interlock.load(new).hash)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int", "int", True),
        ("int", "decimal", True),
        ("decimal", "int", False),
        ("a | b", "a | b | c", True),
        ("a | b | c", "a | b", False),
        ("a | b", "str", True),
        ("str", "a | b", False),
        ("str", "str | null", True),
        ("str | null", "str", False),
        ("int", "json", True),
        ("json", "int", False),
        ("list of int", "list of decimal", True),
        ("list of int", "list of str", False),
        ("time", "duration", False),
        ("int > 3", "int > 2", True),
        ("int > 3", "int >= 3", True),
        ("int >= 3", "int > 3", False),
        ("int < 3", "int < 4", True),
        ("int", "int < 4", False),
        ("int < 4", "int", True),
        ("int < 4", "int > 2", False),
        ("str len < 4", "str len <= 4", True),
        ("str len < 4", "str matches 'a'", False),
        ("str matches 'a'", "str matches 'a'", True),
    ],
)
def test_a_type_fits_another_if_all_its_values_do(old: str, new: str, expected: bool) -> None:  # noqa: FBT001
    assert fits(parse_declaration(old)[0], parse_declaration(new)[0]) is expected
