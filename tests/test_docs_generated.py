"""Claims that what is generated in docs/ is up to date, and that the links there lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from interlock import bundled
from interlock.contract.keys import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<target>[^)\s]*)\)")
HEADING = re.compile(r"^#{1,6} +(?P<title>.*?) *$", re.MULTILINE)


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("tools_docs", ROOT / "tools" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool
    spec.loader.exec_module(tool)
    return tool


TOOL = load_tool()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def slug_of(title: str) -> str:
    """Return the anchor that a heading gets."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.replace("`", "")).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors_of(path: Path) -> set[str]:
    text = FENCED.sub("", path.read_text("utf-8"))
    return {slug_of(found["title"]) for found in HEADING.finditer(text)}


def dead_links(path: Path, text: str) -> Iterator[str]:
    """Yield the links of a page to files or headings that are not there."""
    for found in LINK.finditer(CODE.sub("", FENCED.sub("", text))):
        target, _, anchor = found["target"].partition("#")
        meant = (path.parent / target).resolve() if target else path
        known = meant.exists() and meant.is_relative_to(ROOT)
        if not known or (anchor and anchor not in anchors_of(meant)):
            yield found["target"]


def test_nothing_generated_is_stale(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL.main(["--check"]) == 0, f"run `make docs`:\n{capsys.readouterr().out}"


def test_a_stale_page_is_told_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TOOL, "ROOT", tmp_path)
    monkeypatch.setattr(TOOL, "DOCS", tmp_path / "docs")
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("By hand.\n<!-- generated: keys counter -->\nold\n<!-- end -->\nBy hand.\n")
    assert TOOL.main(["--check"]) == 1
    assert "stale docs/page.md" in capsys.readouterr().out
    assert "old" in page.read_text()
    assert TOOL.main([]) == 0
    assert TOOL.main(["--check"]) == 0
    assert page.read_text().startswith("By hand.\n<!-- generated: keys counter -->\n\n| key |")
    assert page.read_text().endswith("<!-- end -->\nBy hand.\n")


def test_what_is_generated_comes_out_the_same_each_time() -> None:
    assert TOOL.wanted_files() == TOOL.wanted_files()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_generated_part_of_a_page_is_closed(path: Path) -> None:
    text = path.read_text("utf-8")
    openings = text.count("\n<!-- generated:")
    assert text.count("\n<!-- end -->") == openings
    assert len(TOOL.GENERATED.findall(text)) == openings


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert list(dead_links(path, path.read_text("utf-8"))) == []


def test_a_dead_link_is_seen() -> None:
    text = "# A b\n[x](no.md) `[c](d)` [y](#a-b) [z](README.md#no-such) [w](https://example.org)\n"
    assert list(dead_links(ROOT / "README.md", text)) == ["no.md", "#a-b", "README.md#no-such"]


def test_every_shape_of_a_key_has_its_words() -> None:
    for place in PLACES.values():
        assert all(TOOL.shape_in_words(key.shape) for key in place.values())


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_contract_has_a_page_and_a_picture(name: str) -> None:
    page = ROOT / "docs" / "reference" / "contracts" / f"{name}.md"
    assert f"# {name}\n" in page.read_text("utf-8")
    assert (ROOT / "docs" / "diagrams" / f"{name}.svg").read_text("utf-8").startswith("<svg")
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert f"reference/contracts/{name}.md" in index


def test_every_place_with_keys_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "language.md").read_text("utf-8")
    assert [place for place in PLACES if f"<!-- generated: keys {place} -->" not in text] == []
