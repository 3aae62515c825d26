"""The text of a source before it is parsed: its bytes, its lines, its numbers, its mistakes."""

from __future__ import annotations

import re
from bisect import bisect_right
from decimal import Decimal

from interlock.contract.problem import Mark, Problem, problem

MAX_DIGITS = 500


MAX_EXPONENT = 6_144


_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


_BREAK = re.compile(r"\r\n?|\n")


_BASES = {"0o": 8, "0x": 16}


QUOTE_IT = "put it in quotes if it is a text"


_INDENTATION = "check how far this line is indented"


_ESCAPES = r"write a backslash as \\, or use single quotes"


_NO_KEY = "expected key|<block end>"


OPENED = "it opens in line {line}; an expression with brackets needs quotes"
_MISTAKES = (
    ("values are not allowed", '": " cannot stand here', "quote the text or mend the indentation"),
    (
        "',' or '[]}]'",
        "a comma or bracket is missing",
        OPENED,
    ),
    ("unexpected end of stream", "a quote is not closed", "it opens in line {line}"),
    ("expected ':'", 'a key has no ": " after it', 'write "key: value"'),
    ("'-' indicator", 'a list goes on without "- "', _INDENTATION),
    (_NO_KEY, "a key cannot stand here", _INDENTATION),
    ("document start", "the text goes on after its end", "write one mapping per file"),
    ("alphabetic", "an anchor or an alias has no name", QUOTE_IT),
    ("comment or", "a text after | or > begins on the next line", QUOTE_IT),
    ("tag handle|tag URI", "a tag that is not known", QUOTE_IT),
    ("node content", "a value is missing here", "write it, or null for none"),
    ("escape", "an unknown escape in a quoted text", _ESCAPES),
)


def weigh(text: str) -> int:
    """Return how many nodes a text counts for when it is written out again by an alias."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def decode(data: bytes) -> str | Problem:
    """Return the text of some bytes, or the problem with them."""
    bom, encoding = next((each for each in _BOMS if data.startswith(each[0])), (b"", "utf-8"))
    body = data[len(bom) :]
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as fault:
        before = body[: fault.start].decode(encoding, "replace")
        told = f"the bytes are not {encoding} text: {fault.reason}"
        mark = mark_at(line_starts(before), len(before))
        return problem("syntax", told, mark=mark, hint="save the file as UTF-8")


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line begins."""
    return [0, *(found.end() for found in _BREAK.finditer(text))]


def mark_at(lines: list[int], index: int) -> Mark:
    """Return the line and column of an offset."""
    line = bisect_right(lines, index)
    return Mark(line, index - lines[line - 1] + 1)


def reason_of(said: str, char: str, before: str) -> tuple[str, str]:
    """Put a parser's complaint into plain words, with a hint where the mistake is a usual one."""
    if char == "\t" or "tab character" in said:
        return "a tab cannot stand here", "indent with spaces"
    if "start any token" in said:
        return f"a value cannot begin with {char}", "put the value in quotes"
    if char in {"]", "}"} and "',' or" not in said:
        return f"a {char} closes nothing", "remove it, or put the value in quotes"
    if before.strip() and re.search(_NO_KEY, said):
        return "the text goes on after its end", "put the whole value in quotes"
    known = (each[1:] for each in _MISTAKES if re.search(each[0], said))
    return next(known, (said or "the text cannot be read", ""))


def read_number(written: str) -> int | Decimal | None:
    """Return the number a plain scalar stands for, or nothing beyond the limits."""
    if len(written) > MAX_DIGITS:
        return None
    if written[:2] in _BASES:
        return int(written[2:], _BASES[written[:2]])
    if written.lstrip("+-").isdigit():
        return int(written)
    try:
        value = Decimal(written)
    except ArithmeticError:
        return None
    return value if value.is_finite() and abs(value.adjusted()) <= MAX_EXPONENT else None
