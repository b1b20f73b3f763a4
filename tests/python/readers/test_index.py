# SPDX-License-Identifier: Apache-2.0
"""Indexes that a first pass leaves: ``set_index``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import millhopper
import pytest


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    millhopper.set_index(False)


def lines_of(path: Path) -> millhopper.Reader:
    return millhopper.Reader.open_files(f"text:{path}", names=["line"]).batch(1000)


@pytest.mark.usefixtures("pool")
def test_a_pass_leaves_an_index(tmp_path: Path) -> None:
    path, index = tmp_path / "lines", tmp_path / "lines.mhi"
    path.write_bytes(b"".join(b"%d is a line\n" % i for i in range(300_000)))
    for _ in lines_of(path):
        pass
    assert not index.exists()
    millhopper.set_index()
    with pytest.raises(TypeError):
        len(lines_of(path))
    millhopper.set_threads(0)  # none that might read the file to its end meanwhile
    next(iter(lines_of(path)))
    assert not index.exists(), "a pass that stops leaves none"
    assert sum(len(batch["line"]) for batch in lines_of(path)) == 300_000
    assert index.exists()
    assert len(lines_of(path)) == 300
    millhopper.set_index(False)
    index.unlink()
    for _ in lines_of(path):
        pass
    assert not index.exists()


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    millhopper.set_index()
    for _ in lines_of(path):
        pass
    path.write_bytes(b"one\ntwo\nthree\n")
    with pytest.raises(millhopper.Error, match="has changed since its index was made"):
        for _ in lines_of(path):
            pass


def test_it_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="enabled is 1; it must be True or False"):
        millhopper.set_index(1)  # type: ignore[arg-type]
