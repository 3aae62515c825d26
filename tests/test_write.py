"""Claims that any contract can be written in the native form and read back the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from interlock.contract import keys
from interlock.contract.expression.declare import parse_declaration
from interlock.contract.expression.expr import (
    Call,
    Compare,
    Const,
    EventField,
    Expr,
    Name,
    write_expression,
)
from interlock.contract.expression.parse import parse_expression
from interlock.contract.expression.values import INT
from interlock.contract.model import (
    Argument,
    Contract,
    Effect,
    Event,
    Field,
    Hook,
    Migration,
    Param,
    Play,
    Requirement,
    Retry,
    Row,
    Rule,
    State,
    Timer,
    Update,
)
from interlock.contract.native.read import null_until_set
from interlock.contract.native.write import write_native
from interlock.contract.read import Source, bundled, find_source, read_contract
from interlock.contract.source.node import plain
from interlock.contract.source.read import read_source
from interlock.errors import ContractError

DATA = Path(__file__).parent / "data"
WORKFLOW = DATA / "workflow"

# Words and spellings that some reader of YAML takes for something else than a text.
TRAPS = """on off yes no y n On NO true False null ~ Null none 1 0 007 1.0 1e3 .5 0x1F 0o17 1_000
    12:30:45 2026-01-31 .inf .nan - -1 = << * & ! % @ ` # ? | > a:b a: [x] {x} 'x' "x" \\ é 😀
    enter exit after end kind hooks when else to with do stay2"""
NAMES = st.one_of(
    st.sampled_from(["cart", "paid", "Order.Placed", "two words", " padded ", *TRAPS.split()]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.isprintable),
).filter(lambda name: name != "stay")
TEXTS = st.one_of(NAMES, st.text(st.characters(codec="utf-8"), max_size=12))
FIELDS = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in {"state", "in", "or", "if", "and", "not", "else", "null", "true"}
)
SPANS = st.integers(1, 10**12).map(lambda micros: timedelta(microseconds=micros)) | st.sampled_from(
    [timedelta(minutes=15), timedelta(days=2), timedelta(hours=1, minutes=30)]
)
# What an expression can write: whole milliseconds.
ROUND_SPANS = st.integers(0, 10**10).map(lambda millis: timedelta(milliseconds=millis))
NUMBERS = st.decimals(-(10**6), 10**6, places=2, allow_nan=False)
CONSTANTS = st.one_of(st.integers(-5, 10**9), NUMBERS, st.booleans(), st.none(), TEXTS, ROUND_SPANS)
EXPRESSIONS: st.SearchStrategy[Expr] = st.one_of(
    CONSTANTS.map(Const),
    FIELDS.map(Name),
    st.sampled_from(
        [
            "total + event.price",
            "not (a or b) and c in ['x', 'y']",
            "1 if exists(a) else -b * 2",
            "matches(sku, '^[a-z]{2}\\\\d+$')",
            "yes",
            "15m < age",
            "[1, 2.50, 'a, b']",
        ]
    ).map(parse_expression),
    st.builds(
        Compare, st.sampled_from(["==", "!=", "<", "in"]), FIELDS.map(Name), TEXTS.map(Const)
    ),
    FIELDS.map(lambda name: Call("exists", (EventField(name),))),
)
DECLARATIONS = st.sampled_from(
    [
        "int",
        "int >= 0 <= 9 = 3",
        "decimal > 0.5 = 1.50",
        "str = 'it's, a: text'",
        "str | null",
        "str len <= 5 = ''",
        "str matches '^[a-z]+$' = 'on'",
        "bool = false",
        "time | null",
        "duration = 1h30m",
        "json",
        'json = {"a": [1, null]}',
        "yes | no = no",
        "list of str = []",
        "list of int len > 1 = [1, 2]",
    ]
)
JSON_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def field_of(name: str, declaration: str) -> Field:
    type_, default = parse_declaration(declaration)
    return Field(name=name, type=type_, default=default)


def written_json(data: object, indent: str | None, *, compact: bool) -> bytes:
    separators = (",", ":") if compact else None
    return json.dumps(data, ensure_ascii=compact, indent=indent, separators=separators).encode()


PARAM_DATA = st.builds(
    written_json, JSON_DATA, st.sampled_from([None, "  ", "\t", ""]), compact=st.booleans()
)
TRUE = st.sampled_from([True])
UPDATES = st.dictionaries(FIELDS, EXPRESSIONS, max_size=2).map(
    lambda found: tuple(Update(name, value) for name, value in found.items())
)
ARGUMENTS = st.dictionaries(NAMES, EXPRESSIONS, max_size=2).map(
    lambda found: tuple(Argument(name, value) for name, value in found.items())
)
MAYBE_NAME = st.none() | NAMES
NAME_LISTS = st.lists(NAMES, max_size=3).map(tuple)
EFFECTS = st.lists(
    st.builds(
        Effect,
        intent=NAMES,
        arguments=ARGUMENTS,
        done=MAYBE_NAME,
        failed=MAYBE_NAME,
        retry=st.none() | st.builds(Retry, st.integers(1, 999_999), st.none() | SPANS),
        timeout=st.none() | SPANS,
        cancel_on_exit=st.booleans(),
        label=TEXTS,
    ),
    max_size=2,
).map(tuple)


def rows_for(events: st.SearchStrategy[str | None]) -> st.SearchStrategy[tuple[Row, ...]]:
    return st.lists(
        st.builds(
            Row,
            event=events,
            to=MAYBE_NAME,
            when=st.none() | EXPRESSIONS,
            noted=st.lists(EXPRESSIONS, max_size=2).map(tuple),
            updates=UPDATES,
            effects=EFFECTS,
            priority=st.integers(-3, 3),
            touch=st.booleans(),
            late=st.booleans(),
            restart_timer=st.booleans(),
            name=TEXTS,
            text=TEXTS,
        )
        | st.builds(Row, event=events, to=MAYBE_NAME)
        | st.builds(Row, event=events, to=MAYBE_NAME, updates=UPDATES, otherwise=TRUE),
        max_size=4,
    ).map(tuple)


TIMERS = st.lists(
    st.builds(
        Timer,
        after=SPANS,
        event=MAYBE_NAME,
        arguments=ARGUMENTS,
        repeat=st.booleans(),
        once=st.booleans(),
        notice=TEXTS,
    ),
    max_size=3,
).map(tuple)
HOOKS = st.lists(
    st.builds(
        Hook,
        route=NAMES,
        gate=st.booleans(),
        via=MAYBE_NAME,
        on=st.sampled_from(["enter", "exit"]),
        order=st.integers(0, 9),
        group=MAYBE_NAME,
        ack_mode=st.sampled_from(["all", "any"]),
        params=st.none() | NAME_LISTS,
        done=MAYBE_NAME,
        failed=MAYBE_NAME,
        not_before=st.none() | SPANS,
        deadline=st.none() | SPANS,
        always=st.booleans(),
        label=TEXTS,
    )
    | NAMES.map(lambda name: Hook(route=name)),
    max_size=2,
).map(tuple)
RULES = st.lists(
    st.builds(Rule, via=MAYBE_NAME, params=NAME_LISTS, done=MAYBE_NAME, failed=MAYBE_NAME),
    max_size=2,
).map(tuple)
STATES = st.dictionaries(
    NAMES,
    st.builds(
        State,
        name=st.just(""),
        rows=rows_for(NAMES | st.sampled_from(sorted(keys.STATE))),
        always=rows_for(MAYBE_NAME),
        enter=EFFECTS,
        exit=EFFECTS,
        timers=TIMERS,
        hooks=HOOKS,
        rules=RULES,
        ignore=NAME_LISTS,
        end=st.none() | st.sampled_from(["ok", "error"]),
        kind=st.none() | st.sampled_from(["initial", "snapshot", "terminal"]),
        recoverable=st.none() | st.booleans(),
        required=NAME_LISTS,
        requirements=st.lists(TEXTS.map(Requirement), max_size=2).map(tuple),
        category=TEXTS,
        text=TEXTS,
    )
    | st.just(State(name="")),
    min_size=1,
    max_size=3,
).map(lambda found: {key: msgspec.structs.replace(one, name=key) for key, one in found.items()})
EVENTS = st.dictionaries(
    NAMES,
    st.builds(
        Event,
        name=st.just(""),
        fields=st.dictionaries(FIELDS, DECLARATIONS, max_size=2).map(
            lambda found: tuple(field_of(*item) for item in found.items())
        ),
        open=st.booleans(),
        code=st.none() | st.integers(10**6, 10**6 + 9999),
        text=TEXTS,
    ),
    max_size=3,
).map(lambda found: {key: msgspec.structs.replace(one, name=key) for key, one in found.items()})
PLAYS = st.lists(
    st.builds(
        Play,
        name=TEXTS,
        state=MAYBE_NAME,
        context=st.dictionaries(FIELDS, JSON_DATA, max_size=2),
        events=st.lists(st.tuples(NAMES, JSON_DATA), max_size=2).map(tuple),
        expect=MAYBE_NAME,
        expect_context=st.dictionaries(TEXTS, JSON_DATA, max_size=2),
        intents=st.none() | NAME_LISTS,
        outcomes=st.none() | NAME_LISTS,
    ),
    max_size=2,
).map(tuple)
MIGRATIONS = st.dictionaries(
    NAMES,
    st.builds(
        Migration,
        version=st.just(""),
        states=st.dictionaries(NAMES, TEXTS, max_size=2),
        updates=UPDATES,
    ),
    max_size=2,
).map(lambda found: tuple(msgspec.structs.replace(one, version=key) for key, one in found.items()))


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    states = draw(STATES)
    owned = draw(st.sets(FIELDS, max_size=2))
    context = {
        name: null_until_set(field_of(name, text))
        for name, text in draw(st.dictionaries(FIELDS, DECLARATIONS, max_size=3)).items()
    }
    internal = [str(row.event) for one in states.values() for row in one.always if row.event]
    return Contract(
        name=draw(NAMES),
        version=draw(st.sampled_from(["1", "2", "1.0", "1.10", "1.0.0", "007"])),
        initial=draw(st.sampled_from(sorted(states))),
        states=states,
        events=draw(EVENTS),
        any=draw(rows_for(NAMES)),
        context=context | {name: Field(name=name, type=INT, default=0) for name in owned},
        owned=tuple(sorted(owned)),
        internal=tuple(dict.fromkeys(internal)),
        params=tuple(
            Param(code, data)
            for code, data in draw(st.dictionaries(NAMES, PARAM_DATA, max_size=2)).items()
        ),
        migrate=draw(MIGRATIONS),
        tests=draw(PLAYS),
        on_error=draw(MAYBE_NAME),
        advance=draw(st.sampled_from(["consumer", "engine"])),
        text=draw(TEXTS),
        **{flag: draw(st.booleans()) for flag in ("open", "merge", "strict", "two_step")},
        **{flag: draw(st.booleans()) for flag in ("keep_refused_first", "require_consumer")},
        ack_gate=draw(st.booleans()),
        **{names: draw(NAME_LISTS) for names in ("touched", "indexed", "begins", "publish")},
    )


UNWRITTEN = {"places", "mark", "when_mark", "at", "dialect", "policy"}


def bare(value: object) -> object:
    """Reduce what was read to plain data: no places, expressions as text, rows by their event."""
    match value:
        case Contract() | State():
            said = bare_fields(value)
            for part in ("any", "rows"):
                if part in said:
                    said[part] = grouped(getattr(value, part))
            return said
        case Event():
            return bare_fields(value) | {"text": ""}
        case Requirement() | Row() | Effect() | Timer() | Hook() | Rule() | Retry() | Play():
            return bare_fields(value)
        case Update() | Argument() | Param() | Migration() | Field():
            return bare_fields(value)
        case Struct() if hasattr(value, "at"):
            return write_expression(value)  # type: ignore[arg-type]
        case Mapping():
            return {key: bare(item) for key, item in value.items()}
        case list() | tuple():
            return [bare(item) for item in value]
        case float():
            return Decimal(repr(value))
        case _:
            return value


def bare_fields(record: Struct) -> dict[str, object]:
    names = [name for name in record.__struct_fields__ if name not in UNWRITTEN]
    return {name: bare(getattr(record, name)) for name in names}


def grouped(rows: tuple[Row, ...]) -> dict[str, object]:
    found: dict[str, list[object]] = {}
    for row in rows:
        found.setdefault(str(row.event), []).append(bare(row))
    return dict(found)


def reread(contract: Contract) -> Contract:
    text = write_native(contract)
    read = read_contract(Source(text, "written"))
    assert read.contract is not None, text
    assert read.problems == [], text
    return read.contract


def read_file(name: str | Path, *, policy: Path | None = None) -> Contract:
    found = find_source(name)
    beside = None if policy is None else find_source(policy)
    assert isinstance(found, Source)
    assert not hasattr(beside, "code")
    read = read_contract(found, policy=beside)  # type: ignore[arg-type]
    assert read.contract is not None
    return read.contract


@given(contracts())
def test_whatever_is_written_is_read_back_the_same(contract: Contract) -> None:
    again = reread(contract)
    assert again.hash == contract.hash
    assert bare(again) == bare(contract)
    assert [param.data for param in again.params] == [param.data for param in contract.params]


@given(contracts())
def test_what_is_written_is_written_again_in_the_same_words(contract: Contract) -> None:
    plain_contract = msgspec.structs.replace(
        contract,
        events={
            name: msgspec.structs.replace(event, text="") for name, event in contract.events.items()
        },
    )
    text = write_native(plain_contract)
    assert write_native(reread(plain_contract)) == text


class Texts(yaml.SafeLoader):
    """A reader of YAML 1.1 that keeps numbers apart from texts and leaves times alone."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, rule) for tag, rule in rules if not tag.endswith("timestamp")]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def stringly(value: object) -> object:
    match value:
        case Mapping():
            return {str(key): stringly(item) for key, item in value.items()}
        case list():
            return [stringly(item) for item in value]
        case str() | bool() | None:
            return value
        case _:
            return "a number"


@given(contracts().map(lambda contract: msgspec.structs.replace(contract, params=(), tests=())))
def test_a_reader_of_yaml_1_1_sees_the_same_texts(contract: Contract) -> None:
    text = write_native(contract)
    root, _ = read_source(text)
    assert root is not None
    assert stringly(yaml.load(text, Loader=Texts)) == stringly(plain(root))  # noqa: S506


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_contract_survives_writing(name: str) -> None:
    contract = read_file(name)
    again = reread(contract)
    assert again.hash == contract.hash
    assert bare(again) == bare(contract)


@pytest.mark.parametrize("path", sorted((DATA / "fsm").glob("*.yaml")), ids=lambda path: path.name)
def test_a_contract_of_the_fsm_dialect_becomes_native(path: Path) -> None:
    contract = read_file(path)
    again = reread(contract)
    assert again.dialect == "native"
    assert again.hash == contract.hash
    assert bare(again) == bare(contract)


def test_a_workflow_with_its_policy_becomes_native() -> None:
    contract = read_file(
        WORKFLOW / "vendor_registration.definition.json",
        policy=WORKFLOW / "vendor_registration.policy.json",
    )
    again = reread(contract)
    assert again.hash == contract.hash
    assert bare(again) == bare(contract)
    assert again.params[0].data == b'{ "approval": { "role": "procurement", "needed": 1 } }'


def state(name: str, **parts: object) -> dict[str, State]:
    return {name: State(name=name, **parts)}  # type: ignore[arg-type]


def test_short_parts_stand_on_a_line_and_long_ones_in_a_block() -> None:
    contract = Contract(
        name="door",
        version="2",
        initial="shut",
        states={
            **state(
                "shut",
                rows=(
                    Row(event="open", to="ajar", when=parse_expression("not locked")),
                    Row(event="open", otherwise=True),
                    Row(event="lock", updates=(Update("locked", Const(value=True)),)),
                ),
                timers=(Timer(after=timedelta(minutes=90), event="open"),),
            ),
            **state("ajar", end="ok"),
        },
        events={"open": Event(name="open", text="pushed"), "lock": Event(name="lock")},
        context={"locked": field_of("locked", "bool = false")},
    )
    assert write_native(contract) == (
        "contract: door\n"
        "version: 2\n"
        "context: {locked: bool = false}\n"
        "\n"
        "events:\n"
        "  open: {}  # pushed\n"
        "  lock: {}\n"
        "\n"
        "states:\n"
        "  shut:\n"
        "    after: {1h30m: open}\n"
        "    open: [{when: not locked, to: ajar}, {else: stay}]\n"
        "    lock: {set: {locked: true}}\n"
        "\n"
        "  ajar: {end: ok}\n"
    )


def test_an_event_named_like_a_key_stands_under_on() -> None:
    rows = (Row(event="enter", to="a"), Row(event="go", to="a"))
    text = write_native(Contract(name="x", initial="a", states=state("a", rows=rows)))
    assert 'a: {go: a, "on": {enter: a}}' in text


def test_rows_of_different_events_are_gathered_and_keep_their_own_order() -> None:
    rows = (
        Row(event="a", to="s", name="first"),
        Row(event="b", to="s"),
        Row(event="a", name="second"),
    )
    contract = Contract(name="x", initial="s", states=state("s", rows=rows))
    again = reread(contract)
    assert again.hash == contract.hash
    assert [row.name for row in again.states["s"].rows] == ["first", "second", ""]


def test_deadlines_of_the_same_length_are_all_kept_in_order() -> None:
    timers = tuple(Timer(after=timedelta(hours=1), event=name) for name in "abc")
    again = reread(Contract(name="x", initial="s", states=state("s", timers=timers)))
    assert [timer.event for timer in again.states["s"].timers] == ["a", "b", "c"]


def test_owned_fields_stay_owned() -> None:
    contract = Contract(
        name="x",
        initial="s",
        states=state("s"),
        context={"tries": field_of("tries", "json = 0")},
        owned=("tries",),
    )
    again = reread(contract)
    assert again.owned == ("tries",)
    assert again.context["tries"].type == contract.context["tries"].type


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}',
        b'{ "a" : [ 1.50, 1e3, -0 ] }',
        b'{\n      "a": {\n        "b": "\\ud83d\\ude00 \\/ \\u0000"\n      }\n    }',
        b'{\t"a":\t1}',
        '{"a": "\x7f\x85\u2028"}'.encode(),
        b"null",
        b'"text"',
        b"12345678901234567890",
    ],
)
def test_parameter_sets_are_kept_byte_for_byte(data: bytes) -> None:
    contract = Contract(name="x", initial="s", states=state("s"), params=(Param("P", data),))
    assert reread(contract).params[0].data == data


def test_data_that_yaml_cannot_hold_makes_the_whole_json() -> None:
    data = b'{"a": "\x7f"}'
    contract = Contract(name="x", initial="s", states=state("s"), params=(Param("P", data),))
    assert json.loads(write_native(contract))["params"]["P"] == {"a": "\x7f"}


def test_decimals_of_tests_keep_their_value() -> None:
    play = Play(events=(("pay", {"amount": Decimal("4.50"), "far": Decimal("1E+400")}),))
    contract = Contract(name="x", initial="s", states=state("s"), tests=(play,))
    assert reread(contract).tests[0].events == play.events


@pytest.mark.parametrize(
    "contract",
    [
        Contract(name="x", initial="stay", states=state("stay", rows=(Row(event="a", to="stay"),))),
        Contract(name="x", initial="s", states=state("s"), internal=("CONTINUE",)),
        Contract(name="x", initial="s", states=state("s"), owned=("tries",)),
        Contract(name="x", initial="s", states=state("s"), params=(Param("P", b"not json"),)),
        Contract(name="x", initial="s", states={}),
    ],
    ids=["stay", "internal", "owned", "json", "empty"],
)
def test_what_the_native_form_cannot_say_is_never_written_as_something_else(
    contract: Contract,
) -> None:
    with pytest.raises(ContractError):
        write_native(contract)


def test_a_context_field_without_a_default_is_null_until_it_is_set() -> None:
    field = null_until_set(field_of("a", "int"))
    contract = Contract(name="x", initial="s", states=state("s"), context={"a": field})
    assert reread(contract).context["a"].default is None
    assert reread(contract).context["a"].type.nullable
