# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation site, as MkDocs reads them.

A line that is a link with the title "include" stands for the file of the tree that it leads to,
without its title, or for what is below one of its headings, so that nothing is written twice. The
reference is made of the schemas and docstrings of the installed package, and so are the names that
other libraries have, where the file is other_names.py.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from millhopper.command import catalog, reference
from millhopper.programs.schemas import format_schemas, operator_types, schema_of
from millhopper.readers.other_names import LIBRARIES
from millhopper.vision.other_names import OTHER_NAMES

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "tools" / "docs" / "pages"

# Where a link to a file of the tree, or to a part of it, leads within the site.
PLACES = {
    "README.md": "index.md",
    "framework/README.md": "how.md",
    "framework/README.md#what-can-be-read-once-only": "s3.md",
    "operators": "operators/index.md",
    "operators/README.md": "plugins.md",
    "operators/image/README.md": "images.md",
    "python/millhopper/README.md": "python.md",
    "python/millhopper/command/reference.py": "python/index.md",
    "python/millhopper/readers/reader.py": "python/millhopper.Reader.md",
    "readers/README.md": "plugins.md",
    "readers/formats": "formats/index.md",
    "readers/formats/README.md": "formats.md",
    "readers/lanes/README.md": "ranks.md",
    "tests/benchmarks/README.md": "measuring.md",
    "tools/examples/README.md": "cpp.md",
}


# ---- Pages written by hand ----


def anchor_of(heading: str) -> str:
    """What a link to a heading ends with."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")


def section(text: str, anchor: str) -> str:
    """What is below a heading of Markdown, to the next one of its level or above."""
    fenced = False
    level = 0
    found: list[str] = []
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        match = None if fenced else re.match(r"(#+) (.*)$", line)
        if level > 0 and match and len(match[1]) <= level:
            break
        if level > 0:
            found.append(line)
        elif match and anchor_of(match[2]) == anchor:
            level = len(match[1])
    if level == 0:
        raise ValueError(f"there is no heading {anchor!r}")
    return "\n".join(found).strip("\n")


def without_title(text: str) -> str:
    return re.sub(r"\A# .*\n+", "", text).strip("\n")


def place_of(file: Path, anchor: str) -> str | None:
    """The page of the site that has a file or folder of the tree, or its part, if there is one."""
    path = file.relative_to(ROOT)
    if PAGES in file.parents:
        return file.relative_to(PAGES).as_posix()
    if path.name.endswith("_op.cc"):
        return f"operators/{path.name.removesuffix('_op.cc')}.md"
    if path.parent.as_posix() == "readers/formats" and file.is_dir():
        return f"formats/{path.name}.md"
    return PLACES.get(f"{path.as_posix()}{anchor}") or PLACES.get(path.as_posix())


def linked(text: str, source: Path, page: str) -> str:
    """Text of a file of the tree, with links that lead within the site from a page.

    A link to a file that is not in the site becomes its path.
    """

    def place(match: re.Match[str]) -> str:
        image, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        file = (source.parent / target).resolve()
        inside = place_of(file, anchor)
        if inside is not None:
            return f"{image}[{words}]({os.path.relpath(inside, Path(page).parent)}{anchor})"
        path = file.relative_to(ROOT).as_posix()
        return f"`{path}`" if words.strip("`/") in path else f"{words} (`{path}`)"

    return re.sub(r"(!?)\[([^\]]+)\]\(([^)\s#\"]*)(#[^)\s]*)?\)", place, text)


def included(text: str, source: Path, page: str) -> str:
    """A page of the tree with what it includes, and with links that lead within the site."""

    def include(match: re.Match[str]) -> str:
        file = (source.parent / match[1]).resolve()
        if file.name == "other_names.py":
            return "\n".join(other_names())
        inner = file.read_text()
        if file.suffix == ".cc":
            return f"```cpp\n{inner.strip()}\n```"
        part = section(inner, match[2]) if match[2] else without_title(inner)
        return linked(part, file, page)

    including = r'^\[[^\]]+\]\(([^)\s#]+)(?:#(\S+))? "include"\)$'
    return re.sub(including, include, linked(text, source, page), flags=re.M)


def for_mkdocs(text: str) -> str:
    """Titles of blocks in quotes, which MkDocs needs and other readers of Markdown do not know."""
    return re.sub(r"^```(\w+) title=(\S+)$", r'```\1 title="\2"', text, flags=re.M)


# ---- The reference ----


def rooms() -> dict[str, str]:
    """What the room of every operator's file is for, by the operator's type."""
    found = {}
    for path in (ROOT / "operators").rglob("*_op.cc"):
        room = next(folder for folder in path.parents if (folder / "README.md").exists())
        title = (room / "README.md").read_text().split("\n")[0].partition(": ")[2]
        found[path.stem.removesuffix("_op")] = title[0].upper() + title[1:]
    return found


def row(link: str, name: str, doc: str) -> str:
    return f"| [`{name}`]({link}) | {catalog.summary(doc)} |".replace("\n", " ")


def list_page(title: str, about: str, groups: dict[str, list[str]]) -> str:
    lines = [f"# {title}", "", about, ""]
    for heading, rows in groups.items():
        lines += [f"## {heading}", ""] if heading else []
        lines += ["| name | what it does |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def operator_pages() -> Iterator[tuple[str, str]]:
    places = rooms()
    groups: dict[str, list[str]] = {}
    for type in operator_types():
        schema = schema_of(type)
        # The core makes one operator for each format.
        room = places.get(type, "Readers of files of one format")
        groups.setdefault(room, []).append(row(f"{type}.md", type, schema.doc))
        yield f"operators/{type}.md", f"# {type}\n\n{catalog.describe_operator(schema)}\n"
    about = "What programs are made of; `executor --list_ops TYPE` prints the same."
    yield "operators/index.md", list_page("Operators", about, dict(sorted(groups.items())))


def format_pages() -> Iterator[tuple[str, str]]:
    rows = []
    for format in format_schemas():
        rows.append(row(f"{format.tag}.md", format.tag, format.doc))
        yield f"formats/{format.tag}.md", f"# {format.tag}\n\n{catalog.describe_format(format)}\n"
    about = (
        "What files can be read; `executor --list_formats` prints the same. What their bytes are "
        "and how fields name their parts is on [one page](../formats.md)."
    )
    yield "formats/index.md", list_page("File formats", about, {"": rows})


def prose(doc: str) -> str:
    """A docstring as Markdown: lists of arguments, examples and paragraphs."""
    lines: list[str] = []
    example = False  # within an indented block after a paragraph that ends with ::
    section = False  # within Args:, Raises: and the like
    for line in doc.split("\n"):
        indent = len(line) - len(line.lstrip())
        if example and line.strip() and indent == 0:
            lines += ["```", ""]
            example = False
        if example:
            lines.append(line.removeprefix("    "))
        elif re.fullmatch(r"(Args|Raises|Returns|Yields|Attributes):", line):
            lines += [f"**{line[:-1]}**", ""]
            section = True
        elif section and indent == 4 and (match := re.match(r"    ([*\w.]+): (.*)", line)):
            lines.append(f"- `{match[1]}`: {match[2]}")
        elif line.rstrip().endswith("::") and not section:
            shown = line.rstrip()[:-2].rstrip()
            lines += [f"{shown}:" if shown and shown[-1] not in ".:" else shown, "", "```python"]
            example = True
        else:
            section &= indent > 0 or not line
            # What follows an item is a part of it, and not an example.
            lines.append(f"    {line.strip()}" if section and line.strip() else line)
    lines += ["```"] if example else []
    text = re.sub(r"```python\n\n+", "```python\n", "\n".join(lines))
    text = re.sub(r"\n+```\n", "\n```\n", text)
    return re.sub(r"``([^`\n]+)``", r"`\1`", text)


def laid_out(call: str) -> str:
    """A signature without the quotes of types, an argument a line if it is long."""
    plain = re.sub(r"(: |-> )'([^']*)'", r"\1\2", call)
    if len(plain) <= 90:
        return plain
    end = plain.rindex(")")
    depth = 0
    lines = ""
    for letter in plain[plain.index("(") + 1 : end]:
        depth += (letter in "([{") - (letter in ")]}")
        lines += ",\n   " if letter == "," and depth == 0 else letter
    return f"{plain[: plain.index('(')]}(\n    {lines},\n{plain[end:]}"


def in_markdown(chapter: str) -> str:
    """A chapter of the reference, one level higher, with signatures below headings, and prose."""

    def plain(match: re.Match[str]) -> str:
        level, path, signature = match.groups()
        heading = f"{level[1:]} `{path.removeprefix('millhopper.')}`"
        call = path.rpartition(".")[2] + (signature or "")
        return f"{heading}\n\n```python\n{laid_out(call)}\n```" if signature else heading

    text = re.sub(r"^(#{2,4}) `([\w.]+)(\(.*)?`$", plain, chapter, flags=re.M)
    return re.sub(r"^```text\n(.*?)\n```$", lambda match: prose(match[1]), text, flags=re.M | re.S)


def module_pages() -> Iterator[tuple[str, str]]:
    """A page for each module, and one for each class that has methods."""
    rows = []
    for chapter in reference.chapters():
        title = chapter.split("\n")[0].removeprefix("## ").strip("`")
        if not title.startswith("millhopper"):
            continue
        doc = re.search(r"```text\n(.*?)(?:\n\n|\n```)", chapter, re.S)
        rows.append(row(f"{title}.md", title, doc[1] if doc else ""))
        first, *parts = re.split(r"^(?=### )", chapter, flags=re.M)
        kept = [in_markdown(first)]
        for part in parts:
            name = re.split(r"[`(]", part)[1]
            if "\n#### " in part:
                text = in_markdown(re.sub(r"^#", "", part, flags=re.M))
                yield f"python/{name}.md", text
                kept.append(f"## `{name.removeprefix('millhopper.')}`\n\n[{name}]({name}.md)\n")
            else:
                kept.append(in_markdown(part))
        yield f"python/{title}.md", "\n".join(kept)
    about = "Every public name; `python -m millhopper reference` prints the same."
    yield "python/index.md", list_page("Python: every name", about, {"": rows})


def as_code(hint: str) -> str:
    """A hint with what is to be typed between backticks."""
    inner = r"\((?:[^()]|\([^()]*\))*\)"
    words = [rf"[\w.]+{inner}(?:\.\w+{inner})*", r"\b\w+=\S*[\w\])\"]", r"\b[\w.]+_\w+\b"]
    call = "|".join([*words, r"\b\w+\.[A-Z]\w+"])
    return re.sub(call, lambda match: f"`{match[0]}`", hint).replace("|", "\\|")


def other_names() -> Iterator[str]:
    """What to type here instead of the names that other libraries have."""
    transforms = {"Transforms of torchvision and albumentations": OTHER_NAMES}
    for library, names in {**LIBRARIES, **transforms}.items():
        yield f"## {library}\n"
        yield "| there | here |\n|---|---|"
        for name, hint in sorted(names.items()):
            yield f"| `{name}` | {as_code(hint)} |"
        yield ""


# ---- All ----


def pages() -> Iterable[tuple[str, str]]:
    for path in sorted(PAGES.glob("*.md")):
        yield path.name, included(path.read_text(), path, path.name)
    yield from operator_pages()
    yield from format_pages()
    yield from module_pages()


def write(folder: Path) -> None:
    """Writes all pages, and what they show, into a folder, which is made."""
    for name, text in pages():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(for_mkdocs(text))
    for path in PAGES.iterdir():
        if path.suffix != ".md":
            shutil.copyfile(path, folder / path.name)
