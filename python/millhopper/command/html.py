# SPDX-License-Identifier: Apache-2.0
"""The reference as HTML pages: one for each module, one for the operators, one for the formats.

The Markdown that ``reference`` writes uses few forms, and this knows those alone: headings, fenced
blocks, lists of one level, paragraphs, and code between backticks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import millhopper
from millhopper.command import reference

_STYLE = """
body { font-family: sans-serif; line-height: 1.4; max-width: 60em; margin: 2em auto }
pre { background: #f4f4f4; padding: 0.7em; overflow-x: auto }
code { background: #f4f4f4 }
h3 { border-top: 1px solid #ccc; padding-top: 1em }
"""


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _anchor(heading: str) -> str:
    """What a link to a heading names: its first word, without backticks and arguments."""
    return re.split(r"[ (]", heading.replace("`", ""))[0]


def _body(markdown: str) -> Iterator[str]:
    lines = iter(markdown.split("\n"))
    in_list = False
    for line in lines:
        if in_list and not line.startswith("- "):
            yield "</ul>"
            in_list = False
        if line.startswith("```"):
            block = []
            for inner in lines:
                if inner == "```":
                    break
                block.append(inner)
            yield f"<pre>{html.escape(chr(10).join(block), quote=False)}</pre>"
        elif match := re.match(r"(#{2,4}) (.*)", line):
            level = len(match[1])
            anchor = html.escape(_anchor(match[2]))
            yield f'<h{level} id="{anchor}">{_inline(match[2])}</h{level}>'
        elif line.startswith("- "):
            if not in_list:
                yield "<ul>"
                in_list = True
            yield f"<li>{_inline(line[2:])}</li>"
        elif line:
            yield f"<p>{_inline(line)}</p>"
    if in_list:
        yield "</ul>"


def _page(title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def pages() -> dict[str, str]:
    """The pages by the names of their files; ``index.html`` links the others, and all they tell."""
    name = f"Millhopper {millhopper.__version__}: reference"
    index = [f"<h1>{html.escape(name)}</h1>"]
    written = {}
    for chapter in reference.chapters():
        title = chapter.split("\n")[0].removeprefix("## ")
        plain = title.replace("`", "")
        file = f"{plain.lower().replace(' ', '_')}.html"
        written[file] = _page(
            f"{plain} - {name}",
            f'<p><a href="index.html">{html.escape(name)}</a></p>\n' + "\n".join(_body(chapter)),
        )
        links = [
            f'<a href="{file}#{html.escape(_anchor(heading))}">{html.escape(_anchor(heading))}</a>'
            for heading in re.findall(r"^### (.*)", chapter, re.M)
        ]
        index.append(f'<h2><a href="{file}">{_inline(title)}</a></h2>\n<p>{", ".join(links)}</p>')
    written["index.html"] = _page(name, "\n".join(index))
    return written


def write(folder: Path) -> list[str]:
    """Writes the pages into a folder, which is made; returns the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = pages()
    for file, content in written.items():
        (folder / file).write_text(content, encoding="utf-8")
    return sorted(written)
