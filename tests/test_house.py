"""Claims that the rules of the house hold; ruff, mypy, pyright and lint-imports see to the rest."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "interlock"
FACADE = PACKAGE / "__init__.py"

MODULE_LINES = 400
FUNCTION_LINES = 45
FACADE_NAMES = 40
BROAD_EXCEPTS = 2  # around a user's handler, and in the worker loop

# Modules that may be longer, each with its reason.
LONGER_MODULES: dict[str, str] = {}

FORBIDDEN_MODULES = {"base", "common", "helper", "helpers", "models", "types", "util", "utils"}
FORBIDDEN_WORDS = {"Base", "Helper", "Impl", "Manager", "Mixin", "Service", "Util", "Utils"}
FORBIDDEN_FIRST = {"Model"}

REGISTRIES = re.compile(
    "|".join(
        ["pypi" + r"\.org", "python" + "hosted", "npm" + "js", "index-" + "url", "_INDEX_" + "URL"]
    )
)
MACHINE_PATHS = re.compile(r"(?<![\w.:/])/(?:work|root|home|Users)/\w")

DECISION = re.compile(r"(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
DECISION_PARTS = ["Context", "Decision", "Cost", "What would change our mind"]


def modules_in(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).glob("**/*.py"))


CODE = modules_in("src", "tools", "bench", "examples")
TESTS = modules_in("tests")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions_in(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def package_of(module: str) -> str:
    """Return the part of Interlock a module belongs to: its file, or its folder right below."""
    return ".".join(module.split(".")[:2])


def module_of(path: Path) -> str:
    relative = path.relative_to(ROOT / "src") if path.is_relative_to(ROOT / "src") else path
    return ".".join(relative.with_suffix("").parts).removesuffix(".__init__")


def private_imports(tree: ast.Module, here: str) -> Iterator[str]:
    """Yield every private name of another part of Interlock that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            ours = name.split(".")[0] == "interlock" and package_of(name) != package_of(here)
            if ours and any(is_private(part) for part in name.split(".")):
                yield f"{here}:{node.lineno} {name}"


def undocumented(body: Iterable[ast.stmt], prefix: str) -> Iterator[str]:
    """Yield the public classes, functions and methods that say nothing or do not end in a stop."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or is_overload(node):
            continue
        if not ends_in_a_stop(ast.get_docstring(node)):
            yield f"{prefix}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node.body, prefix)


def is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list)


def ends_in_a_stop(docstring: str | None) -> bool:
    return bool(docstring) and docstring.partition("\n\n")[0].rstrip().endswith((".", ":"))


def files_of_the_project() -> list[Path]:
    """Return the files that git tracks or would track; all of them where there is no git."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if not is_made(path.relative_to(ROOT))]
    else:
        found = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    return sorted(path for path in found if path.is_file())


def is_made(path: Path) -> bool:
    """Tell whether a path is a cache or a build result rather than a file somebody wrote."""
    hidden = {part for part in path.parts if part.startswith(".")}
    written = {".ci", ".editorconfig", ".gitignore"}
    return bool(hidden - written or {"build", "dist", "__pycache__"} & set(path.parts))


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name_of(path)}:{number} {line.strip()[:80]}"
        for path in files_of_the_project()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_modules_fit_in_one_head() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in CODE}
    long = {name: lines for name, lines in lengths.items() if lines > MODULE_LINES}
    assert set(long) - set(LONGER_MODULES) == set(), long


def test_every_longer_module_is_still_long_and_has_its_reason() -> None:
    for name, reason in LONGER_MODULES.items():
        assert reason, name
        assert len((ROOT / name).read_text("utf-8").splitlines()) > MODULE_LINES, name


def test_functions_fit_on_one_screen() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} has {length} lines"
        for path in [*CODE, *TESTS]
        for node in functions_in(path)
        if (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    parts = {part for path in CODE for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {part for part in parts if set(part.split("_")) & FORBIDDEN_MODULES} == set()


def test_no_class_is_named_for_what_it_is_made_of() -> None:
    found = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in CODE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
        for words in [re.findall(r"[A-Z][a-z0-9]*", node.name)]
        if FORBIDDEN_WORDS & set(words) or FORBIDDEN_FIRST & set(words[:1])
    ]
    assert found == []


@pytest.mark.parametrize("path", modules_in("src"), ids=name_of)
def test_every_public_name_says_what_it_is(path: Path) -> None:
    assert ends_in_a_stop(ast.get_docstring(tree_of(path))), "the module itself"
    assert list(undocumented(tree_of(path).body, name_of(path))) == []


def test_nobody_imports_a_private_name_of_another_part() -> None:
    found = [
        name for path in [*CODE, *TESTS] for name in private_imports(tree_of(path), module_of(path))
    ]
    assert found == []


def test_the_facade_is_small() -> None:
    exported = [
        ast.literal_eval(node.value)
        for node in tree_of(FACADE).body
        if isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    assert len(exported) == 1
    assert 0 < len(exported[0]) <= FACADE_NAMES


def test_errors_are_swallowed_in_two_places_at_most() -> None:
    broad = [
        f"{name_of(path)}:{node.lineno}"
        for path in modules_in("src")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert len(broad) <= BROAD_EXCEPTS, broad


def test_nothing_is_evaluated() -> None:
    calls = [
        f"{name_of(path)}:{node.lineno}"
        for path in modules_in("src")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"eval", "exec", "__import__"}
    ]
    assert calls == []


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"#.*\b(?:TO" + "DO|FIX" + r"ME|XX" + r"X)\b|raise NotImplemented" + "Error")
    assert lines_matching(marks) == []


def test_no_file_names_a_package_registry() -> None:
    assert lines_matching(REGISTRIES) == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    assert lines_matching(MACHINE_PATHS) == []


def test_decisions_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").iterdir())
    numbers = [found.group(1) for name in names if (found := DECISION.fullmatch(name))]
    assert len(numbers) == len(names), names
    assert numbers == [f"{number:04}" for number in range(1, len(names) + 1)]


def test_a_decision_has_its_number_and_its_four_parts() -> None:
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        lines = path.read_text("utf-8").splitlines()
        assert lines[0].startswith(f"# {path.name[:4]} "), name_of(path)
        parts = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
        assert parts == DECISION_PARTS, name_of(path)


def test_the_rules_see_what_they_are_to_see() -> None:
    bad = ast.parse(
        "from interlock.machine import _walk, step\nimport interlock._x\n"
        'def shown():\n    return 1\nclass Right:\n    "Is told."\n    def go(self): ...\n'
    )
    assert list(private_imports(bad, "interlock.machine")) == ["interlock.machine:2 interlock._x"]
    assert len(list(private_imports(bad, "interlock.contract.read"))) == 2
    assert list(undocumented(bad.body, "bad")) == ["bad:3 shown", "bad:7 go"]
    assert not ends_in_a_stop("No stop")
    assert is_private("_walk")
    assert not is_private("__init__")


def test_the_paths_of_a_machine_are_known_from_those_of_an_address() -> None:
    assert MACHINE_PATHS.search("cd /" + "work/main")
    assert not MACHINE_PATHS.search("https://example.org/" + "home/page")
    assert not MACHINE_PATHS.search("src/" + "work/main")
