# SPDX-License-Identifier: Apache-2.0
"""Without torch and JAX all else works, and a call that needs them says what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import millhopper
import pytest
from conftest import run_python
from number_files import open_numbers, write_numbers


@pytest.mark.parametrize(("library", "view"), [("torch", "torch"), ("jax", "jax")])
def test_the_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, view: str
) -> None:
    reader = open_numbers(write_numbers(tmp_path / "numbers.bin", 10))
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"millhopper.readers.{view}", raising=False)
    with pytest.raises(ImportError, match=f"needs {library}, .*: pip install {library}") as caught:
        getattr(reader, view)()
    assert caught.value.name == library


def test_the_loader_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = open_numbers(write_numbers(tmp_path / "numbers.bin", 10))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="millhopper.DataLoader needs torch"):
        millhopper.DataLoader(reader)


def test_nobody_is_imported_unasked() -> None:
    ran = run_python(
        """
        import sys
        import millhopper
        assert not {"torch", "jax"} & set(sys.modules), "imported unasked"
        """
    )
    assert ran.returncode == 0, ran.stderr
