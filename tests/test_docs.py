"""Claims that every block of code in README.md and docs/ runs, and claims about this harness."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
LEFT_ALONE = {"text", "mermaid", "make", "sh"}
NORUN_MOST = 5  # blocks that cannot run, in all documents together; raise it on purpose only

OPENING = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
NAMED = re.compile(r"#\s*file:\s*(\S+)\s*$")
NORUN = re.compile(r"\bnorun\b[\s:]*(?P<reason>.*)$")
DIALECT_KEYS = ("state_machine", "state_transitions", "fsm", "fsm_subcontract", "definition")


class Block(Struct, frozen=True):
    """A fenced block of a document; `line` is that of its opening fence."""

    document: str
    line: int
    info: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.document}:{self.line}"

    @property
    def language(self) -> str:
        """The first word of its info string."""
        return (self.info.split() or [""])[0]

    @property
    def file(self) -> str | None:
        """The name it is to be written to."""
        for word in self.info.split()[1:]:
            if word.startswith("file="):
                return word.removeprefix("file=")
        first = NAMED.match(self.text.partition("\n")[0])
        return first.group(1) if first else None

    @property
    def norun(self) -> str | None:
        """The reason why it does not run, empty when none is given; None when it runs."""
        found = NORUN.search(self.info)
        return found.group("reason") if found else None

    @property
    def exit_code(self) -> int:
        """The exit code that its last command is to end with."""
        found = re.search(r"\bexit=(\d+)", self.info)
        return int(found.group(1)) if found else 0


class Command(Struct, frozen=True):
    """One `$` line of a console block with the output shown below it."""

    words: list[str]
    shown: list[str]


def blocks_of(document: str, text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text."""
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        opening = OPENING.match(line)
        if opening is None:
            continue
        closing = re.compile(rf"^ *{opening['fence'][0]}{{{len(opening['fence'])},}}\s*$")
        body: list[str] = []
        for _, inner in lines:
            if closing.match(inner):
                break
            body.append(inner.removeprefix(opening["indent"]))
        else:
            pytest.fail(f"{document}:{number}: the block is never closed")
        yield Block(document, number, opening["info"].strip(), "".join(f"{b}\n" for b in body))


def run_document(document: str, text: str, folder: Path) -> int:
    """Run every block of a document in a folder and return how many are marked norun."""
    module = types.ModuleType(re.sub(r"\W", "_", document))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, module.__name__, module)
        return sum(run_block(block, module.__dict__) for block in blocks_of(document, text))


def run_block(block: Block, names: dict[str, Any]) -> bool:
    """Run one block by its language; true when it is marked norun."""
    if block.norun is not None:
        if not block.norun:
            pytest.fail(f"{block.place}: norun needs a reason behind it")
        return True
    match block.language:
        case "python":
            run_python(block, names)
        case "yaml" | "json":
            write_file(block)
        case "console":
            run_console(block)
        case language if language not in LEFT_ALONE:
            pytest.fail(f"{block.place}: {language or 'a bare fence'!r} is no kind of block here")
    return False


def run_python(block: Block, names: dict[str, Any]) -> None:
    """Execute a Python block, or check it as a dialogue when it begins with a prompt."""
    if not block.text.startswith(">>>"):
        # leading newlines give tracebacks the line of the document
        text = "\n" * block.line + block.text
        exec(compile(text, block.document, "exec", dont_inherit=True), names)  # noqa: S102
        return
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(
        block.text, names, block.place, block.document, block.line
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    failed = runner.run(example, out=said.append, clear_globs=False).failed
    names.update(example.globs)
    if failed:
        pytest.fail(f"{block.place}: the dialogue goes otherwise\n{''.join(said)}")


def write_file(block: Block) -> None:
    """Write a named data block, and check it when it holds a contract."""
    if block.file is None:
        pytest.fail(f"{block.place}: name the block's file, or mark it norun with a reason")
    path = Path(block.file)
    if path.is_absolute() or ".." in path.parts:
        pytest.fail(f"{block.place}: a block's file stays in its folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")
    read = json.loads if block.language == "json" else yaml.safe_load
    if is_faulty(block) or holds_contract(read(block.text)):
        check_contract(block, path)


def holds_contract(data: object) -> bool:
    """Tell whether a document's data is a contract, in any dialect."""
    if not isinstance(data, dict):
        return False
    return "states" in data or any(holds_contract(data.get(key)) for key in DIALECT_KEYS)


def is_faulty(block: Block) -> bool:
    """Tell whether a block is marked as a contract that has errors on purpose."""
    return "faulty" in block.info.split()


def check_contract(block: Block, path: Path) -> None:
    """Fail when a contract has errors, or is marked faulty and has none."""
    import interlock  # noqa: PLC0415  # the harness' own claims hold without the package

    errors = [found for found in interlock.check(path) if found.severity == "error"]
    if bool(errors) != is_faulty(block):
        told = "\n".join(f"  {e.line}:{e.column} {e.code} {e.message}" for e in errors)
        pytest.fail(f"{block.place}: the contract has {len(errors)} errors\n{told}")


def run_console(block: Block) -> None:
    """Run the commands of a console block and compare what they print with what is shown."""
    commands = list(commands_of(block))
    for position, command in enumerate(commands, start=1):
        expected = block.exit_code if position == len(commands) else 0
        code, printed = run_interlock(command.words)
        if code != expected:
            pytest.fail(f"{block.place}: {command.words} exited with {code}\n{printed}")
        if command.shown and not shows(command.shown, printed.splitlines()):
            pytest.fail(f"{block.place}: {command.words} prints otherwise\n{printed}")


def commands_of(block: Block) -> Iterator[Command]:
    r"""Yield the commands of a console block; a line ending in \ goes on in the next one."""
    text = block.text.replace("\\\n", " ")
    before, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if before.strip() or not parts:
        pytest.fail(f"{block.place}: a console block begins with a `$ interlock` line")
    for part in parts:
        first, *shown = part.splitlines()
        words = shlex.split(first)
        if words[:1] != ["interlock"]:
            pytest.fail(f"{block.place}: a console block runs interlock only, not {first!r}")
        while shown and not shown[-1].strip():
            shown.pop()
        yield Command(words[1:], shown)


def run_interlock(words: list[str]) -> tuple[int, str]:
    """Run the installed command and return its exit code with all it printed."""
    script = shutil.which("interlock", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.fail("the interlock command is not installed beside this Python; run make setup")
    plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [script, *words],
        check=False,
        encoding="utf-8",
        env={**os.environ, **plain},
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    return done.returncode, done.stdout


def shows(shown: list[str], printed: list[str]) -> bool:
    """Tell whether printed lines are those shown, where a line `...` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed)) is not None


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_the_document_runs(path: Path, tmp_path: Path) -> None:
    run_document(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), tmp_path)


def test_few_blocks_are_marked_norun() -> None:
    marked = [
        block.place
        for path in DOCUMENTS
        for block in blocks_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        if block.norun is not None
    ]
    assert len(marked) <= NORUN_MOST, marked


def sample(text: str) -> str:
    return textwrap.dedent(text).replace("'''", "```")


def refused(text: str, folder: Path) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        run_document("sample.md", sample(text), folder)
    return str(caught.value)


def test_python_blocks_of_a_document_share_their_names(tmp_path: Path) -> None:
    text = """
        '''python
        number = 1
        '''
        Some words.

          '''python
          class Thing:
              size: int = number
          '''
        '''python
        >>> Thing.size + number
        2
        >>> Thing
        <class ...Thing'>
        '''
    """
    assert run_document("sample.md", sample(text), tmp_path) == 0


def test_a_python_block_that_fails_is_told_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_document("sample.md", sample("words\n'''python\nx = 1\nx / 0\n'''"), tmp_path)
    assert caught.traceback[-1].lineno + 1 == 4


def test_a_dialogue_that_goes_otherwise_fails(tmp_path: Path) -> None:
    assert "Expected" in refused("'''python\n>>> 1 + 1\n3\n'''", tmp_path)


def test_a_named_block_is_written_where_later_blocks_find_it(tmp_path: Path) -> None:
    text = """
        '''yaml
        # file: one.yaml
        size: 1
        '''
        '''json file=deep/two.json
        {"size": 2}
        '''
        '''python
        from pathlib import Path
        assert Path("one.yaml").read_text().endswith("size: 1\\n")
        assert Path("deep/two.json").exists()
        '''
    """
    run_document("sample.md", sample(text), tmp_path)


@pytest.mark.parametrize("name", ["/etc/x.yaml", "../x.yaml"])
def test_a_named_block_stays_in_its_folder(name: str, tmp_path: Path) -> None:
    assert "folder" in refused(f"'''yaml file={name}\na: 1\n'''", tmp_path)


def test_a_contract_is_known_in_every_dialect() -> None:
    assert holds_contract({"contract": "x", "states": {}})
    assert holds_contract({"state_machine": {"states": []}})
    assert not holds_contract({"services": {"states": 1}})
    assert not holds_contract(["states"])


def test_text_that_is_no_code_is_left_alone(tmp_path: Path) -> None:
    text = "".join(f"'''{language}\n1 +\n'''\n" for language in sorted(LEFT_ALONE))
    assert run_document("sample.md", sample(text), tmp_path) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("'''\nwhat is this\n'''", "bare fence"),
        ("'''perl\n1\n'''", "'perl' is no kind"),
        ("'''yaml\na: 1\n'''", "name the block's file"),
        ("'''python\n1", "never closed"),
        ("'''python norun\n1\n'''", "needs a reason"),
        ("'''python norun: \n1\n'''", "needs a reason"),
        ("'''console\n$ rm -r x\n'''", "interlock only"),
        ("'''console\ninterlock check\n'''", "begins with"),
    ],
)
def test_a_block_that_would_silently_not_run_is_refused(
    text: str, reason: str, tmp_path: Path
) -> None:
    told = refused(text, tmp_path)
    assert reason in told
    assert told.startswith("sample.md:1")


def test_norun_with_a_reason_is_counted_and_not_run(tmp_path: Path) -> None:
    text = "'''python norun needs a broker\n1 / 0\n'''\n'''yaml norun: a fragment\n:\n'''"
    assert run_document("sample.md", sample(text), tmp_path) == 2


def test_commands_are_split_from_what_they_show() -> None:
    text = "$ interlock check \\\n  a.yaml\nfine\n\n$ interlock diagram 'b c.yaml'\n"
    commands = list(commands_of(Block("sample.md", 1, "console", text)))
    assert [command.words for command in commands] == [["check", "a.yaml"], ["diagram", "b c.yaml"]]
    assert [command.shown for command in commands] == [["fine"], []]


def test_three_dots_stand_for_any_lines_and_nothing_else_does() -> None:
    assert shows(["a", "...", "d"], ["a", "b", "c", "d"])
    assert shows(["...", "a"], ["a  "])
    assert shows(["a.c"], ["a.c"])
    assert not shows(["a.c"], ["abc"])
    assert not shows(["a"], ["a", "b"])
    assert not shows(["a", "...", "d"], ["a", "b"])


def test_the_last_exit_code_is_read_from_the_info_string() -> None:
    assert Block("sample.md", 1, "console exit=1", "").exit_code == 1
    assert Block("sample.md", 1, "console", "").exit_code == 0
