"""Claims about the pictures of a contract."""

from __future__ import annotations

import html
import itertools
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.contract.expression.expr import Compare, Const, Expr, Logic, Name
from interlock.contract.model import Contract, Effect, Hook, Row, State, Timer
from interlock.diagram import Form, draw
from interlock.diagram.graph import Label, build_graph, clean_text
from interlock.diagram.layers import Link, Size
from interlock.diagram.layout import Layout, lay_out
from interlock.diagram.simplex import Span, settle
from interlock.diagram.ways import Piece, assign_tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMS: tuple[Form, ...] = get_args(Form)
SVG = "{http://www.w3.org/2000/svg}"
Rect = tuple[float, float, float, float]  # left, top, right, foot


def equal(field: str, value: object) -> Expr:
    return Compare("==", Name(field), Const(value))


def both(*conditions: Expr) -> Expr:
    return Logic("and", conditions)


TRIES_LEFT = Compare("<", Name("retry_count"), Const(3))
NO_TRIES_LEFT = Compare(">=", Name("retry_count"), Const(3))
POSTGRES, CONSUL = equal("postgres_applied", value=True), equal("consul_applied", value=True)
TRANSITIONS: list[tuple[str, str, str, Expr | None]] = [
    ("unregistered", "REGISTER", "validating", None),
    ("validating", "VALIDATION_PASSED", "registering_postgres", equal("result", "passed")),
    ("validating", "VALIDATION_FAILED", "failed", equal("result", "failed")),
    ("registering_postgres", "POSTGRES_SUCCEEDED", "postgres_registered", POSTGRES),
    ("registering_postgres", "POSTGRES_FAILED", "failed", equal("postgres_applied", value=False)),
    ("postgres_registered", "CONTINUE", "registering_consul", None),
    ("registering_consul", "CONSUL_SUCCEEDED", "registered", CONSUL),
    ("registering_consul", "CONSUL_FAILED", "partial", equal("consul_applied", value=False)),
    ("partial", "RETRY", "registering_consul", both(POSTGRES, TRIES_LEFT)),
    ("partial", "RETRY_POSTGRES", "registering_postgres", both(CONSUL, TRIES_LEFT)),
    ("partial", "RECOVERY_COMPLETE", "registered", both(POSTGRES, CONSUL)),
    ("registered", "DEREGISTER", "deregistering", None),
    ("deregistering", "DEREGISTRATION_COMPLETE", "deregistered", None),
    ("failed", "RETRY", "validating", TRIES_LEFT),
    ("failed", "ABANDON", "deregistered", None),
    ("*", "FATAL_ERROR", "failed", None),
    ("partial", "RETRY_EXHAUSTED", "failed", NO_TRIES_LEFT),
]
KINDS = {
    "unregistered": "initial",
    "validating": "operational",
    "registering_postgres": "operational",
    "postgres_registered": "snapshot",
    "registering_consul": "operational",
    "registered": "success",
    "partial": "error",
    "deregistering": "operational",
    "deregistered": "terminal",
    "failed": "error",
}
ENTERING = {
    "validating": "validate_payload",
    "registering_postgres": "upsert_in_postgres",
    "registering_consul": "register_in_consul",
    "failed": "log_failure",
}
DEADLINES = {"registering_postgres": ("POSTGRES_FAILED", 10), "validating": ("VALIDATION_LATE", 5)}


def rows_of(state: str) -> tuple[Row, ...]:
    found = [each for each in TRANSITIONS if each[0] == state]
    return tuple(Row(event=event, to=to, when=when) for _, event, to, when in found)


def timers_of(state: str) -> tuple[Timer, ...]:
    if state not in DEADLINES:
        return ()
    event, seconds = DEADLINES[state]
    return (Timer(after=timedelta(seconds=seconds), event=event),)


REGISTRATION = Contract(
    name="registration",
    version="1.0.0",
    initial="unregistered",
    states={
        name: State(
            name=name,
            kind=kind,  # type: ignore[arg-type]
            end="ok" if kind == "terminal" else None,
            rows=rows_of(name),
            enter=(Effect(intent=ENTERING[name]),) if name in ENTERING else (),
            timers=timers_of(name),
        )
        for name, kind in KINDS.items()
    },
    any=rows_of("*"),
)
ORDER = Contract(
    name="order",
    version="2",
    initial="cart",
    states={
        "cart": State(
            name="cart",
            rows=(
                Row(event="add_item"),
                Row(event="pay", to="charging", when=Compare(">=", Name("paid"), Name("total"))),
                Row(event="pay", otherwise=True),
            ),
        ),
        "charging": State(
            name="charging",
            enter=(Effect(intent="charge_card", done="charged", failed="declined"),),
            timers=(Timer(after=timedelta(minutes=15), event="give_up"),),
            rows=(
                Row(event="charged", to="packing"),
                Row(event="declined", to="charging", when=Compare("<", Name("tries"), Const(2))),
                Row(event="declined", to="failed", otherwise=True),
                Row(event="give_up", to="failed"),
            ),
        ),
        "packing": State(name="packing", rows=(Row(event="packed", to="shipped"),)),
        "shipped": State(name="shipped", end="ok"),
        "cancelled": State(name="cancelled", end="ok"),
        "failed": State(name="failed", end="error"),
    },
    any=(Row(event="cancel", to="cancelled"),),
)
NASTY = ['a "b" <c> & d', "état 状态", "x:y;z", "[*]", "end", "note", "s1", "%% {c}", "C\\", "a\nb"]


def ring(names: list[str]) -> Contract:
    """Return a contract that goes from name to name by events of the same names."""
    following = [*names[1:], names[0]]
    states = {
        name: State(
            name=name, rows=(Row(event=name, to=to, when=equal("x", name)),), text=f"in {name}"
        )
        for name, to in zip(names, following, strict=True)
    }
    return Contract(name=names[0], initial=names[0], states=states)


def complete(count: int) -> Contract:
    """Return a contract that goes from everywhere to everywhere."""
    names = [f"state_{number}" for number in range(count)]
    rows = tuple(Row(event=f"to_{name}", to=name) for name in names)
    return Contract(
        name="all", initial=names[0], states={name: State(name=name, rows=rows) for name in names}
    )


def scattered(count: int, edges: int) -> Contract:
    """Return a contract with edges that jump about in a fixed way."""
    names = [f"state_{number}" for number in range(count)]
    rows: dict[str, list[Row]] = {name: [] for name in names}
    place = 1
    for number in range(edges):
        place = place * 48_271 % 2_147_483_647
        source, target = names[place % count], names[place // count % count]
        rows[source].append(Row(event=f"e{number}", to=target))
    states = {name: State(name=name, rows=tuple(rows[name])) for name in names}
    return Contract(name="scattered", initial=names[0], states=states)


LONG_WAIT = Contract(
    name="wait",
    initial="a",
    states={
        "a": State(
            name="a",
            rows=(Row(event="late", to="b"),),
            timers=tuple(Timer(after=timedelta(microseconds=-n), event="late") for n in range(40)),
        )
    },
)
SMALL = st.integers(min_value=0, max_value=7)
WORDS = st.text(max_size=12)
GUARDS = st.none() | st.builds(equal, WORDS, WORDS | st.integers() | st.booleans() | st.none())


@st.composite
def contracts(drawn: st.DrawFn, words: st.SearchStrategy[str] = WORDS) -> Contract:
    names = drawn(st.lists(words, min_size=1, max_size=8, unique=True))
    known = st.sampled_from(names)
    rows = st.lists(
        st.builds(
            Row,
            event=words,
            to=st.none() | known | words,
            when=GUARDS,
            otherwise=st.booleans(),
        ),
        max_size=5,
    ).map(tuple)
    always = st.lists(st.builds(Row, event=st.none(), to=known), max_size=1).map(tuple)
    timers = st.lists(
        st.builds(Timer, after=st.timedeltas(), event=st.none() | words, repeat=st.booleans()),
        max_size=2,
    ).map(tuple)
    states = {
        name: State(
            name=name,
            rows=drawn(rows),
            always=drawn(always),
            timers=drawn(timers),
            enter=tuple(Effect(intent=word) for word in drawn(st.lists(words, max_size=2))),
            hooks=tuple(Hook(route=word) for word in drawn(st.lists(words, max_size=1))),
            ignore=tuple(drawn(st.lists(words, max_size=1))),
            end=drawn(st.sampled_from([None, None, "ok", "error"])),
        )
        for name in names
    }
    return Contract(name=drawn(words), initial=drawn(known | words), states=states, any=drawn(rows))


def parse(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  # our own text


def unescape(form: Form, text: str) -> str:
    """Return a text as its reader shows it."""
    match form:
        case "mermaid":
            return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)
        case "dot":
            plain = html.unescape(text)  # in labels of HTML a backslash is only a backslash
            return plain + plain.replace('\\"', '"').replace("\\\\", "\\")
        case "svg":
            return "\n".join(parse(text).itertext())


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "0"))


def boxes_in(svg: ET.Element) -> list[Rect]:
    """Return the boxes of states, as in the group they stand in."""
    found: list[Rect] = []
    for rect in svg.iterfind(f"{SVG}g/{SVG}g/{SVG}rect"):
        if rect.get("class", "").startswith("box"):
            x, y = number(rect, "x"), number(rect, "y")
            found.append((x, y, x + number(rect, "width"), y + number(rect, "height")))
    return found


def overlap(one: Rect, other: Rect) -> bool:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return across > 0 and min(one[3], other[3]) - max(one[1], other[1]) > 0


def thin(here: tuple[float, float], there: tuple[float, float]) -> Rect:
    """Return a straight piece of a way as a rectangle that touches what it runs along."""
    (x, y), (u, v) = here, there
    return (min(x, u) - 0.5, min(y, v) + 0.5, max(x, u) + 0.5, max(y, v) - 0.5)


# What is in the picture


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("contract", [REGISTRATION, ORDER], ids=["registration", "order"])
def test_every_state_and_event_is_in_the_picture(form: Form, contract: Contract) -> None:
    text = unescape(form, draw(contract, form))
    rows = [row for state in contract.states.values() for row in state.rows]
    for name in [*contract.states, *(str(row.event) for row in (*rows, *contract.any))]:
        assert name in text


@given(contracts(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)))
def test_every_state_and_event_of_any_contract_is_in_its_picture(contract: Contract) -> None:
    rows = [row for state in contract.states.values() for row in state.rows]
    for form in FORMS:
        text = unescape(form, draw(contract, form))
        for name in [*contract.states, *(str(row.event) for row in (*rows, *contract.any))]:
            assert clean_text(name) in text


@given(
    contract=contracts(),
    counts=st.dictionaries(WORDS, st.integers(min_value=0), max_size=3),
    details=st.booleans(),
)
@example(contract=ring(NASTY), counts={"gone": 3}, details=True)
@example(contract=LONG_WAIT, counts={}, details=False)
@example(contract=Contract(name="", initial="nowhere", states={}), counts={}, details=True)
def test_any_contract_has_a_picture(
    contract: Contract, counts: dict[str, int], *, details: bool
) -> None:
    for form in FORMS:
        draw(contract, form, counts=counts, details=details).encode()


@given(contracts())
@example(ring(NASTY))
def test_the_svg_of_any_contract_is_well_formed(contract: Contract) -> None:
    assert parse(draw(contract, "svg")).tag == f"{SVG}svg"


def test_edges_between_the_same_two_states_are_one_with_several_labels() -> None:
    graph = build_graph(ORDER, counts={}, details=True)
    names = [node.name for node in graph.nodes]
    found = [
        edge.labels
        for edge in graph.edges
        if (edge.source, edge.target) == (names.index("charging"), names.index("failed"))
    ]
    assert found == [(Label("declined", "else"), Label("give_up", "", "after 15m"))]


def test_a_row_for_any_state_is_one_edge() -> None:
    graph = build_graph(REGISTRATION, counts={}, details=True)
    assert [edge.labels for edge in graph.edges if edge.source is None] == [(Label("FATAL_ERROR"),)]
    for form in FORMS:
        assert "any state" in draw(REGISTRATION, form)
        assert "any state" not in draw(ring(["a", "b"]), form)


def test_a_stay_is_a_note_and_a_named_return_is_a_loop() -> None:
    graph = build_graph(ORDER, counts={}, details=True)
    assert graph.nodes[0].details == ("add_item: stay", "pay: stay [else]")
    loops = [edge for edge in graph.edges if edge.source == edge.target]
    assert [graph.nodes[edge.target].name for edge in loops] == ["charging"]


def test_a_deadline_stands_at_the_edge_it_leads_to_or_else_in_the_state() -> None:
    text = draw(REGISTRATION, "mermaid")
    assert "POSTGRES_FAILED [postgres_applied == false] after 10s" in text
    assert "validating : after 5s#58; VALIDATION_LATE" in text


def test_what_happens_without_an_event_is_named_always() -> None:
    states = {"a": State(name="a", always=(Row(event=None, to="b"),)), "b": State(name="b")}
    for form in FORMS:
        assert "always" in draw(Contract(name="n", initial="a", states=states), form)


def test_the_kind_of_a_state_is_inferred_from_how_it_begins_and_ends() -> None:
    nodes = build_graph(ORDER, counts={}, details=True).nodes
    assert {node.name: (node.kind, node.is_end) for node in nodes} == {
        "cart": ("initial", False),
        "charging": ("operational", False),
        "packing": ("operational", False),
        "shipped": ("success", True),
        "cancelled": ("success", True),
        "failed": ("error", True),
    }


@pytest.mark.parametrize("form", FORMS)
def test_states_that_are_only_mentioned_are_drawn_too(form: Form) -> None:
    states = {"a": State(name="a", rows=(Row(event="go", to="nowhere"),))}
    text = draw(Contract(name="n", initial="a", states=states), form, counts={"removed": 4})
    assert "nowhere" in text
    assert "removed" in text
    assert "4" in text


@pytest.mark.parametrize("form", FORMS)
def test_live_instances_are_shown_with_their_state(form: Form) -> None:
    text = unescape(form, draw(ORDER, form, counts={"packing": 417}))
    assert "417" in text
    assert "417" not in draw(ORDER, form)


@pytest.mark.parametrize("form", FORMS)
def test_without_details_there_are_names_and_events_only(form: Form) -> None:
    text = unescape(form, draw(REGISTRATION, form, details=False))
    assert "POSTGRES_FAILED" in text
    assert "upsert_in_postgres" not in text
    assert "retry_count" not in text


@pytest.mark.parametrize("form", FORMS)
def test_a_long_guard_is_cut_where_it_is_drawn(form: Form) -> None:
    guard = both(*(equal(f"field_{number}", number) for number in range(40)))
    states = {"a": State(name="a", rows=(Row(event="go", to="b", when=guard),))}
    text = draw(Contract(name="n", initial="a", states=states), form)
    assert "…" in text
    lines = [line for line in text.splitlines() if "field_39" in line]
    assert all(line.startswith(("<desc", "go [")) for line in lines)


# Mermaid


def test_mermaid_has_its_beginning_and_ends() -> None:
    lines = draw(ORDER, "mermaid").splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    [*] --> cart" in lines
    assert {"    shipped --> [*]", "    cancelled --> [*]", "    failed --> [*]"} <= set(lines)
    assert "    charging --> failed : declined [else]<br/>give_up after 15m" in lines


@pytest.mark.parametrize(
    "name", [*NASTY[:6], *NASTY[7:], "State", "class", "any_state", "toString", "2nd", "a-b"]
)
def test_mermaid_gives_a_name_that_is_no_identifier_another_id(name: str) -> None:
    lines = draw(ring([name, "plain"]), "mermaid").splitlines()
    assert any(re.fullmatch(r'    state "[^"]+" as s1', line) for line in lines)
    assert any(line.startswith("    plain --> s1 : ") for line in lines)


def test_mermaid_never_gives_two_states_one_id() -> None:
    lines = draw(ring(["a b", "s1", "c d"]), "mermaid").splitlines()
    assert lines[1:4] == [
        *('    state "a b" as s1', '    state "s1" as s2', '    state "c d" as s3'),
    ]


@given(contracts())
@example(ring(NASTY))
def test_nothing_written_into_mermaid_can_end_its_line_or_its_text(contract: Contract) -> None:
    shape = re.compile(
        r"""[ ]{4}(?: state[ ]"[^":;]*"[ ]as[ ]\w+ | \w+ | \w+[ ]:[ ][^":<>{}%]*
        | (?:\w+|\[\*\])[ ]-->[ ](?:\w+|\[\*\])(?:[ ]:[ ](?:[^":<>{}%]|<br/>)*)?
        | class(?:Def)?[ ].* )""",
        re.VERBOSE,
    )
    first, *lines = draw(contract, "mermaid").split("\n")[:-1]
    assert first == "stateDiagram-v2"
    for line in lines:
        assert shape.fullmatch(re.sub(r"#\d+;", "", line)), line


# Graphviz


def assert_shaped_as_dot(text: str) -> None:
    string = r'"(?:[^"\\]|\\.)*"'
    value = rf"(?:{string}|<.*>|[\w.]+)"
    pairs = rf"\[\w+={value}(?:, \w+={value})*\]"
    shape = re.compile(rf"  (?:graph|node|edge|{string}(?: -> {string})?)(?: {pairs})?;")
    first, *lines, last = text.split("\n")[:-1]
    assert re.fullmatch(rf"digraph {string} {{", first)
    assert last == "}"
    for line in lines:
        assert shape.fullmatch(line), line


@given(contracts())
@example(ring(NASTY))
def test_dot_is_quoted_whatever_the_names_are(contract: Contract) -> None:
    assert_shaped_as_dot(draw(contract, "dot", counts={"a": 1}))


@pytest.mark.parametrize("contract", [REGISTRATION, ORDER, ring(NASTY)], ids=lambda c: c.name[:5])
def test_graphviz_reads_it_where_it_is_installed(contract: Contract) -> None:
    text = draw(contract, "dot", counts={"failed": 2})
    program = shutil.which("dot")
    if program is None:
        assert_shaped_as_dot(text)
        return
    done = subprocess.run([program, "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    shown = "\n".join(parse(done.stdout.decode()).itertext())
    for name in contract.states:
        assert clean_text(name) in shown.replace("\N{NO-BREAK SPACE}", " ")


# SVG


@pytest.mark.parametrize("contract", [REGISTRATION, ORDER, ring(NASTY)], ids=lambda c: c.name[:5])
def test_the_svg_needs_nothing_but_itself(contract: Contract) -> None:
    text = draw(contract, "svg")
    svg = parse(text)
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} <= {
        *("svg", "title", "desc", "style", "g", "rect", "circle", "path", "text", "tspan")
    }
    assert not [name for e in svg.iter() for name in e.attrib if "href" in name or name[:2] == "on"]
    style = svg.findtext(f"{SVG}style") or ""
    assert "url(" not in style
    assert "@import" not in style


def test_the_svg_can_be_read_aloud_and_by_night() -> None:
    svg = parse(draw(REGISTRATION, "svg"))
    title, description = svg[0], svg[1]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert svg.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert title.text == "registration · version 1.0.0"
    assert "partial → failed: RETRY_EXHAUSTED [retry_count >= 3]" in (description.text or "")
    style = svg.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme:dark" in style
    assert "system-ui" in style


def test_two_pictures_on_a_page_do_not_share_ids() -> None:
    ids = [e.get("id") for c in (ORDER, REGISTRATION) for e in parse(draw(c, "svg")).iter()]
    named = [each for each in ids if each]
    assert len(named) == len(set(named)) == 4


def test_ends_and_successes_have_a_second_border() -> None:
    svg = parse(draw(REGISTRATION, "svg"))
    groups = [g for g in svg.iterfind(f"{SVG}g/{SVG}g") if len(g.findall(f"{SVG}rect")) == 2]
    names = [(g.findtext(f"{SVG}title") or "").split(" ")[0] for g in groups]
    assert names == ["registered", "deregistered"]


def test_the_legend_has_the_kinds_in_use_and_no_others() -> None:
    keys = [e.text for e in parse(draw(ORDER, "svg")).iter(f"{SVG}text") if e.get("class") == "key"]
    assert keys == [
        *("initial", "operational", "success", "error"),
        *("ends here", "any state that has not ended"),
    ]


@given(contracts())
@example(REGISTRATION)
@example(ORDER)
@example(complete(12))
def test_everything_is_inside_the_view_and_no_box_is_on_another(contract: Contract) -> None:
    svg = parse(draw(contract, "svg", counts=dict.fromkeys(contract.states, 1234)))
    width, height = (float(part) for part in svg.get("viewBox", "").split()[2:])
    group = next(svg.iterfind(f"{SVG}g"))
    moved = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", group.get("transform", ""))
    assert moved
    x, y = float(moved[1]), float(moved[2])
    boxes = boxes_in(svg)
    for one, other in itertools.combinations(boxes, 2):
        assert not overlap(one, other)
    for left, top, right, foot in boxes:
        assert left + x >= 0
        assert top + y >= 0
        assert right + x <= width
        assert foot + y <= height
    for text in group.iter(f"{SVG}text"):
        assert 0 <= number(text, "x") + x <= width
        assert 0 <= number(text, "y") + y <= height


# The layout under it


@st.composite
def graphs(drawn: st.DrawFn) -> tuple[list[Size], list[Link]]:
    widths = drawn(st.lists(st.integers(20, 120), min_size=1, max_size=12))
    ends = st.tuples(
        st.integers(0, len(widths) - 1), st.integers(0, len(widths) - 1), st.integers(0, 150)
    )
    edges = drawn(st.lists(ends, max_size=25, unique_by=lambda edge: edge[:2]))
    sizes = [Size(width, width, 20 + width % 50) for width in widths]
    links = [
        Link(source, target, Size(8, label, 19) if label > 20 else Size(0, 0, 0))
        for source, target, label in edges
        if source != target
    ]
    return sizes, links


def rects_of(sizes: list[Size], layout: Layout) -> list[Rect]:
    return [
        (x - size.left, y - size.height / 2, x + size.right, y + size.height / 2)
        for size, (x, y) in zip(sizes, layout.middles, strict=True)
    ]


def labels_of(links: list[Link], layout: Layout) -> Iterator[Rect]:
    for link, route in zip(links, layout.routes, strict=True):
        if link.label.height:
            x, y = route.label
            half = link.label.height / 2
            yield (x - 2, y - half, x + link.label.right, y + half)


@given(graphs())
def test_boxes_and_labels_keep_clear_of_one_another(drawn: tuple[list[Size], list[Link]]) -> None:
    sizes, links = drawn
    layout = lay_out(sizes, links, 0)
    everything = [*rects_of(sizes, layout), *labels_of(links, layout)]
    for one, other in itertools.combinations(everything, 2):
        assert not overlap(one, other)
    for left, top, right, foot in everything:
        assert 0 <= left < right <= layout.width
        assert 0 <= top < foot <= layout.height


@given(graphs())
def test_no_edge_runs_through_a_box_or_a_label(drawn: tuple[list[Size], list[Link]]) -> None:
    sizes, links = drawn
    layout = lay_out(sizes, links, 0)
    boxes = rects_of(sizes, layout)
    labels = [(left + 4, top, right, foot) for left, top, right, foot in labels_of(links, layout)]
    for route in layout.routes:
        for here, there in itertools.pairwise(route.points):
            assert here[0] == there[0] or here[1] == there[1]
            assert not any(overlap(thin(here, there), each) for each in [*boxes, *labels])


@given(graphs())
def test_an_edge_leads_from_its_source_to_its_target(drawn: tuple[list[Size], list[Link]]) -> None:
    sizes, links = drawn
    layout = lay_out(sizes, links, 0)
    boxes = rects_of(sizes, layout)
    for link, route in zip(links, layout.routes, strict=True):
        for vertex, (x, y) in ((link.source, route.points[0]), (link.target, route.points[-1])):
            left, top, right, foot = boxes[vertex]
            assert left < x < right
            assert y in {top, foot}


def test_a_chain_of_states_stands_in_one_straight_column() -> None:
    sizes = [Size(40, 40, 30)] * 5
    layout = lay_out(sizes, [Link(n, n + 1, Size(8, 60, 19)) for n in range(4)], 0)
    assert len({x for x, _ in layout.middles}) == 1
    assert [y for _, y in layout.middles] == sorted(y for _, y in layout.middles)
    assert all(len({x for x, _ in route.points}) == 1 for route in layout.routes)


def test_what_comes_first_stands_above_what_it_leads_to_and_returns_from() -> None:
    layout = lay_out([Size(40, 40, 30)] * 3, [Link(0, 1), Link(1, 2), Link(2, 0)], 0)
    heights = [y for _, y in layout.middles]
    assert heights == sorted(heights)
    assert layout.routes[2].points[0][1] > layout.routes[2].points[-1][1]


def test_parts_that_nothing_connects_are_packed_about_as_wide_as_high() -> None:
    layout = lay_out([Size(40, 40, 30)] * 200, [], 0)
    assert 0.5 < layout.width / layout.height < 2


def test_edges_side_by_side_turn_where_they_need_not_cross() -> None:
    inner, outer = assign_tracks([Piece(0, 100), Piece(20, 200)])
    assert outer < inner
    inner, outer = assign_tracks([Piece(0, -100), Piece(-20, -200)])
    assert outer < inner
    assert assign_tracks([Piece(0, 50), Piece(100, 150)]) == [0, 0]


# Cost and sameness


def test_a_large_contract_is_drawn_with_all_its_edges() -> None:
    text = draw(scattered(200, 1000), "svg")
    assert len(boxes_in(parse(text))) == 200
    assert "too many to draw" not in text


def test_edges_too_many_to_draw_are_told_in_words() -> None:
    text = draw(complete(56), "svg")
    assert re.search(r"[\d,]+ of 3,080 edges are too many to draw", text)
    assert "state_0 → state_55: to_state_55" in text


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_diagram import FORMS, ORDER, REGISTRATION, draw, scattered
for contract in (ORDER, REGISTRATION, scattered(25, 50)):
    for form in FORMS:
        sys.stdout.write(draw(contract, form))
"""


def test_the_same_contract_has_the_same_picture_in_every_run() -> None:
    folder = str(Path(__file__).parent)
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, folder],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert b"REGISTER" in runs[0]


@given(st.lists(st.tuples(SMALL, SMALL, st.integers(0, 3), st.integers(0, 4)), max_size=10))
def test_the_simplex_finds_values_that_are_allowed_and_cheapest(
    wanted: list[tuple[int, int, int, int]],
) -> None:
    count = 4
    ends = [(a % count, b % count, length, weight) for a, b, length, weight in wanted]
    spans = [Span(min(a, b), max(a, b), *rest) for a, b, *rest in ends if a != b]
    spans += [Span(number, number + 1, 0, 1) for number in range(count - 1)]
    found = settle(spans, [0, 4, 8, 12], effort=100_000)

    def cost(values: tuple[int, ...]) -> int | None:
        steps = [values[span.head] - values[span.tail] for span in spans]
        if any(step < span.length for step, span in zip(steps, spans, strict=True)):
            return None
        return sum(step * span.weight for step, span in zip(steps, spans, strict=True))

    costs = [cost((0, *rest)) for rest in itertools.product(range(10), repeat=count - 1)]
    assert cost(tuple(found)) == min(each for each in costs if each is not None)
