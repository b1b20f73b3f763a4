# SPDX-License-Identifier: Apache-2.0
"""What new users mistype and what they are answered, word by word, as error_words.txt has it:
after ``>>>`` what was typed, below it the whole error."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import millhopper
import pytest
from millhopper.base.libraries import explained

WORDS = Path(__file__).with_name("error_words.txt").read_text()
CASES = [case.partition("\n")[::2] for case in WORDS.split(">>> ")[1:]]

PROGRAM = """blocks {
  idx: 0 parent_idx: -1
  vars { name: "x" %s: true type { type: LOD_TENSOR lod_tensor { tensor { data_type: %s } } } }
}
"""


WITHOUT_SLOTS = """blocks {
  idx: 0 parent_idx: -1 vars { name: "files" persistable: true type { type: READER } }
  ops { type: "open_files" outputs { parameter: "Out" arguments: "files" }
        attrs { name: "file_names" strings: "fixed:lines.txt" } }
}
"""


def run_layers(make: Callable[[], object]) -> None:
    millhopper.new_programs()
    with millhopper.scope_guard(millhopper.Scope()):
        make()
        millhopper.Executor().run(millhopper.default_startup_program())


def program(data_type: str = "FP32", persistable: str = "persistable") -> millhopper.Reader:
    return millhopper.Reader(PROGRAM % (persistable, data_type), name="typed.pbtxt")


def without_library(name: str) -> None:
    text = f"{name}: cannot open shared object file: No such file or directory"
    raise explained(ImportError(text))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments of DataLoader are checked before it needs more of PyTorch than this."""
    if importlib.util.find_spec("torch") is None:
        for name in ("torch", "torch.utils", "torch.utils.data"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(
            sys.modules["torch.utils.data"], "IterableDataset", ModuleType, raising=False
        )


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("typed", "answered"), CASES, ids=[typed for typed, _ in CASES])
def test_what_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, answered: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines.txt").write_text("one\ntwo\n")
    known: dict[str, Any] = {
        **vars(millhopper),
        "lines": millhopper.Reader.open_files(str(tmp_path / "lines.txt"), names=["line"]),
        "program": program,
        "run_layers": run_layers,
        "WITHOUT_SLOTS": WITHOUT_SLOTS,
        "without_library": without_library,
    }
    with pytest.raises((millhopper.Error, ImportError, TypeError, ValueError)) as caught:
        eval(compile(typed, "<typed>", "eval"), known)
    formats = ", ".join(format["tag"] for format in millhopper._core.format_schemas())
    said = f"{caught.type.__name__}: {caught.value}"
    said = said.replace(str(tmp_path), "FOLDER").replace(formats, "FORMATS")
    assert said == answered.rstrip("\n")
