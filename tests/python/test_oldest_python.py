# SPDX-License-Identifier: Apache-2.0
"""The package is written for Python 3.9 on: what later versions brought is not in its files.

``tools/lint`` looks for newer modules and functions; this looks for what only fails when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import millhopper
import pytest

SOURCES = sorted(Path(millhopper.__file__).parent.rglob("*.py"))
TYPES = {"bool", "bytes", "complex", "dict", "float", "int", "list", "set", "str", "tuple"}


def annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """What Python does not evaluate, because of ``from __future__ import annotations``."""
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                yield from ast.walk(getattr(node, field))


def is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    if isinstance(node, ast.BinOp):
        return is_type(node.left) or is_type(node.right)
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return (
        name in TYPES
        or (name[:1].isupper() and not name.isupper())
        or (isinstance(node, ast.Constant) and node.value is None)
    )


def newer(source: str) -> list[str]:
    """What Python 3.9 cannot run."""
    tree = ast.parse(source, feature_version=(3, 9))
    types_only = {id(node) for node in annotations(tree)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            if id(node) not in types_only and is_type(node):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            found.append(f"strict={ast.unparse(node.value)}")
        elif isinstance(node, ast.ClassDef) and len(node.bases) > 1:
            bases = [ast.unparse(base) for base in node.bases]
            found += [f"class {node.name}" for base in bases if base.endswith("NamedTuple")]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_file_needs_a_newer_python(path: Path) -> None:
    assert newer(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(x, int | str)",
        "A = list[int] | None",
        "zip(a, b, strict=True)",
        "class A(NamedTuple, Generic[T]): pass",
    ],
)
def test_what_is_newer_is_found(source: str) -> None:
    assert len(newer(source)) == 1


def test_what_is_not_newer_is_not_found() -> None:
    source = "def f(x: int | None) -> str | None:\n    y: int | str = A_FLAG | re.M | {1} | 32\n"
    assert newer(source) == []
    with pytest.raises(SyntaxError):
        newer("match x:\n    case 1: pass\n")


def test_zip_strict() -> None:
    from millhopper.base.zipped import zip_strict

    assert list(zip_strict([1, 2], (3, 4))) == [(1, 3), (2, 4)]
    assert list(zip_strict(iter([1, 2]), [3, 4])) == [(1, 3), (2, 4)]
    assert list(zip_strict()) == list(zip_strict([])) == []
    for left, right in ([1, 2], [3]), (iter([1]), [3, 4]):
        pairs = zip_strict(left, right)
        assert next(pairs) == (1, 3)
        with pytest.raises(ValueError, match="2 iterables, read side by side, differ in length"):
            next(pairs)
