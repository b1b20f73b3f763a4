# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation site: all that they include and link is there."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from millhopper.programs.schemas import format_schemas, operator_types
from millhopper.readers.other_names import LIBRARIES

DOCS = Path(__file__).resolve().parents[2] / "tools" / "docs"


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("site_content")


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", one.lower())) for one in headings}


def test_its_pages_are_complete(content: ModuleType, tmp_path: Path) -> None:
    content.write(tmp_path)
    for page in tmp_path.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        assert '"include")' not in text, page
        for target, anchor in re.findall(r"\]\(([^)\s#:]*)(?:#([^)\s]*))?\)", text):
            file = page.parent / target if target else page
            assert file.exists(), (page.name, target)
            assert not anchor or anchor in anchors(file.read_text()), (page.name, target, anchor)
    for type in operator_types():
        assert (tmp_path / "operators" / f"{type}.md").exists()
    for format in format_schemas():
        assert (tmp_path / "formats" / f"{format.tag}.md").exists()
    names = (tmp_path / "coming_from.md").read_text()
    for library, there in LIBRARIES.items():
        assert f"## {library}\n" in names
        assert all(f"| `{name}` |" in names for name in there)


def test_all_pages_are_in_the_menu() -> None:
    menu = (DOCS / "mkdocs.yml").read_text()
    for page in (DOCS / "pages").glob("*.md"):
        assert re.search(rf"\b{page.name}$", menu, re.M), page.name


def test_what_is_to_be_included_must_be_there(content: ModuleType) -> None:
    with pytest.raises(ValueError, match="^there is no heading 'nothing'$"):
        content.section("# Title\n\n## Something\n", "nothing")


def test_a_section_ends_with_the_next_of_its_level(content: ModuleType) -> None:
    text = "# A\n\n## One of it\n\na\n\n```sh\n# no heading\n```\n\n### Two\n\nb\n\n## Three\n"
    assert content.section(text, "one-of-it") == "a\n\n```sh\n# no heading\n```\n\n### Two\n\nb"


def test_a_page_has_the_code_that_it_includes(content: ModuleType) -> None:
    page = content.PAGES / "cpp.md"
    text = content.included(page.read_text(), page, "cpp.md")
    code = (content.ROOT / "tools/examples/loop.cc").read_text()
    assert f"```cpp\n{code}```" in text


def test_a_docstring_becomes_lists_and_examples(content: ModuleType) -> None:
    doc = (
        "Does it, as ``x``. ::\n\n    a = 1\n\nArgs:\n    name: what\n        it is.\n"
        "    *more: all.\n\nSource: ours."
    )
    assert content.prose(doc) == (
        "Does it, as `x`.\n\n```python\na = 1\n```\n\n**Args**\n\n- `name`: what\n    it is.\n"
        "- `*more`: all.\n\nSource: ours."
    )


def test_it_is_built(tmp_path: Path) -> None:
    if find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed")
    built = subprocess.run(
        [sys.executable, DOCS / "build_site", "--output", tmp_path / "site"],
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    found = (tmp_path / "site" / "search" / "search_index.json").read_text()
    assert "operators/create_mix_reader.html" in found
