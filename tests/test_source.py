"""The source reader: what it reads, where it says things stand, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.contract.problem import Mark, Problem
from interlock.contract.source.build import MAX_DEPTH, MAX_NODES, MAX_PROBLEMS
from interlock.contract.source.node import Node, as_json, plain
from interlock.contract.source.read import LOADER, MAX_BYTES, Loader, read_source

LOADERS: list[Loader] = [yaml.SafeLoader]
if yaml.__with_libyaml__:
    LOADERS.append(yaml.CSafeLoader)

both = pytest.mark.parametrize("loader", LOADERS)


def read(text: str | bytes, loader: Loader = LOADER) -> Node:
    node, problems = read_source(text, loader=loader)
    assert problems == []
    assert node is not None
    return node


def value(text: str | bytes, loader: Loader = LOADER) -> Any:  # any value
    return plain(read(text, loader))


def told(text: str | bytes, loader: Loader = LOADER) -> list[Problem]:
    problems = read_source(text, loader=loader)[1]
    assert problems
    return problems


def only(text: str | bytes, loader: Loader = LOADER) -> Problem:
    problems = told(text, loader)
    assert len(problems) == 1
    return problems[0]


def at(found: Problem) -> tuple[int, int]:
    return found.line, found.column


def child(node: Node, *path: str | int) -> Node:
    for step in path:
        match node.value, step:
            case dict() as entries, str():
                node = entries[step]
            case list() as items, int():
                node = items[step]
            case _:
                raise KeyError(step)
    return node


# Scalars


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", None), ("Null", None), ("NULL", None), ("~", None), ("", None),
        ("true", True), ("True", True), ("TRUE", True),
        ("false", False), ("False", False), ("FALSE", False),
        ("0", 0), ("-7", -7), ("+7", 7), ("010", 10), ("0o17", 15), ("0x1F", 31),
        ("1.50", Decimal("1.50")), (".5", Decimal("0.5")), ("5.", Decimal(5)),
        ("-1e3", Decimal("-1e3")), ("1.25E-2", Decimal("0.0125")),
        ("12345678901234567890.123456789", Decimal("12345678901234567890.123456789")),
    ],
)  # fmt: skip
def test_a_plain_scalar_has_its_core_schema_meaning(
    text: str,
    expected: object,
    loader: Loader,
) -> None:
    found = child(read(f"a: {text}\n", loader), "a")
    assert found.value == expected
    assert type(found.value) is type(expected)
    assert not found.quoted
    assert found.raw == text


@both
@pytest.mark.parametrize(
    "text",
    [
        "on", "off", "yes", "no", "y", "n", "nULL", "tRUE", "2024-01-31", "2024-01-31T10:00:00Z",
        "1_000", "1:30", "0b101", "-0x1F", "1e", "e1", ".", "+", "-.", "1.2.3", ".infinity", "=",
        "NaN", "Infinity", "٣",
    ],
)  # fmt: skip
def test_everything_else_that_is_plain_is_a_string(text: str, loader: Loader) -> None:
    assert value(f"a: {text}\n", loader) == {"a": text}


@both
@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"])
def test_a_number_that_is_not_finite_is_an_error(text: str, loader: Loader) -> None:
    found = only(f"a: {text}", loader)
    assert (found.code, at(found)) == ("syntax", (1, 4))
    assert "not a finite number" in found.message


@pytest.mark.parametrize(
    "text",
    ["9" * 501, "0x" + "f" * 500, "1e999999999", "1e-7000", "1e99999999999999999999"],
)
def test_a_number_beyond_reason_is_too_large(text: str) -> None:
    assert only(f"a: {text}").code == "too_large"
    assert only(f"[{text}]").code == "too_large"


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"12"', "12"),
        ("'on'", "on"), ('""', ""), ("|\n  12\n", "12\n"), (">-\n  a\n  b\n", "a b"),
        (r'"\x41\u00e9\U0001F600\n\/"', "A\u00e9\U0001f600\n/"), ("'it''s'", "it's"),
    ],
)  # fmt: skip
def test_a_quoted_or_block_scalar_is_a_string_and_says_so(
    text: str,
    expected: str,
    loader: Loader,
) -> None:
    found = child(read(f"a: {text}", loader), "a")
    assert found.value == expected
    assert found.quoted
    assert found.raw.rstrip() == text.rstrip()


# Tags


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!str 12", "12"), ("! 12", "12"), ('!!int "12"', 12), ("!!int 0x1F", 31),
        ("!!float 3", Decimal(3)), ("!!float 3.5", Decimal("3.5")), ("!!bool true", True),
        ("!!null ''", None), ("!!null", None), ("!!map {a: 1}", {"a": 1}), ("!!seq [1]", [1]),
        ("!<tag:yaml.org,2002:str> 12", "12"), ("! [1]", [1]),
    ],
)  # fmt: skip
def test_a_core_tag_is_honoured(text: str, expected: object, loader: Loader) -> None:
    found = value(f"a: {text}", loader)["a"]
    assert found == expected
    assert type(found) is type(expected)


@both
@pytest.mark.parametrize(
    "text",
    [
        "!foo 1", "!!python/object:os.system x", "!!binary aGk=", "!!timestamp 2024-01-01",
        "!!set {a}", "!!omap [a: 1]", "!!str [1]", "!!map 1", "!!seq {a: 1}",
        "!!int x", "!!int 1.5", "!!int true", "!!float yes", "!!bool yes", "!!null 0", '!!int "x"',
        "!<x:y> 1",
    ],
)  # fmt: skip
def test_a_tag_that_does_not_fit_or_is_unknown_is_an_error(text: str, loader: Loader) -> None:
    found = only(f"a: {text}", loader)
    assert (found.code, at(found)) == ("syntax", (1, 4))
    assert "tag" in found.message


def test_a_tag_directive_is_an_error() -> None:
    assert at(only("# x\n%TAG !e! tag:e,1:\n---\na: 1")) == (2, 1)


def test_a_yaml_directive_is_read_over() -> None:
    assert value("%YAML 1.2\n---\na: 1\n...\n") == {"a": 1}


# Keys


@both
def test_a_key_keeps_its_written_text(loader: Loader) -> None:
    keys = ["on", "1010", "010", "yes", "null", "~", "true", "1.50", ".inf", "a b"]
    text = "".join(f"{key}: 1\n" for key in keys)
    assert list(value(text, loader)) == keys
    assert list(value("{on: 1, \"1\": 2, 'x': 3, 1e5: 4}", loader)) == ["on", "1", "x", "1e5"]
    assert value("!!str on: 1\n? |-\n  long\n: 2\n", loader) == {"on": 1, "long": 2}


@both
def test_a_mapping_says_where_each_key_stands(loader: Loader) -> None:
    node = read("a: 1\n\n  \nb:\n  'c': {d: 2, e: 3}\n", loader)
    assert node.keys == {"a": Mark(1, 1), "b": Mark(4, 1)}
    assert child(node, "b").keys == {"c": Mark(5, 3)}
    assert child(node, "b", "c").keys == {"d": Mark(5, 9), "e": Mark(5, 15)}


@both
def test_a_duplicate_key_is_an_error_with_its_place(loader: Loader) -> None:
    node, problems = read_source("a: 1\nb:\n  c: 1\n  'c': 2\n\na: {x: [1]}\nd: 4\n", loader=loader)
    assert [(found.code, at(found)) for found in problems] == [
        ("syntax", (4, 3)),
        ("syntax", (6, 1)),
    ]
    assert '"c"' in problems[0].message
    assert "line 3" in problems[0].message
    assert "line 1" in problems[1].message
    assert node is not None
    assert plain(node) == {"a": 1, "b": {"c": 1}, "d": 4}


def test_a_duplicate_key_in_json_is_an_error_too() -> None:
    found = only('{"a": 1,\n "\\u0061": 2}')
    assert at(found) == (2, 2)


@both
@pytest.mark.parametrize("text", ["? [a]\n: 1\n", "? {a: 1}\n: 1\n", "{[a]: 1}", "? - a\n: 1\n"])
def test_a_collection_as_a_key_is_an_error(text: str, loader: Loader) -> None:
    assert "cannot be a key" in only(text, loader).message


@both
def test_an_alias_as_a_key_stands_for_its_written_text(loader: Loader) -> None:
    assert value("a: &x 010\n*x : 1\n", loader) == {"a": 10, "010": 1}
    assert value("&x 010: 1\nb: *x\n", loader) == {"010": 1, "b": 10}
    assert "cannot be a key" in only("a: &x [1]\n*x : 1\n", loader).message


@both
def test_a_merge_key_is_an_error_with_a_hint(loader: Loader) -> None:
    found = only("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", loader)
    assert (found.code, at(found)) == ("syntax", (3, 3))
    assert "merge keys are not read" in found.message
    assert "write the entries out" in found.hint
    assert value('"<<": 1', loader) == {"<<": 1}


# Anchors and aliases


@both
def test_an_alias_is_the_node_it_names(loader: Loader) -> None:
    node = read("a: &s 1\nb: &l [1, 2]\nc: *s\nd: *l\ne: &s 2\nf: *s\n", loader)
    assert plain(node) == {"a": 1, "b": [1, 2], "c": 1, "d": [1, 2], "e": 2, "f": 2}
    assert child(node, "d") is child(node, "b")


@both
@pytest.mark.parametrize("text", ["a: &x [*x]", "&x a: &y {b: [*y]}", "&x\na: *x\n"])
def test_an_alias_inside_its_own_anchor_is_an_error(text: str, loader: Loader) -> None:
    assert "contains itself" in only(text, loader).message


@both
def test_the_innermost_of_two_anchors_of_one_name_is_meant(loader: Loader) -> None:
    assert value("- &a\n  - &a 1\n- *a\n", loader) == [[1], 1]


@both
def test_an_unknown_alias_is_an_error(loader: Loader) -> None:
    found = only("a: *x", loader)
    assert at(found) == (1, 4)
    assert '"x" is not defined' in found.message


@both
def test_an_alias_bomb_is_too_large(loader: Loader) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    assert only("\n".join(lines), loader).code == "too_large"


def test_a_bomb_of_long_texts_is_too_large() -> None:
    text = f"- &a {'x' * 500_000}\n" + "- *a\n" * 90_000
    assert only(text).code == "too_large"
    text = f"- &a\n  ? {'x' * 500_000}\n  : 1\n" + "- *a\n" * 90_000
    assert only(text).code == "too_large"


def test_depth_counts_what_aliases_stand_for() -> None:
    half = MAX_DEPTH // 2
    deep = f"- &a {'[' * half}{']' * half}\n"
    assert value(deep + f"- {'[' * (half - 1)}*a{']' * (half - 1)}\n")
    assert only(deep + f"- {'[' * half}*a{']' * half}\n").code == "too_large"


# Marks and slices


@both
def test_every_value_knows_its_place(loader: Loader) -> None:
    node = read("a:\n  - x\n  - {b: [1,\n      2]}\n", loader)
    assert node.mark == Mark(1, 1)
    assert child(node, "a").mark == Mark(2, 3)
    assert child(node, "a", 0).mark == Mark(2, 5)
    assert child(node, "a", 1).mark == Mark(3, 5)
    assert child(node, "a", 1, "b").mark == Mark(3, 9)
    assert child(node, "a", 1, "b", 1).mark == Mark(4, 7)


@both
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_the_usual_ways(ending: str, loader: Loader) -> None:
    node = read(f"a: 1{ending}# c{ending}{ending}b: [x]{ending}", loader)
    assert child(node, "b", 0).mark == Mark(4, 5)
    assert child(node, "b").raw == "[x]"


@both
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_slices_count_characters_not_bytes(bom: str, loader: Loader) -> None:
    node = read(f'{bom}"\U0001f600": \U0001f600\u00e9\nb: ["\U0001f600", {{c: d}}] # x\n', loader)
    assert child(node, "\U0001f600").raw == "\U0001f600\u00e9"
    assert child(node, "b").raw == '["\U0001f600", {c: d}]'
    assert child(node, "b").mark == Mark(2, 4)
    assert child(node, "b", 1).raw == "{c: d}"
    assert child(node, "b", 1).mark == Mark(2, 10)


@both
def test_a_block_collection_has_no_slice(loader: Loader) -> None:
    node = read("a:\n  - 1\n", loader)
    assert node.raw == ""
    assert child(node, "a").raw == ""
    assert child(node, "a", 0).raw == "1"


@both
def test_characters_that_yaml_1_2_no_longer_breaks_lines_at_stay(loader: Loader) -> None:
    node = read('a: x\u2028y\nb: "p\x85 q\u2029r"\nc: "\\u2028"\n', loader)
    assert plain(node) == {"a": "x\u2028y", "b": "p\x85 q\u2029r", "c": "\u2028"}
    assert child(node, "b").raw == '"p\x85 q\u2029r"'
    assert child(node, "c").mark == Mark(3, 4)


def test_a_node_shows_its_place_without_the_source() -> None:
    node = read("a: [1, 2] # " + "x" * 1000)
    assert repr(node) == "Node(1:1 'dict of 1')"
    assert repr(child(node, "a", 1)) == "Node(1:8 2)"


# Bytes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_utf_8_and_utf_16_are_read(encoding: str) -> None:
    assert value("a: \u00e9\U0001f600".encode(encoding)) == {"a": "\u00e9\U0001f600"}


def test_big_endian_utf_16_is_read() -> None:
    assert value(b"\xfe\xff" + "a: \u00e9".encode("utf-16-be")) == {"a": "\u00e9"}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a: 1\nb: \xff", (2, 4)),
        (b"\xef\xbb\xbfa\xc3\xa9\xff", (1, 3)),
        (b"\xed\xa0\x80", (1, 1)),
        (b"\xff\xfea\x00\n\x00b\x00\x00\xd8", (2, 2)),
        ("a: \u00e9".encode("latin-1"), (1, 4)),
    ],
)
def test_bytes_that_are_no_text_are_an_error_at_the_first_of_them(
    data: bytes,
    place: tuple[int, int],
) -> None:
    found = only(data)
    assert (found.code, at(found)) == ("syntax", place)


@both
@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\x7f", "\x9f", "\ud800", "\uffff"])
def test_a_control_character_is_an_error_with_its_place(char: str, loader: Loader) -> None:
    found = only(f"a: 1\nb: x{char}\n", loader)
    assert (found.code, at(found)) == ("syntax", (2, 5))
    assert f"U+{ord(char):04X}" in found.message


@pytest.mark.parametrize("char", ["\x00", "\x1f", "\ud800"])
def test_what_json_forbids_in_a_text_is_an_error_there(char: str) -> None:
    assert read_source(f'["{char}", 1]')[1]
    assert read_source(f'["{char}", 1]'.encode("utf-8", "surrogatepass"))[1]


@both
def test_escaped_surrogate_pairs_are_joined(loader: Loader) -> None:
    smile = "\U0001f600"
    assert value('{"a": "x\\ud83d\\ude00y"}', loader) == {"a": f"x{smile}y"}
    assert value('a: "\\uD83D\\uDE00\\\\ud83d"\n', loader) == {"a": f"{smile}\\ud83d"}
    assert value('"\\ud83d\\ude00": 1\nb: 2\n', loader) == {smile: 1, "b": 2}
    assert value("a: '\\ud83d'\nb: \\ud83d\n", loader) == {"a": "\\ud83d", "b": "\\ud83d"}


@both
@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00\\ud83d", "\\uD800\\n\\uDC00"])
def test_half_a_surrogate_pair_is_an_error(half: str, loader: Loader) -> None:
    assert at(only(f'{{"a": "{half}"}}', loader)) == (1, 7)
    node, problems = read_source(f'b: 1\na: "{half}"\n', loader=loader)
    assert [at(found) for found in problems] == [(2, 4)]
    assert node is not None
    assert as_json(node).decode()


def test_swapped_characters_never_clash_with_written_ones() -> None:
    text = 'a: "\\ud83d\\ude00 \U00030000 \\U00030001 \\ud880\\udc02 \u2028"\n'
    assert value(text) == {"a": "\U0001f600 \U00030000 \U00030001 \U00030002 \u2028"}


# JSON


@both
def test_json_indented_with_tabs_is_read(loader: Loader) -> None:
    text = '\n{\n\t"a":\t[\n\t\t1,\t2\n\t],\n\t"b": "x y"\n}\n'
    node = read(text, loader)
    assert plain(node) == {"a": [1, 2], "b": "x y"}
    assert node.raw == text.strip()
    assert child(node, "a").mark == Mark(3, 7)


@both
def test_flow_yaml_indented_with_tabs_is_read(loader: Loader) -> None:
    node = read("{\n\ta: [\n\t\t1, 'x\ty',\n\t],\n}\n", loader)
    assert plain(node) == {"a": [1, "x\ty"]}
    assert child(node, "a").raw == "[\n\t\t1, 'x\ty',\n\t]"


def test_json_beyond_what_yaml_takes_is_read() -> None:
    long = "k" * 2000
    assert value(f'{{"{long}": 1, "a"\n:\n2}}') == {long: 1, "a": 2}
    assert value('"\x7f\u2028\\/"') == "\x7f\u2028/"
    assert value("[ ]") == []


def json_values() -> st.SearchStrategy[object]:
    numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | st.text()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )


@given(json_values(), st.booleans(), st.sampled_from([None, 2, "\t"]))
@settings(deadline=None)
def test_json_survives_reading(written: object, ascii_only: bool, indent: int | str | None) -> None:  # noqa: FBT001
    text = json.dumps(written, ensure_ascii=ascii_only, indent=indent)
    node = read(text)
    assert plain(node) == json.loads(text, parse_float=Decimal)
    assert as_json(node) == text.encode()


@given(json_values())
@settings(deadline=None)
def test_json_inside_block_yaml_survives_reading(written: object) -> None:
    text = json.dumps(written)
    node = child(read(f"a:\n  - {text}\n"), "a", 0)
    assert plain(node) == json.loads(text, parse_float=Decimal)
    assert as_json(node) == text.encode()


def test_what_was_written_as_json_keeps_its_bytes() -> None:
    node = read('a: { "b" : 1.50,\n   "c":[1e2 , "\\u00e9\u00e9"] }\n')
    assert as_json(child(node, "a")) == '{ "b" : 1.50,\n   "c":[1e2 , "\\u00e9\u00e9"] }'.encode()
    assert as_json(child(node, "a", "b")) == b"1.50"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1.50\nb: [x, on, ~]\n", '{"a":1.50,"b":["x","on",null]}'),
        ("{a: 0x1F, b: +1.5, c: 5., d: .5}", '{"a":31,"b":1.5,"c":5,"d":0.5}'),
        (
            "- 'it''s \"q\"'\n- NaN\n- \u00e9\n- {}\n- []\n",
            '["it\'s \\"q\\"","NaN","\u00e9",{},[]]',
        ),
        ("a: 1E+400\nb: true\nc: |\n  x\n", '{"a":1E+400,"b":true,"c":"x\\n"}'),
        ("- &x {a: 1.0}\n- *x\n", '[{"a":1.0},{"a":1.0}]'),
        ("!!str 12", '"12"'),
        ("---\n", "null"),
        ('"x\ty"', '"x\\ty"'),
    ],
)
def test_anything_else_is_encoded_as_compact_json(text: str, expected: str) -> None:
    assert as_json(read(text)) == expected.encode()


def test_nodes_made_by_hand_can_be_encoded() -> None:
    deep = Node(1, Mark())
    for _ in range(5000):
        deep = Node([deep], Mark())
    assert as_json(deep) == b"[" * 5000 + b"1" + b"]" * 5000
    found: Any = plain(deep)
    for _ in range(5000):
        (found,) = found
    assert found == 1
    assert as_json(Node("\ud800", Mark())) == b'"\\ud800"'


# Limits


def test_a_file_beyond_the_size_limit_is_not_read() -> None:
    for text in (b" " * (MAX_BYTES + 1), "a: 1\n" * 10_000_000, "\u00e9" * (MAX_BYTES // 2 + 1)):
        found = only(text)
        assert found.code == "too_large"
        assert str(MAX_BYTES) in found.message
    assert value("#" * (MAX_BYTES - 5) + "\na: 1") == {"a": 1}


@both
@pytest.mark.parametrize(
    "text",
    ["[" * 65 + "]" * 65, "- " * 65 + "a", "[" * 1_000_000, '{"a":' * 100_000, "? " * 500_000],
)
def test_nesting_beyond_the_limit_is_too_large(text: str, loader: Loader) -> None:
    found = only(text, loader)
    assert found.code == "too_large"
    assert str(MAX_DEPTH) in found.message


@both
def test_nesting_up_to_the_limit_is_read(loader: Loader) -> None:
    assert value("[" * MAX_DEPTH + "]" * MAX_DEPTH, loader)
    assert value("- " * MAX_DEPTH + "a", loader)


def test_more_values_than_the_limit_are_too_large() -> None:
    assert len(value("[" + "1," * (MAX_NODES - 2) + "1]")) == MAX_NODES - 1
    assert only("[" + "1," * (MAX_NODES - 1) + "1]").code == "too_large"
    assert only("- a\n" * MAX_NODES).code == "too_large"


def test_problems_beyond_a_limit_are_not_listed() -> None:
    problems = told("a: 1\n" * 1000)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].code == "too_large"


# Whole files


@both
@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "  # x", "\ufeff"])
def test_an_empty_file_is_an_error(text: str, loader: Loader) -> None:
    assert read_source(text, loader=loader)[0] is None
    assert only(text, loader).message == "the file is empty"
    assert only(text.encode(), loader).message == "the file is empty"


@both
@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\n---\nb: 2\n", 2), ("---\n---\n", 2), ("a: 1\n...\n---\n[", 3)],
)
def test_a_second_document_is_an_error(text: str, line: int, loader: Loader) -> None:
    node, problems = read_source(text, loader=loader)
    assert node is None
    assert [at(found) for found in problems] == [(line, 1)]
    assert "second document" in problems[0].message


# Mistakes


@both
@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("a:\n\tb: 1\n", (2, 1), "a tab", "indent with spaces"),
        ("a: 1\n\tb: 2\n", (2, 1), "a tab", "indent with spaces"),
        ("a: |\n  x\n\ty\n", (3, 1), "a tab", "indent with spaces"),
        ("a: @x", (1, 4), "cannot begin with @", "in quotes"),
        ("a: `x`", (1, 4), "cannot begin with `", "in quotes"),
        ("a: %x", (1, 4), "cannot begin with %", "in quotes"),
        ("a: b: c", (1, 5), '": " cannot stand here', "quote"),
        ("a: 1\n b: 2\n", (2, 3), '": " cannot stand here', "indentation"),
        ("x: 1\na: [1, 2", (2, 9), "comma or bracket", "opens in line 2"),
        ("on: {a: b\nstates: c\n", (2, 7), "comma or bracket", "opens in line 1"),
        ("a: [1}", (1, 6), "comma or bracket", "opens in line 1"),
        ("a: [1]]", (1, 7), "] closes nothing", "remove it"),
        ('x: 1\na: "b', (2, 6), "a quote is not closed", "opens in line 2"),
        ("a: 'it's'", (1, 8), "goes on after its end", "whole value in quotes"),
        ("a: 1\nb\nc: 2\n", (2, 1), 'no ": " after it', "key: value"),
        ("a:\n  b: 1\n c: 2\n", (3, 2), "a key cannot stand here", "indented"),
        ("{} x", (1, 4), "goes on after its end", "one mapping"),
        ("a: *", (1, 5), "no name", "in quotes"),
        ("a: | x\n", (1, 6), "next line", "in quotes"),
        ('{"a": 1,, "b": 2}', (1, 9), "a value is missing", "null"),
        ("a: !e!x 1", (1, 4), "tag", "in quotes"),
    ],
)
def test_a_usual_mistake_is_named_with_its_place_and_a_way_out(
    text: str,
    place: tuple[int, int],
    message: str,
    hint: str,
    loader: Loader,
) -> None:
    node, problems = read_source(text, loader=loader)
    assert node is None
    assert [(found.code, at(found)) for found in problems] == [("syntax", place)]
    assert message in problems[0].message
    assert hint in problems[0].hint


@both
def test_an_unknown_escape_is_an_error(loader: Loader) -> None:
    assert "single quotes" in only(r'a: "\d"', loader).hint
    assert only(r'a: "\UFFFFFFFF"', loader).code == "syntax"


@both
def test_all_problems_of_a_file_come_at_once(loader: Loader) -> None:
    problems = told("a: 1\na: .nan\nb: !x 1\nc: *y\n<<: 1\nd: [1\n", loader)
    assert [at(found) for found in problems] == [
        (2, 1), (2, 4), (3, 4), (4, 4), (5, 1), (7, 1),
    ]  # fmt: skip


# Properties


YAML_LIKE = st.text(st.sampled_from("{}[]:,-?&*!|>'\"#%@`<=~.\\ \n\r\t\x85\u2028abunx019e+"))


@given(st.binary() | st.binary().map(lambda data: b"\xff\xfe" + data))
@settings(deadline=None)
def test_no_bytes_raise(data: bytes) -> None:
    node, problems = read_source(data)
    assert node is not None or problems


@given(st.text(st.characters(exclude_categories=())) | YAML_LIKE, st.sampled_from(LOADERS))
@settings(deadline=None, max_examples=500)
def test_no_text_raises_and_what_is_read_can_be_written(text: str, loader: Loader) -> None:
    node, problems = read_source(text, loader=loader)
    assert node is not None or problems
    lines = text.count("\n") + text.count("\r") + 1
    assert all(1 <= found.line <= lines and found.column >= 1 for found in problems)
    if node is not None and not problems:
        again = read(as_json(node))
        assert plain(again) == plain(node)


SAMPLES = [
    "a: 1\nb: [1, {x: 1.50, y: on}]\nno: ~\n1010: 0x1F\n",
    "states:\n  open:\n    on: {pay: paid, void: closed} # c\n  paid: {}\n",
    "- - a\n  - b\n-\n  c: d\n",
    "a: |+\n  x\n\n  y\n\nb: >2\n   z\nc: 'p\n\n  q'\n",
    "&a x: &b [1, *a]\ny: *b\n? z\n: !!str 1\n",
    '{"a": [1, 2.0, {"b": null}], c: http://x:80/y, d: 12:30, "e":1, f}',
    "%YAML 1.2\n--- # c\na\n...\n",
    'a: "x\\\n  y\\tz" # c\n',
    "x: [a: b, ? c : d, e]\n",
]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML without libyaml")
@pytest.mark.parametrize("text", SAMPLES)
def test_both_loaders_read_the_same(text: str) -> None:
    assert read(text, yaml.CSafeLoader) == read(text, yaml.SafeLoader)


def test_reading_works_without_libyaml() -> None:
    code = (
        "import sys; sys.modules['yaml._yaml'] = None\n"
        "from interlock.contract.source.node import plain\n"
        "from interlock.contract.source.read import LOADER, read_source\n"
        "print(LOADER.__name__, plain(read_source('a: [1]')[0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "SafeLoader {'a': [1]}"
