# SPDX-License-Identifier: Apache-2.0
"""The words of errors that new users meet: what is wrong, where, and what to type."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.libraries import explained

FORMATS = ", ".join(format["tag"] for format in millhopper._core.format_schemas())


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(millhopper.Error) as caught:
        call()
    return caught.value.message


def lines(tmp_path: Path, *texts: str) -> millhopper.Reader:
    (tmp_path / "lines.txt").write_text("".join(f"{text}\n" for text in texts))
    return millhopper.Reader.open_files(tmp_path / "lines.txt", names=["line"])


@pytest.fixture
def numbers() -> millhopper.Reader:
    return millhopper.Reader.create("create_range_reader", count=3, names=["n"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "cvs:x",
            "cvs:x: No such file or directory; if 'cvs' is to be its format: there is none of this "
            f"name; did you mean 'csv'? the formats are {FORMATS}",
        ),
        (
            "quux:x",
            "quux:x: No such file or directory; if 'quux' is to be its format: there is none of "
            f"this name; the formats are {FORMATS}",
        ),
        ("csv:missing", "missing: No such file or directory"),
        ("missing.csv", "missing.csv: No such file or directory"),
        ("missing.weird", "missing.weird: No such file or directory"),
        ("missing", "missing: No such file or directory"),
        ("image_folder:missing", "missing: No such file or directory"),
    ],
)
def test_a_file_that_is_missing_is_said_before_its_format_is_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(millhopper.Error) as caught:
        iter(millhopper.Reader.open_files(name))
    assert str(caught.value).splitlines()[0] == message
    assert caught.value.code == "input/output error"


PROGRAM = """
blocks {
  idx: 0 parent_idx: -1
  vars {
    name: "files"
    type { type: READER reader { lod_tensor { tensor { data_type: %s dims: 1 } } } }
    %s: true
  }
  ops {
    type: "%s"
    outputs { parameter: "Out" arguments: "files" }
    attrs { name: "file_names" strings: "x.recordio" }
  }
}
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("FLOAT", "persistable", "open_files"),
            "6:67: 'FLOAT' is no value of 'data_type'; did you mean 'FP32'?",
        ),
        (
            ("float32", "persistable", "open_files"),
            "6:67: 'float32' is no value of 'data_type'; did you mean 'FP32'?",
        ),
        (
            ("int64", "persistable", "open_files"),
            "6:67: 'int64' is no value of 'data_type'; did you mean 'INT64'?",
        ),
        (
            ("FP23", "persistable", "open_files"),
            "6:67: 'FP23' is no value of 'data_type'; did you mean 'FP32'?",
        ),
        (
            ("FP32", "persistent", "open_files"),
            "7:5: VarDesc has no field 'persistent'; did you mean 'persistable'?",
        ),
        (
            ("FP32", "persistable", "suffle"),
            "9:3: operator 'suffle': no such operator; did you mean 'create_shuffle_reader'?",
        ),
    ],
)
def test_words_of_programs_that_are_misspelt(words: tuple[str, ...], message: str) -> None:
    assert message_of(lambda: millhopper.Reader(PROGRAM % words, name="s")) == f"s:{message}"


def test_a_function_without_a_return(numbers: millhopper.Reader) -> None:
    text = "it is None: does the function end without a return?"
    assert message_of(lambda: list(numbers.map(lambda e: None))) == text
    declared = numbers.map(lambda e: None, slots={"n": ("int64", [1])})
    assert message_of(lambda: list(declared)) == text
    with pytest.raises(millhopper.Error, match="in what function '.*<lambda>' .*test_error_texts"):
        list(declared)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.shuffle(True), "attribute 'buffer_size' is of type INT, not True"),
        (lambda r: r.shuffle(4, seed=True), "attribute 'seed' is of type LONG, not True"),
        (lambda r: r.batch(2.0), "attribute 'batch_size' is of type INT, not 2.0"),
        (lambda r: r.take(True), "attribute 'count' is of type LONG, not True"),
    ],
)
def test_values_of_another_type(
    numbers: millhopper.Reader, call: Callable[[Any], object], message: str
) -> None:
    assert message_of(lambda: call(numbers)).endswith(message)


def test_bools_are_no_numbers(numbers: millhopper.Reader) -> None:
    with pytest.raises(TypeError, match="^epoch is True; it must be an integer$"):
        numbers.set_epoch(True)
    with pytest.raises(TypeError, match="^seed is True; it must be an integer$"):
        millhopper.Reader.open_files("x", seed=True)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("declared", [False, True])
def test_an_error_within_map_says_which_record(
    tmp_path: Path, batched: bool, declared: bool
) -> None:
    def length(element: dict[str, Any]) -> dict[str, Any]:
        text = bytes(element["line"].values).decode()
        if text == "three":
            raise ValueError("on purpose")
        return {"n": len(text)}

    slots = {"n": ("int64", [1])} if declared else None
    reader = lines(tmp_path, "one", "two", "three", "four").map(length, slots=slots)
    if batched:
        reader = reader.batch(3).double_buffer()
    with pytest.raises(millhopper.Error) as caught:
        list(reader)
    assert caught.value.file == str(tmp_path / "lines.txt")
    assert caught.value.offset == 8
    first, *steps = str(caught.value).splitlines()
    assert first.startswith(f"{tmp_path}/lines.txt: function ")
    assert first.endswith(
        "length' (" + f"{__file__}:{length.__code__.co_firstlineno}) "
        "has raised ValueError: on purpose"
    )
    assert "in line 3, which begins at byte 8" in steps[0]
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_of_the_first_element_says_which_record(tmp_path: Path) -> None:
    reader = lines(tmp_path, "one").map(lambda element: element["x"])
    with pytest.raises(millhopper.Error, match="KeyError: 'x'") as caught:
        list(reader)
    assert (caught.value.file, caught.value.offset) == (str(tmp_path / "lines.txt"), 0)


def test_an_error_of_a_block_says_which_record(tmp_path: Path) -> None:
    reader = lines(tmp_path, "one", "two").apply("decode_image", "line")
    with pytest.raises(millhopper.Error) as caught:
        list(reader)
    assert (caught.value.file, caught.value.offset) == (str(tmp_path / "lines.txt"), 0)


def test_other_names_of_dtypes(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_bytes(bytes(16))
    names = {
        "torch.float32": "float32",
        "torch.long": "int64",
        "torch.half": "float16",
        "torch.bfloat16": "bfloat16",
        "jnp.int8": "int8",
        "jax.numpy.bfloat16": "bfloat16",
    }
    for name, expected in names.items():
        file = f"fixed:{tmp_path / 'numbers'}"
        reader = millhopper.Reader.open_files(file, slots={"x": (name, [1])})
        assert reader.slots() == [(expected, [1], 0)]
        assert millhopper.framework.dtype_name(millhopper.framework.convert_dtype(name)) == expected
    with pytest.raises(ValueError) as caught:
        millhopper.Reader.open_files("x", slots={"x": ("FLOAT32", [1])})
    assert str(caught.value).startswith(
        "slot 'x': values cannot be of type 'FLOAT32'; did you mean 'float32'? the types are bool, "
    )


def test_dtypes_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    convert, name = millhopper.framework.convert_dtype, millhopper.framework.dtype_name
    for dtype in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
        assert name(convert(getattr(torch, dtype))) == dtype


def test_dtypes_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    convert, name = millhopper.framework.convert_dtype, millhopper.framework.dtype_name
    for dtype in "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
        assert name(convert(getattr(jax.numpy, dtype))) == dtype


def test_a_shared_library_that_is_missing() -> None:
    text = "libsnappy.so.1: cannot open shared object file: No such file or directory"
    error = explained(ImportError(text, name="millhopper._core", path="/x/_core.so"))
    assert str(error) == (
        "millhopper's core needs libsnappy.so.1, which is not installed: apt install libsnappy1v5 "
        "(its name in Debian 12)"
    )
    assert (error.name, error.path) == ("millhopper._core", "/x/_core.so")
    other = ImportError("libquux.so.1: cannot open shared object file")
    assert explained(other) is other


def test_every_library_of_the_core_has_a_package() -> None:
    """Those that the loader has mapped beside the core, of this file system's own."""
    from millhopper.base.libraries import _PACKAGES

    core = Path(millhopper._core.__file__).read_bytes()
    needed = set(re.findall(rb"\0(lib[\w+-]+)\.so\.[0-9.]+(?=\0)", core))
    names = {name.decode() for name in needed} - {"libc", "libm"}
    assert names <= set(_PACKAGES), "name their packages in base/libraries.py"
    assert "libsnappy" in names


def test_a_flat_sequence_is_an_element_of_one_level() -> None:
    reader = millhopper.Reader.create("create_range_reader", count=4, names=["n"]).map(
        lambda e: {"tokens": np.arange(int(e["n"][0]))}, slots={"tokens": ("int64", [-1], 1)}
    )
    (batch,) = reader.batch(4)
    assert [tokens.tolist() for tokens in batch["tokens"]] == [[], [0], [0, 1], [0, 1, 2]]


def test_texts_of_ragged_slots_as_arrays(tmp_path: Path) -> None:
    (batch,) = lines(tmp_path, "one", "", "zwölf").batch(3)
    texts = batch["line"].to_numpy()
    assert texts.dtype.kind == "U" and texts.tolist() == ["one", "", "zwölf"]
    assert batch["line"].to_numpy(None).tolist() == [b"one", b"", "zwölf".encode()]
    zero = millhopper.Ragged(np.zeros(1, np.uint8), (np.array([0, 1]),))
    with pytest.raises(ValueError, match="ends with a zero byte"):
        zero.to_numpy()
    with pytest.raises(TypeError, match="is no text"):
        millhopper.Ragged(np.zeros(1), (np.array([0, 1]),)).to_numpy()
