"""Claims about walking: what paths cover, how short they are, and that they can be run again."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

import interlock
from interlock.contract.expression.values import reader
from interlock.contract.read import BUNDLED, Source, bundled, read_contract
from interlock.play import play
from interlock.walk.paths import Path, Walk, as_pytest, show_paths, walk
from interlock.walk.samples import texts_matching, values_of

if TYPE_CHECKING:
    import pathlib
    from types import ModuleType

    from interlock.contract.model import Contract


CODE = "{code: \"str matches '^[A-Z]{2}-[0-9]{3}$'\"}"
NAME = "{name: \"str matches '^[A-Z]+-[0-9]{3}$'\"}"


def contract_of(text: str) -> Contract:
    """Return the contract of a text, read but not checked."""
    read = read_contract(Source(text, "test"))
    assert read.contract is not None
    assert read.problems == []
    return read.contract


def without_default(contract: Contract, name: str) -> Contract:
    """Return a contract whose field must be given, as only code can declare it."""
    field = replace(contract.context[name], default=UNSET)
    return replace(contract, context=contract.context | {name: field})


def rows_of(contract: Contract) -> int:
    own = (len(state.rows) + len(state.always) for state in contract.states.values())
    return sum(own) + len(contract.any)


def names_of(path: Path) -> list[str]:
    return [event if isinstance(event, str) else next(iter(event)) for event in path.events]


def reached(guard: str, *, context: str = "{}", payload: str = '{"*": json}') -> Any:
    """Return the data of the path that makes a guard hold, if there is one."""
    contract = contract_of(
        f"contract: test\ncontext: {context}\nevents: {{go: {payload}}}\n"
        f"states:\n  one: {{go: {{when: {guard!r}, to: two}}}}\n  two: {{end: ok}}\n"
    )
    found = walk(contract)
    if found.missed:
        return None
    [path] = found.paths
    [event] = path.events
    return path.context, {} if isinstance(event, str) else event["go"]


# What is covered


@pytest.mark.parametrize("name", bundled())
def test_every_row_of_every_bundled_contract_is_walked(name: str) -> None:
    contract = interlock.load(name)
    found = walk(contract)
    assert found.missed == ()
    taken = {row for path in found.paths for row in path.rows}
    assert len(taken) == rows_of(contract)
    assert {state for path in found.paths for state in path.states} == set(contract.states)


@pytest.mark.parametrize("name", bundled())
def test_a_path_plays_as_it_says_and_without_refusals(name: str) -> None:
    contract = interlock.load(name)
    for path in walk(contract).paths:
        played = play(contract, context=path.context, events=path.events)
        assert played.error is None
        assert played.refusals == ()
        assert (played.trail, played.intents) == (path.states, path.intents)


@pytest.mark.parametrize("name", bundled())
def test_no_path_is_the_beginning_of_another_and_short_ones_come_first(name: str) -> None:
    paths = walk(interlock.load(name)).paths
    for path in paths:
        others = [other for other in paths if other is not path]
        assert not any(other.events[: len(path.events)] == path.events for other in others)
    assert sorted(paths, key=lambda one: len(one.events)) == list(paths)


def test_the_order_is_covered_by_its_five_shortest_paths() -> None:
    found = walk(interlock.load("order"))
    assert [names_of(path) for path in found.paths] == [
        ["cancel"],
        ["add_item", "pay"],
        ["pay", "give_up"],
        ["pay", "charged", "packed"],
        ["pay", "declined", "declined", "declined"],
    ]


def test_a_walk_is_the_same_each_time() -> None:
    contract = interlock.load("registration")
    assert walk(contract) == walk(contract)


def test_a_row_that_nothing_leads_to_is_told() -> None:
    contract = contract_of(
        "contract: test\ncontext: {n: int = 0}\nevents: {go: {}, hop: {}}\nstates:\n"
        "  one: {go: two, hop: {when: n > 3, to: two, name: never}}\n"
        "  two: {end: ok}\n  island: {go: two}\nany: {hop: {to: one, when: n < 0}}\n"
    )
    found = walk(contract)
    # `n` has a default, but whoever creates an instance may give it.
    assert [(missed.row, missed.reason) for missed in found.missed] == [
        ("island.go -> two", "not reached")
    ]
    assert {path.context.get("n") for path in found.paths} >= {None, 4, -1}


def test_events_of_timers_are_played_where_the_timer_runs() -> None:
    contract = contract_of(
        "contract: test\nevents: {go: {}, late: {}}\nstates:\n"
        "  one: {after: {1h: late}, go: two}\n  two: {after: {2h: late}, go: three}\n"
        "  three: {end: ok}\nany: {late: three}\n"
    )
    played = [names_of(path) for path in walk(contract).paths]
    assert sorted(played) == [["go", "go"], ["go", "late"], ["late"]]


def test_always_rows_are_walked_too() -> None:
    contract = contract_of(
        "contract: test\ncontext: {score: int = 0}\nevents: {judge: {points: int}}\nstates:\n"
        "  one: {judge: {to: two, set: {score: event.points * 2 + 1}}}\n"
        "  two: {always: [{when: score > 700, to: good}, {when: score < 0, to: bad}, {to: fair}]}\n"
        "  good: {end: ok}\n  fair: {end: ok}\n  bad: {end: error}\n"
    )
    found = walk(contract)
    assert found.missed == ()
    assert {path.states for path in found.paths} == {
        ("one", "two", end) for end in ("good", "fair", "bad")
    }


def test_counters_are_counted_up() -> None:
    contract = contract_of(
        "contract: test\ncontext: {n: int = 0, sum: decimal = 0}\n"
        "events: {tick: {}, add: {x: decimal}, stop: {}}\nstates:\n"
        "  one: {tick: {set: {n: n + 1}}, add: {set: {sum: sum + event.x}},"
        " stop: {when: n >= 12, to: two}}\n  two: {end: ok}\n"
    )
    longest = walk(contract).paths[-1]
    assert names_of(longest) == ["tick"] * 12 + ["stop"]


def test_the_effort_is_bounded() -> None:
    contract = contract_of(
        "contract: test\ncontext: {n: int = 0}\nevents: {up: {}, down: {}, stop: {}}\nstates:\n"
        "  one: {up: {set: {n: n + 1}}, down: {set: {n: n - 1}}, stop: {when: n == 999, to: two}}\n"
        "  two: {end: ok}\n"
    )
    found = walk(contract, limit=300)
    assert [missed.row for missed in found.missed] == ["one.stop -> two"]


def test_a_contract_that_cannot_start_has_no_paths() -> None:
    contract = contract_of(
        "contract: t\nevents: {go: {}}\n"
        "states:\n  a: {always: {to: b}}\n  b: {always: {to: a}, go: a}\n"
    )
    found = walk(contract)
    assert found.paths == ()
    assert len(found.missed) == 3


# Made-up data


@pytest.mark.parametrize(
    ("guard", "payload"),
    [
        ("event.x > 3 and event.x < 5", "{x: int}"),
        ("event.x * 3 + 1 == 100", "{x: int}"),
        ("100 / event.x < 5", "{x: int > 0}"),
        ("event.x == 2.5", "{x: decimal}"),
        ("event.x == 'b' and event.y", "{x: a | b | c, y: bool}"),
        ("event.x == null", "{x: int | null}"),
        ("exists(event.x)", "{x: int | null}"),
        ("event.name in ['boss', 'chief'] and event.name != 'boss'", "{name: str}"),
        ("event.name not in ['a', '']", "{name: str}"),
        ("len(event.name) > 20", "{name: str len <= 40}"),
        (
            "len(event.items) == 4 and 3 in event.items or len(event.items) == 3",
            "{items: list of int}",
        ),
        ("matches(event.mail, '^[^@]+@corp\\.com$')", "{mail: str}"),
        ("event.span >= 36h", "{span: duration}"),
        ("event.later - event.at == 1h", "{at: time, later: time}"),
        ("event.a == 'x' and event.b >= 3 and exists(event.c)", '{"*": json}'),
        ("event.flag", '{"*": json}'),
        ("not event.flag and event.other == false", '{"*": json}'),
        ("event.code == 'AB-1'", "{code: \"str matches '^[A-Z]{2}-[0-9]$'\"}"),
        ("matches(event.code, '^AB')", CODE),
        ("matches(event.code, '^AB') and matches(event.code, '9$')", CODE),
        ("not matches(event.code, '^A') and event.code != 'BA-111'", CODE),
        ("len(event.name) > 12 and matches(event.name, '^[^A]')", NAME),
        ("event.x > 3 and event.x < 4", "{x: decimal}"),
        ("'id' in event.docs and len(event.docs) >= 2", '{"*": json}'),
        ("'id' in event.x and 'tax' in event.x and len(event.x) == 5", "{x: list of str}"),
    ],
)
def test_a_payload_is_made_up_that_makes_a_guard_hold(guard: str, payload: str) -> None:
    assert reached(guard, payload=payload) is not None


def test_a_payload_meets_what_the_context_holds() -> None:
    context = "{total: decimal = 17.25, paid: decimal = 3, ref: str | null}"
    _, payload = reached("paid + event.x == total", context=context, payload="{x: decimal}")
    assert payload == {"x": Decimal("14.25")}


def test_merged_payloads_bring_what_later_guards_read() -> None:
    contract = contract_of(
        'contract: test\npayload: merge\ncontext: {"*": json}\nevents: {go: {"*": json}, hop: {}}\n'
        "states:\n  one: {go: two}\n  two: {hop: [{when: size > 3, to: three}, {else: one}]}\n"
        "  three: {end: ok}\n"
    )
    found = walk(contract)
    assert found.missed == ()
    assert found.paths[-1].events[0] == {"go": {"size": 4}}


@pytest.mark.parametrize("number", ["int", "decimal"])
def test_a_sum_is_reached_at_once_and_in_parts(number: str) -> None:
    pay = (
        "{pay: [{when: paid + event.amount >= total, to: done, set: {paid: paid + event.amount}},"
        " {else: part, set: {paid: paid + event.amount}}]}"
    )
    contract = contract_of(
        f"contract: t\ncontext: {{total: {number} = 1, paid: {number} = 0}}\n"
        f"events: {{place: {{total: {number} > 0}}, pay: {{amount: {number} > 0}}}}\n"
        "states:\n  new: {place: {to: open, set: {total: event.total}}}\n"
        f"  open: {pay}\n  part: {pay}\n  done: {{end: ok}}\n"
    )
    assert walk(contract).missed == ()


@pytest.mark.parametrize(
    ("guard", "first", "second"),
    [
        ("'id' in kept and len(kept) >= 2", "list of str", "int"),
        ("'id' in kept and 'tax' in kept and len(kept) < 3", "list of str", "int"),
        ("event.x in kept and len(kept) >= 3", "list of str", "str"),
        ("matches(kept, '-7')", CODE[7:-1], "int"),
        ("event.x > kept", "int > 0 <= 100", "int > 0 <= 50"),
        ("event.x + kept == 70", "int > 0 <= 100", "int > 0 <= 50"),
        ("event.x > kept * 2 and event.x < kept * 3", "decimal > 0", "decimal > 10 < 11"),
        ("event.x - kept >= 36h", "time", "time"),
    ],
)
def test_a_payload_is_made_up_for_a_later_guard(guard: str, first: str, second: str) -> None:
    kept = first.strip('"').split(" >")[0].split(" matches")[0]
    contract = contract_of(
        f'contract: t\ncontext: {{kept: "{kept} | null"}}\n'
        f"events: {{keep: {{x: {first}}}, ask: {{x: {second}}}}}\n"
        "states:\n  one: {keep: {to: two, set: {kept: event.x}}}\n"
        f'  two: {{ask: [{{when: "exists(kept) and {guard}", to: three}}, {{else: four}}]}}\n'
        "  three: {end: ok}\n  four: {end: ok}\n"
    )
    found = walk(contract)
    assert found.missed == ()
    for path in found.paths:
        assert play(contract, context=path.context, events=path.events).trail == path.states


def test_what_has_no_default_is_given_at_the_start() -> None:
    contract = contract_of(
        "contract: t\ncontext: {n: int = 0, kind: new | old = old}\nevents: {go: {}}\n"
        "states: {one: {go: {when: n > 3, to: two}}, two: {end: ok}}\n"
    )
    [path] = walk(without_default(without_default(contract, "n"), "kind")).paths
    assert path.context == {"n": 4, "kind": "new"}


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{2}-\d{3}$",
        r"^(?:GET|POST) /[a-z]+(?:/\d+)?$",
        r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$",
        r"^(?P<a>x|y)+?z{0,3}\.$",
        r"^[]a]+[^]a]$",
        r"\bab\b",
        r"^$",
        r"^\s\S\w\W\D$",
        r"^äöü\t$",
    ],
)
def test_a_text_is_found_that_a_pattern_matches(pattern: str) -> None:
    texts = texts_matching(pattern)
    assert re.search(pattern, texts[0])
    assert not any(re.search(pattern, text) for text in texts[1:])


def test_every_made_up_value_is_of_its_type() -> None:
    bounded = read_contract(
        Source(
            "contract: t\ncontext:\n  a: int > 3 <= 9 = 4\n  b: decimal >= 0.5 < 0.75 = 0.5\n"
            "  c: str len >= 3 len <= 4 = abc\n  d: list of int len > 1 = [1,2]\n"
            "  e: x | y | null\n"
            "  f: time | null\n  g: duration = 1h\n  h: json\n  i: bool = true\n"
            "states: {one: {}}\n",
            "t",
        )
    ).contract
    assert bounded is not None
    for field in bounded.context.values():
        found = values_of(field.type)
        assert found
        assert all(reader(field.type)(value) == value for value in found)


# As text


def test_paths_are_shown_with_their_events_and_states() -> None:
    found = Walk(
        paths=(
            Path(events=("go", {"pay": {"x": 1}}), states=("a", "b"), rows=("r",)),
            Path(events=(), states=("a",), rows=(), context={"n": Decimal("1.50")}),
        ),
        missed=walk(
            contract_of("contract: t\nevents: {go: {}}\nstates: {a: {}, b: {go: a}}")
        ).missed,
    )
    assert show_paths(found).splitlines() == [
        'go, pay {"x":1}',
        "    a -> b",
        'given {"n":1.50}: (no event)',
        "    a",
        "not reached: b.go -> a",
    ]


def run_module(text: str, folder: pathlib.Path, name: str = "test_paths") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", bundled())
def test_the_pytest_module_of_every_bundled_contract_passes(
    name: str, tmp_path: pathlib.Path
) -> None:
    contract = interlock.load(name)
    module = run_module(as_pytest(contract, name), tmp_path)
    cases = [case for label, case in vars(module).items() if label.startswith("test_")]
    assert len(cases) == len(walk(contract).paths)
    for case in cases:
        case()


def test_the_pytest_module_names_its_cases_as_claims() -> None:
    text = as_pytest(interlock.load("order"), "order.yaml")
    assert re.findall(r"def (test_\w+)", text) == [
        "test_cancel_leads_to_cancelled",
        "test_add_item_then_pay_leads_to_cart",
        "test_pay_then_give_up_leads_to_failed",
        "test_pay_then_charged_then_packed_leads_to_shipped",
        "test_pay_then_declined_3_times_leads_to_failed",
    ]
    assert 'interlock.load("order.yaml")' in text


def test_the_pytest_module_fails_for_a_contract_that_behaves_otherwise(
    tmp_path: pathlib.Path,
) -> None:
    text = (BUNDLED / "order.yaml").read_text("utf-8")
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace("tries < 2", "tries < 1").partition("tests:")[0], "utf-8")
    module = run_module(as_pytest(interlock.load(text), str(changed)), tmp_path)
    module.__dict__["test_cancel_leads_to_cancelled"]()
    with pytest.raises(AssertionError):
        module.__dict__["test_pay_then_declined_3_times_leads_to_failed"]()


ODD = """\
contract: 'a "quoted" \\ name'
context: {n: int = 0, given: decimal = 0}
events:
  "do it!": {text: str, span: duration, at: time, deep: json}
  '"': {}
states:
  one:
    "do it!":
      - when: >-
          event.text == 'say "hi" \\\\ there, which is long enough to need a line of its own'
          and event.span > 90m and event.deep == 2.5
        to: two
      - {else: stay}
    '"': [{when: given > 3.25, to: two}, {else: stay}]
  two: {end: ok}
"""


def test_odd_names_and_values_survive_in_a_formatted_module(tmp_path: pathlib.Path) -> None:
    (tmp_path / "odd.yaml").write_text(ODD, "utf-8")
    contract = interlock.load(ODD)
    assert walk(contract).missed == ()
    module = run_module(as_pytest(contract, str(tmp_path / "odd.yaml")), tmp_path)
    cases = [case for label, case in vars(module).items() if label.startswith("test_")]
    for case in cases:
        case()
    assert len(cases) == len(walk(contract).paths)


def test_the_pytest_module_ends_with_the_rows_not_reached(tmp_path: pathlib.Path) -> None:
    contract = contract_of(ODD + "  island: {'\"': two}\n")
    text = as_pytest(contract, "odd.yaml")
    assert text.endswith('\n\n\n# not reached: island." -> two\n')
    path = tmp_path / "test_odd.py"
    path.write_text(text, "utf-8")
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", str(path)],
        check=False,
        capture_output=True,
    )
    assert formatted.returncode == 0, formatted.stdout
