r"""Regular expressions for guards: the answers of `re.search`, in time linear in the text.

    source ──parse──▶ Python's own tree ──build──▶ nodes ──search──▶ states, made when first met

A node waits for one character (`_Char`), for facts about the characters on both sides (`_At`),
or for nothing (`_Split`). A state is the set of nodes a search may be at between two characters.
What Python accepts and this engine cannot do is refused; nothing is given another meaning.
Why there is an engine of our own: docs/decisions/0003-regular-expressions.md.
"""

from __future__ import annotations

import re
import threading
import warnings
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LENGTH_LIMIT: Final = 1_000  # characters of a pattern
NODE_LIMIT: Final = 2_000  # nodes of a pattern, its repeats written out
MEMORY_LIMIT: Final = 20_000  # what a pattern remembers, in set members and moves, until it forgets
PATTERN_LIMIT: Final = 256  # patterns kept compiled

# The parser is private, but it alone knows exactly what Python reads in a pattern; this is the
# only use of it. It is loaded by name because the type checkers have no stubs for it.
_PARSER = import_module("re._parser")
_NO_BOUND: Final[int] = _PARSER.MAXREPEAT

# Filters for warnings belong to the whole process, so that two parses must not overlap.
_PARSING = threading.Lock()

_FLAGS = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE
_ALPHABETS = re.ASCII | re.UNICODE | re.LOCALE
_ATOM_FLAGS = re.ASCII | re.IGNORECASE | re.DOTALL | re.UNICODE

_REFUSED: Final = {
    "ASSERT": "look-ahead and look-behind",
    "ASSERT_NOT": "look-ahead and look-behind",
    "FAILURE": "look-ahead and look-behind",  # what later Pythons read in (?!)
    "ATOMIC_GROUP": "atomic groups such as (?>...)",
    "GROUPREF": "back-references such as \\1",
    "GROUPREF_EXISTS": "conditionals such as (?(1)...)",
    "POSSESSIVE_REPEAT": "possessive repeats such as a*+",
}

_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}

# A search reads symbols: a character, a newline that is the last character, or the end.
_FINAL_NEWLINE = "\n\n"
_END = ""

# Facts about what stands on one side of a position, and the symbols that show them there.
_EDGE, _NEWLINE, _LAST_NEWLINE, _WORD, _ASCII_WORD = 1, 2, 4, 8, 16
_SHOWN_BY: Final = {
    _EDGE: re.compile(r"\Z"),
    _NEWLINE: re.compile(r"\n"),
    _LAST_NEWLINE: re.compile(r"\n\n"),
    _WORD: re.compile(r"\w"),
    _ASCII_WORD: re.compile(r"\w", re.ASCII),
}
# Python before 3.14 finds no \B in an empty text, later ones do.
_EMPTY_IS_INSIDE = re.search(r"\B", "") is not None

_MATCH = 0  # the node that is reached when the whole pattern is matched
_NO_ATOM = -1

_Item: TypeAlias = tuple[object, Any]  # of the parser's tree: a name and what belongs to it
_Letter: TypeAlias = tuple[frozenset[int], int]  # the atoms that take a symbol, and its facts


class Unsupported(ValueError):  # named by what it says
    """A pattern that Python does not accept or this engine cannot do; its text is the reason."""


class _Char(Struct, frozen=True):
    """A node that takes one character of an atom."""

    atom: int
    target: int


class _At(Struct, frozen=True):
    """A node passed where the characters around have the facts asked for."""

    side: Literal["behind", "ahead", "boundary", "inside"]
    facts: int
    target: int


_Split: TypeAlias = tuple[int, ...]  # a node passed at once, to any of these targets
_Node: TypeAlias = _Char | _At | _Split


class _Draft(Struct):
    """A pattern being built, from its end to its start."""

    nodes: list[_Node]
    atoms: dict[tuple[str, int], int]


class _State(Struct, frozen=True, eq=False):
    """The nodes waiting between two characters, and the moves found so far."""

    waiting: frozenset[int]
    before: int
    moves: dict[str, _State]
    is_last: bool = False


class _Machine(Struct, eq=False):
    """A built pattern, with what its searches have found so far."""

    nodes: tuple[_Node, ...]
    atoms: tuple[re.Pattern[str], ...]
    entry: int
    looking: frozenset[int]
    returns: bool  # whether the pattern can begin where the text does not
    start: _State
    states: dict[tuple[frozenset[int], int], _State]
    letters: dict[str, _Letter]
    size: int = 0


_MATCHED = _State(frozenset(), 0, {}, is_last=True)
_FAILED = _State(frozenset(), 0, {}, is_last=True)


@lru_cache(maxsize=PATTERN_LIMIT)
def compile_pattern(source: str) -> Callable[[str], bool]:
    """Return a test that answers what `re.search` would, or raise Unsupported with the reason."""
    if len(source) > LENGTH_LIMIT:
        raise Unsupported(f"the pattern is longer than {LENGTH_LIMIT} characters")
    try:
        items, flags = _parse(source)
        return partial(_search, _build(items, flags))
    except RecursionError:
        raise Unsupported("the pattern is nested too deeply") from None


def _parse(source: str) -> tuple[Sequence[_Item], int]:
    """Return Python's own tree of a pattern, and its flags."""
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.filterwarnings("error", "Possible (nested )?set", FutureWarning)
            tree = _PARSER.parse(source)
            flags = re.compile(source).flags
    except Warning as warning:
        raise Unsupported(f"the meaning will change in a later Python: {warning}") from None
    except (re.error, ValueError, OverflowError) as error:
        raise Unsupported(str(error)) from None
    if flags & ~_FLAGS:
        raise Unsupported("flags other than a, i, m, s, u and x are not supported")
    return tree, flags


def _build(items: Sequence[_Item], flags: int) -> _Machine:
    """Return the machine of a parsed pattern, with nothing remembered yet."""
    draft = _Draft(nodes=[_Char(_NO_ATOM, _MATCH)], atoms={})
    entry = _add_sequence(draft, items, flags, _MATCH)
    nodes = tuple(draft.nodes)
    waiting = _spread(nodes, (entry,), before=_EDGE)
    return _Machine(
        nodes=nodes,
        atoms=tuple(re.compile(text, kind) for text, kind in draft.atoms),
        entry=entry,
        looking=frozenset(i for i, node in enumerate(nodes) if isinstance(node, _At)),
        returns=bool(_spread(nodes, (entry,), before=_NEWLINE)),
        start=_MATCHED if _MATCH in waiting else _State(waiting, _EDGE, {}),
        states={},
        letters={},
    )


def _add(draft: _Draft, node: _Node) -> int:
    if len(draft.nodes) > NODE_LIMIT:
        raise Unsupported(f"the pattern needs more than {NODE_LIMIT} states, repeats written out")
    draft.nodes.append(node)
    return len(draft.nodes) - 1


def _add_sequence(draft: _Draft, items: Sequence[_Item], flags: int, target: int) -> int:
    """Add what leads through the items to the target; return where it begins."""
    for item in reversed(list(items)):
        target = _add_item(draft, item, flags, target)
    return target


def _add_item(draft: _Draft, item: _Item, flags: int, target: int) -> int:
    name, argument = str(item[0]), item[1]
    match name:
        case "ANY" | "LITERAL" | "NOT_LITERAL" | "IN":
            key = (_write_atom(name, argument), flags & _ATOM_FLAGS)
            return _add(draft, _Char(draft.atoms.setdefault(key, len(draft.atoms)), target))
        case "AT":
            return _add(draft, _look(str(argument), flags, target))
        case "BRANCH":
            ways = (_add_sequence(draft, way, flags, target) for way in argument[1])
            return _add(draft, tuple(ways))
        case "SUBPATTERN":
            _, added, removed, body = argument
            return _add_sequence(draft, body, _scope(flags, added, removed), target)
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _add_repeat(draft, argument, flags, target)
        case _:
            raise Unsupported(f"{_REFUSED.get(name, name)} are not supported")


def _add_repeat(draft: _Draft, bounds: tuple[int, int, Any], flags: int, target: int) -> int:
    low, high, body = bounds
    entry = target
    if high == _NO_BOUND:
        entry = _add(draft, ())
        draft.nodes[entry] = (_add_sequence(draft, body, flags, entry), target)
    else:
        for _ in range(high - low):
            more = _add_sequence(draft, body, flags, entry)
            entry = _add(draft, (more, target))
    for _ in range(low):
        longer = _add_sequence(draft, body, flags, entry)
        # A body without nodes would never reach the limit, and its copies add nothing.
        if longer == entry:
            break
        entry = longer
    return entry


def _scope(flags: int, added: int, removed: int) -> int:
    """Return the flags that hold within a group such as `(?i-s:...)`."""
    if added & _ALPHABETS & ~flags:
        # Python looks for the first character of such a group in the alphabet of the pattern.
        raise Unsupported("a group that changes the alphabet, such as (?a:...), is not supported")
    return (flags | added) & ~removed


def _look(name: str, flags: int, target: int) -> _At:
    """Return the node of an anchor or a word boundary."""
    word = _WORD if flags & re.UNICODE else _ASCII_WORD
    lines = bool(flags & re.MULTILINE)
    match name:
        case "AT_BEGINNING" if lines:
            return _At("behind", _EDGE | _NEWLINE, target)
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return _At("behind", _EDGE, target)
        case "AT_END":
            return _At("ahead", _EDGE | (_NEWLINE if lines else _LAST_NEWLINE), target)
        case "AT_END_STRING":
            return _At("ahead", _EDGE, target)
        case "AT_BOUNDARY":
            return _At("boundary", word, target)
        case "AT_NON_BOUNDARY":
            return _At("inside", word, target)
        case _:
            raise Unsupported(f"{name} is not supported")


def _write_atom(name: str, argument: Any) -> str:  # a tree of the parser
    """Return the pattern of one character that an item of the tree was read from."""
    if name == "ANY":
        return "."
    if name == "IN":
        return f"[{''.join(_write_member(member) for member in argument)}]"
    negation = "^" if name == "NOT_LITERAL" else ""
    return f"[{negation}{_write_character(argument)}]"


def _write_member(member: _Item) -> str:
    name, argument = str(member[0]), member[1]
    match name:
        case "NEGATE":
            return "^"
        case "LITERAL":
            return _write_character(argument)
        case "RANGE":
            return "-".join(_write_character(code) for code in argument)
        case "CATEGORY" if str(argument) in _CATEGORIES:
            return _CATEGORIES[str(argument)]
        case _:
            raise Unsupported(f"{name} within a set is not supported")


def _write_character(code: int) -> str:
    return f"\\U{code:08x}"


def _search(machine: _Machine, text: str) -> bool:
    """Tell whether the pattern matches anywhere in the text."""
    ending = (_FINAL_NEWLINE, _END) if text.endswith("\n") else (_END,)
    state = machine.start
    for symbol in chain(text.removesuffix("\n"), ending):
        if state.is_last:
            break
        state = state.moves.get(symbol) or _move(machine, state, symbol)
    return state is _MATCHED


def _move(machine: _Machine, state: _State, symbol: str) -> _State:
    """Return the state after a symbol, and remember the move."""
    atoms, facts = machine.letters.get(symbol) or _learn(machine, symbol)
    here = state.waiting
    if not machine.looking.isdisjoint(here):
        here = _spread(machine.nodes, here, before=state.before, after=facts)
    if _MATCH in here:
        following = _MATCHED
    elif symbol == _END:
        following = _FAILED
    else:
        following = _step(machine, here, atoms, facts)
    state.moves[symbol] = following
    machine.size += 1
    if machine.size > MEMORY_LIMIT:
        _forget(machine)
    return following


def _step(machine: _Machine, here: frozenset[int], atoms: frozenset[int], facts: int) -> _State:
    """Return the state after a character, with a fresh start of the pattern added."""
    targets = [machine.entry]
    for index in here:
        node = machine.nodes[index]
        if isinstance(node, _Char) and node.atom in atoms:
            targets.append(node.target)
    waiting = _spread(machine.nodes, targets, before=facts)
    if _MATCH in waiting:
        return _MATCHED
    if not waiting and not machine.returns:
        return _FAILED
    # What stood before matters only to nodes that look around; without them states are shared.
    before = 0 if machine.looking.isdisjoint(waiting) else facts
    known = machine.states.get((waiting, before))
    if known is None:
        known = machine.states[waiting, before] = _State(waiting, before, {})
        machine.size += len(waiting)
    return known


def _spread(
    nodes: Sequence[_Node], seeds: Iterable[int], *, before: int, after: int | None = None
) -> frozenset[int]:
    """Return the nodes reached without a character; without `after`, those looking ahead wait."""
    todo = list(seeds)
    passed: set[int] = set()
    waiting: set[int] = set()
    while todo:
        index = todo.pop()
        node = nodes[index]
        if isinstance(node, _Char):
            waiting.add(index)
        elif index not in passed:
            passed.add(index)
            if isinstance(node, tuple):
                todo.extend(node)
            elif after is None and node.side != "behind":
                waiting.add(index)
            elif _holds(node, before, after or 0):
                todo.append(node.target)
    return frozenset(waiting)


def _holds(node: _At, before: int, after: int) -> bool:
    """Tell whether an anchor or a word boundary stands between these two sides."""
    match node.side:
        case "behind":
            return bool(before & node.facts)
        case "ahead":
            return bool(after & node.facts)
        case "boundary":
            return bool((before ^ after) & node.facts)
        case "inside":
            is_empty = before & after & _EDGE
            return _EMPTY_IS_INSIDE if is_empty else not (before ^ after) & node.facts


def _learn(machine: _Machine, symbol: str) -> _Letter:
    """Return what Python's own `re` says of a symbol, and remember it."""
    takers = (i for i, atom in enumerate(machine.atoms) if symbol and atom.match(symbol))
    facts = sum(fact for fact, shown in _SHOWN_BY.items() if shown.match(symbol))
    letter = machine.letters[symbol] = (frozenset(takers), facts)
    machine.size += 1 + len(letter[0])
    return letter


def _forget(machine: _Machine) -> None:
    """Drop what was found; a search under way, here or in another thread, finds it again."""
    known, machine.states, machine.letters, machine.size = machine.states, {}, {}, 0
    for state in (machine.start, *known.values()):
        state.moves.clear()
