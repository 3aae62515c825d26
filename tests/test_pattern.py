"""Claims about the regular expressions of guards: the answers of `re.search`, or a refusal."""

from __future__ import annotations

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import shake_256

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from interlock.contract.expression.pattern import (
    LENGTH_LIMIT,
    MEMORY_LIMIT,
    NODE_LIMIT,
    PATTERN_LIMIT,
    Unsupported,
    compile_pattern,
)

# With letters whose case folds oddly, digits of another script, and half of a character.
ALPHABET = "abkKiIsS_1 -\nßẞ\u017f\u0131İ\u212a\u0345\u03b9µ٣é\U00010400\U00010428\ud800"

# Every letter that has another case.
CASED = [c for c in map(chr, range(0x20000)) if {c.lower(), c.upper(), c.casefold()} != {c}]

# What contracts really say, with a text that matches and one that does not.
USUAL = [
    ("^node-.*", "node-7", "a node-7"),
    (".*_test$", "unit_test", "unit_tests"),
    (r"^v[0-9]+\.[0-9]+\.[0-9]+$", "v1.22.333", "v1.22"),
    ("(?i)^production", "PRODuction-eu", "preproduction"),
    ("^[a-z][a-z0-9_]*$", "a_name_2", "2_names"),
    ("node", "a node here", "a mode here"),
    (r"^[\w.+-]+@[\w-]+\.[\w.]+$", "ann@example.org", "ann@example"),
    (r"^\d{4}-\d{2}-\d{2}$", "2024-02-29", "2024-2-29"),
    ("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "0" * 8 + "-abcd" * 3 + "-" + "f" * 12, "0"),
    ("^(ok|done|skipped)$", "done", "undone"),
    (r"\b(?:cat|dog)s?\b", "two dogs", "dogma"),
    ("^.{1,255}$", "x" * 255, "x" * 256),
]

PATTERNS = [
    "",
    "a",
    "a|",
    "|",
    "()",
    "(?:)*",
    "(?:){0,5}",
    "(?:a?)*?",
    "(?:a*)+$",
    "(?:|a)+$",
    "^(?:a|ab)(?:c|bcd)*$",
    "a.b",
    "(?s)a.b",
    "(?s:a.)b",
    "(?s)a(?-s:.)b",
    "^a$",
    "(?m)^a$",
    "(?m:^)b",
    "(?m)^$",
    "(?m)^b$\n^a",
    "^^a$$",
    "a^b",
    "$a",
    "(?m)$\na",
    r"\Aa",
    r"a\Z",
    r"(?m)\Aa\Z",
    "a$\n",
    r"a\n\Z",
    "$",
    "^$",
    "$^",
    "^^$$",
    r"\b",
    r"\B",
    r"^\B$",
    r"^\B",
    r"\B$",
    r"\ba\b",
    r"\Ba\B",
    r"\b\B",
    r"(?:\b|a)+b",
    r"(?a)\bé\b",
    r"(?a)\w",
    r"(?a)\W",
    r"\w\W\d\D\s\S",
    r"(?a)\d",
    r"\d",
    r"[\d_]",
    r"[^\d_]",
    r"[^\W\d]",
    "[]a]",
    "[^]a]",
    "[a-]",
    r"[\]\-^]",
    "[a-c1-3]",
    "[^a]",
    "[^a-z]",
    "[\n]",
    r"\x61",
    r"\u212a",
    r"\U00010400",
    r"\N{KELVIN SIGN}",
    r"\061",
    "(?i)k",
    "(?i)[k]",
    "(?i)[^k]",
    "(?i)[a-z]",
    "(?i)[^a-z]",
    "(?i)s",
    "(?i)\u017f",
    "(?i)ß",
    "(?i)ẞ",
    "(?i)i",
    "(?i)İ",
    "(?i)\u0131",
    "(?i)µ",
    "(?i)\u0345",
    "(?i)\U00010400",
    "(?ai)k",
    "(?ai)[s]",
    "(?i:k)a",
    "(?i)k(?-i:a)",
    "(?u:k)",
    "(?x) a  b # a comment",
    "(?x:a b) c",
    "(?#a comment)a",
    "(?P<name>a)b",
    "(a)(b)?",
    "a*",
    "a+?b",
    "a??b",
    "a{2}",
    "^a{2,}$",
    "^a{,2}$",
    "^a{1,3}?$",
    "^(?:ab){2,3}$",
    "^(?:a{2}){2}$",
    "a{0}b",
    "^(?:a{0,0})$",
    "a{",
    "a{}",
    "a{1",
    "a{x}",
    "{a}",
    "a{1, 2}",
    "(?:a|b)*a(?:a|b){3}$",
    "ab|ac|a",
    "(?:ab|a)(?:b|)$",
    "\ud800",
    "\0",
]

TEXTS = [
    "", "a", "b", "ab", "ba", "aa", "aaa", "aaaa", "aab", "abab", "ababab", "abc", "abcd", "a b",
    "a-b", "a\nb", "\n", "\n\n", "a\n", "a\n\n", "\na", "b\na", "aa\nb", "x", "_", "1", "1a", "a1",
    "٣", "a_1-3 b", "k", "K", "\u212a", "\u212aa", "kA", "ka", "s", "S", "\u017f", "ß", "ẞ", "ss",
    "i", "I", "İ", "\u0131", "i\u0307", "µ", "μ", "\u039c", "é", "\u0301", "\u0345", "\u03b9",
    "\u0399", "\U00010400", "\U00010428", "\ud800", "\udc00", "a{", "a{}", "a{1", "a{x}", "{a}",
    "a{1, 2}", "]", "^", "-", "a # a comment", "\0", "\r", "\r\n", "\x1c", "\x85", "\u2028", "ab c",
]  # fmt: skip

REFUSED = [
    ("(", "missing ), unterminated subpattern at position 0"),
    ("[a", "unterminated character set"),
    ("*a", "nothing to repeat"),
    ("a**", "multiple repeat"),
    (r"\q", r"bad escape \q"),
    ("a{3,2}", "min repeat greater than max repeat"),
    ("a(?i)b", "global flags not at the start"),
    ("(?au)a", "flags 'a', 'u' and 'L' are incompatible"),
    ("(?a)(?u)a", "ASCII and UNICODE flags are incompatible"),
    ("(?L)a", "cannot use 'L' flag"),
    ("(?D)a", "unknown"),
    ("a{99999999999}", "the repetition number is too large"),
    ("[[a]", "the meaning will change in a later Python: Possible nested set"),
    ("[a--b]", "the meaning will change in a later Python: Possible set difference"),
    ("[a&&b]", "the meaning will change in a later Python: Possible set intersection"),
    ("[a||b]", "the meaning will change in a later Python: Possible set union"),
    ("[a~~b]", "the meaning will change in a later Python: Possible set symmetric difference"),
    (r"(a)\1", "back-references"),
    ("(?P<n>a)(?P=n)", "back-references"),
    ("(a)?(?(1)b|c)", "conditionals"),
    ("(?P<n>a)?(?(n)b)", "conditionals"),
    ("a(?=b)", "look-ahead and look-behind"),
    ("a(?!b)", "look-ahead and look-behind"),
    ("a(?!)", "look-ahead and look-behind"),
    ("(?<=a)b", "look-ahead and look-behind"),
    ("(?<!a)b", "look-ahead and look-behind"),
    ("(?>a|ab)c", "atomic groups"),
    ("a*+a", "possessive repeats"),
    ("a{1,2}+a", "possessive repeats"),
    ("(?:a?+)*", "possessive repeats"),
    (r"(?a:\W)", "a group that changes the alphabet"),
    (r"(?a)(?u:\w)", "a group that changes the alphabet"),
    ("a" * (LENGTH_LIMIT + 1), f"longer than {LENGTH_LIMIT} characters"),
    (f"a{{{NODE_LIMIT + 1}}}", f"more than {NODE_LIMIT} states"),
    ("(?:(?:a{50}){50}){50}", f"more than {NODE_LIMIT} states"),
    ("a{0,4294967294}", f"more than {NODE_LIMIT} states"),
    ("(?:){0,4294967294}", f"more than {NODE_LIMIT} states"),
    ("(" * 499 + "a" + ")" * 499, "nested too deeply"),
]

# A backtracking search needs exponential or high polynomial time for most of these.
CATASTROPHES = [
    ("(a+)+$", "a", "!"),
    ("(a|a)*b", "a", ""),
    ("(?:a|aa)+$", "a", "!"),
    ("(.*a){20}$", "a", "!"),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a", ""),
    (r"^(\w+\s?)*$", "ab ", "!"),
    (r"(?:\s+$)", " ", "x"),
    (r"^.*?,.*?,.*?,.*?,P", ",", ""),
    ("(?:x+x+)+y", "x", ""),
    ("(?:a?){300}a{300}b", "a", ""),
    ("(?:(?:a*)*)*b", "a", ""),
    (r"(?:\b|a|\B)*b$", "a", ""),
    ("(?i)(?:k|\u212a)*s", "kK\u212a", ""),
    ("a{1,50}b", "a", ""),
]


def quantify(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    marks = ["*", "+", "?", "{2}", "{0}", "{,2}", "{1,2}", "{0,3}", "{2,}"]
    return st.builds("(?:{}){}{}".format, inner, st.sampled_from(marks), st.sampled_from(["", "?"]))


def enclose(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    marks = ["", "?:", "?i:", "?s:", "?m:", "?u:", "?-i:", "?im-s:", "?s-im:"]
    return st.builds("({}{})".format, st.sampled_from(marks), inner)


def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner | st.just(""), min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        enclose(inner),
        quantify(inner),
    )


def write_set(negation: str, members: list[str]) -> str:
    return f"[{negation}{''.join(members)}]"


characters = st.sampled_from(ALPHABET)
ranges = st.tuples(characters, characters).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
members = st.one_of(
    characters.map(re.escape),
    ranges.filter(lambda text: "--" not in text).map(lambda text: text.replace("\n", r"\n")),
    st.sampled_from([r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]),
)
atoms = st.one_of(
    characters.map(re.escape),
    st.sampled_from([".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]),
    st.builds(write_set, st.sampled_from(["", "^"]), st.lists(members, min_size=1, max_size=3)),
)
anchors = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
flags = st.sampled_from(["", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?ai)", "(?im)", "(?ms)"])
supported = st.builds(
    "{}{}".format, flags, st.recursive(st.one_of(atoms, atoms, anchors), extend, max_leaves=8)
)
texts = st.text(ALPHABET, max_size=8) | st.text("ab\n", max_size=8)


def searched(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def refusal_of(pattern: str) -> str | None:
    try:
        compile_pattern(pattern)
    except Unsupported as refusal:
        return str(refusal) or "no reason"
    return None


def zeros_and_ones(length: int, *, seed: bytes) -> str:
    """Return digits without a visible order, the same in every run."""
    return f"{int.from_bytes(shake_256(seed).digest(length // 8)):0{length}b}"


@pytest.mark.parametrize(("pattern", "match", "other"), USUAL)
def test_the_usual_patterns_of_contracts_mean_what_they_say(
    pattern: str, match: str, other: str
) -> None:
    test = compile_pattern(pattern)
    assert test(match) is searched(pattern, match) is True
    assert test(other) is searched(pattern, other) is False


@pytest.mark.parametrize("pattern", [*PATTERNS, *[usual[0] for usual in USUAL]])
def test_a_pattern_answers_as_re_search_does(pattern: str) -> None:
    test = compile_pattern(pattern)
    assert {text: test(text) for text in TEXTS} == {text: searched(pattern, text) for text in TEXTS}


@settings(max_examples=5 * settings().max_examples)
@given(pattern=supported, found=st.lists(texts, min_size=1, max_size=6))
@example(pattern=r"(?m)^a", found=["1\na"])
@example(pattern=r"(?:a??b??)*?c", found=["abc"])
def test_supported_constructs_agree_with_re_search(pattern: str, found: list[str]) -> None:
    reason = refusal_of(pattern)
    assume(reason is None or not ("more than" in reason or "the alphabet" in reason))
    assert reason is None
    test = compile_pattern(pattern)
    assert [test(text) for text in found] == [searched(pattern, text) for text in found]


@settings(max_examples=5 * settings().max_examples)
@given(
    pattern=st.one_of(
        st.text(max_size=12),
        st.text("ab()[]{}|?*+^$.\\-,:!=<>#&~ \nikPsxmLtu0123dbDwWAZz", max_size=12),
        st.lists(supported | st.text("()[]|?*+\\^$", max_size=2), max_size=4).map("".join),
    ),
    found=st.lists(texts | st.text(max_size=8), min_size=1, max_size=4),
)
def test_any_text_is_refused_or_agrees_with_re_search(pattern: str, found: list[str]) -> None:
    reason = refusal_of(pattern)
    assert reason != "no reason"
    assume(reason is None)
    test = compile_pattern(pattern)
    assert [test(text) for text in found] == [searched(pattern, text) for text in found]


@given(
    letter=st.characters(exclude_categories=()),
    pattern=st.sampled_from([".", r"\d", r"\w", r"\s", r"\W", r"(?a)\w", r"(?a)\s", r"\b", "$"]),
)
def test_every_character_is_what_re_says_it_is(letter: str, pattern: str) -> None:
    test = compile_pattern(pattern)
    for text in (letter, f"{letter}a", f"a{letter}", f"-{letter}-"):
        assert test(text) is searched(pattern, text)


@settings(max_examples=5 * settings().max_examples)
@given(letter=st.sampled_from(CASED))
def test_every_letter_folds_its_case_as_in_re(letter: str) -> None:
    family = {letter, *letter.lower(), *letter.upper(), *letter.casefold(), *letter.title()}
    for form in ("(?i){}", "(?i)[{}1]", "(?i)[^{}]", "(?ai){}", "(?i:{})", "(?i){}*1", "{}"):
        pattern = form.format(re.escape(letter))
        test = compile_pattern(pattern)
        for text in family:
            assert test(text) is searched(pattern, text), (pattern, text)


@pytest.mark.parametrize(("pattern", "reason"), REFUSED, ids=[case[0][:20] for case in REFUSED])
def test_what_cannot_be_done_is_refused_with_its_reason(pattern: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(reason)):
        compile_pattern(pattern)


def test_the_template_flag_of_earlier_pythons_is_refused() -> None:
    assert refusal_of("(?t)a") is not None


def test_a_refusal_does_not_depend_on_what_re_has_seen_before() -> None:
    pattern = "[[ab]c"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        re.compile(pattern)
        with pytest.raises(Unsupported, match="nested set"):
            compile_pattern(pattern)


def test_compiling_leaves_the_filters_for_warnings_as_they_were() -> None:
    before = list(warnings.filters)
    assert refusal_of("[[abc]d") is not None
    assert refusal_of("[abc]d") is None
    assert list(warnings.filters) == before


def test_a_pattern_may_be_as_long_and_as_large_as_the_limits_say() -> None:
    assert compile_pattern("a" * LENGTH_LIMIT)("a" * LENGTH_LIMIT)
    test = compile_pattern(f"a{{{NODE_LIMIT}}}")
    assert test("a" * NODE_LIMIT)
    assert not test("a" * (NODE_LIMIT - 1))


@pytest.mark.parametrize("pattern", ["(?:){4294967294}", "(?:(?:(?:){9999}){9999}){9999}"])
def test_repeating_nothing_costs_nothing(pattern: str) -> None:
    assert compile_pattern(pattern)("")


@pytest.mark.parametrize(("pattern", "part", "end"), CATASTROPHES)
def test_what_makes_backtracking_hang_is_answered(pattern: str, part: str, end: str) -> None:
    test = compile_pattern(pattern)
    assert test(part * (100_000 // len(part)) + end) is False


def test_a_search_that_forgets_still_agrees_and_stays_small() -> None:
    pattern = "1[01]{14}x"  # its states are the subsets of 14 places
    test = compile_pattern(pattern)
    text = zeros_and_ones(30_000, seed=b"a")
    for found in (text, f"{text}1{text[:14]}x", f"0{text}x", f"{text}0{text[:14]}x{text}"):
        assert test(found) is searched(pattern, found)
    assert isinstance(test, partial)
    assert 0 < test.args[0].size <= MEMORY_LIMIT


def test_a_text_of_ever_new_characters_does_not_fill_the_memory() -> None:
    test = compile_pattern(r"\w+@\w+$")
    assert not test("".join(map(chr, range(0x20, 0x10000))))
    assert test("".join(map(chr, range(0x20, 0x10000))) + "a@b")
    assert isinstance(test, partial)
    assert 0 < test.args[0].size <= MEMORY_LIMIT


def test_threads_may_share_a_pattern() -> None:
    pattern = "1[01]{13}x"
    test = compile_pattern(pattern)
    seeds = [bytes([number]) for number in range(16)]
    found = [zeros_and_ones(4_000, seed=seed) + "x" * (seed > b"\7") for seed in seeds]
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(test, found))
    assert answers == [searched(pattern, text) for text in found]


def test_threads_may_compile_at_the_same_time() -> None:
    patterns = [f"[[ab{number}]" if number % 2 else f"[ab{number}]" for number in range(100)]
    before = list(warnings.filters)
    with ThreadPoolExecutor(max_workers=4) as pool:
        reasons = list(pool.map(refusal_of, patterns))
    assert [reason is not None for reason in reasons] == [False, True] * 50
    assert list(warnings.filters) == before


def test_a_pattern_is_compiled_once_and_few_are_kept() -> None:
    assert compile_pattern("once") is compile_pattern("once")
    for number in range(PATTERN_LIMIT + 10):
        compile_pattern(f"kept {number}")
    assert compile_pattern.cache_info().currsize <= PATTERN_LIMIT
