# SPDX-License-Identifier: Apache-2.0
"""Reader.jax(): JAX arrays over the core's own memory."""

from __future__ import annotations

import gc
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from number_files import open_mixed, open_numbers, write_mixed, write_numbers

jax = pytest.importorskip("jax", reason="JAX is not installed")

RECORDS = 1000


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write_mixed(tmp_path / "mixed.bin", RECORDS)


def address(array: object) -> int:
    return array.unsafe_buffer_pointer()  # type: ignore[attr-defined, no-any-return]


def test_batches_are_dicts_of_arrays_in_order(mixed: Path) -> None:
    batches = list(open_mixed(mixed).batch(300).jax())
    assert [batch["pixels"].shape for batch in batches] == [(300, 3)] * 3 + [(100, 3)]
    rows = np.concatenate([batch["pixels"] for batch in batches])
    np.testing.assert_array_equal(rows[:, 1], np.arange(RECORDS))
    assert all(isinstance(batch["pixels"], jax.Array) for batch in batches)


def test_bfloat16_is_jaxs(mixed: Path) -> None:
    (batch,) = open_mixed(mixed).batch(RECORDS).jax()
    assert batch["halves"].dtype == jax.numpy.bfloat16
    np.testing.assert_array_equal(
        np.asarray(batch["halves"]).view(np.uint16),
        next(iter(open_mixed(mixed).batch(RECORDS)))["halves"],
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "uint8", "float16", "float32"])
def test_arrays_show_the_memory_of_the_core(tmp_path: Path, dtype: str) -> None:
    values = np.arange(8).astype(dtype)
    values.tofile(tmp_path / "values.bin")
    reader = millhopper.Reader.open_files(
        f"fixed:{tmp_path}/values.bin", slots={"value": (dtype, [1, 2])}
    ).batch(4)
    array = next(iter(reader))["value"]
    shown = jax.device_put({"value": reader.jax()._array(array, False)})["value"]
    assert address(shown) == array.ctypes.data
    assert shown.dtype == dtype
    np.testing.assert_array_equal(np.asarray(shown).ravel(), values)


def test_memory_stays_as_it_is_while_arrays_show_it(mixed: Path) -> None:
    view = open_mixed(mixed).batch(100).double_buffer().jax()
    kept = [batch["pixels"] for batch in view]
    assert len({address(array) for array in kept}) == len(kept)
    expected = [np.array(array) for array in kept]
    for _ in range(5):  # other batches must not take memory that is in use
        list(view)
    del view
    gc.collect()
    list(open_mixed(mixed).batch(100).jax())
    for array, copy in zip_strict(kept, expected):
        np.testing.assert_array_equal(array, copy)


def test_memory_is_used_again(mixed: Path) -> None:
    view = open_mixed(mixed).batch(100).jax()
    assert len({address(batch["pixels"]) for _ in range(20) for batch in view}) <= 8


def test_wide_types_are_as_jax_has_them(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "numbers.bin", 10)
    (batch,) = open_numbers(path).batch(10).jax()
    assert batch["row"].dtype == np.int32
    assert batch["row"].ravel().tolist() == list(range(40))


def test_ragged_slots_are_values_and_offsets(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"one\n\nfour")
    reader = millhopper.Reader.open_files(f"text:{tmp_path}/notes.txt", names=["line"]).batch(10)
    (batch,) = reader.jax()
    line = batch["line"]
    assert bytes(np.asarray(line.values)) == b"onefour"
    assert line.offsets[0].tolist() == [0, 3, 3, 7]
    assert isinstance(line.offsets[0], jax.Array)
    assert [bytes(np.asarray(one)) for one in line] == [b"one", b"", b"four"] == line.to_bytes()
    assert jax.jit(lambda batch: batch["line"].lengths())(batch).tolist() == [3, 0, 4]
    doubled = jax.tree_util.tree_map(lambda array: 2 * array, batch)["line"]
    assert type(doubled) is type(line)
    assert doubled.offsets[0].tolist() == [0, 6, 6, 14]


def test_batches_go_through_jit_and_to_a_device(mixed: Path) -> None:
    total = jax.jit(lambda batch: batch["pixels"].sum())
    device = jax.devices("cpu")[0]
    sums = [float(total(batch)) for batch in open_mixed(mixed).batch(10).jax(device)]
    assert sum(sums) == 3 * sum(range(RECORDS))


def test_epochs_and_lengths_are_the_readers(mixed: Path) -> None:
    view = open_mixed(mixed).shuffle(100, seed=7).batch(64).jax()
    assert len(view) == 16
    first = np.concatenate([batch["pixels"] for batch in view])
    second = np.concatenate([batch["pixels"] for batch in view])
    assert not np.array_equal(first, second)
    view.set_epoch(0)
    assert np.array_equal(first, np.concatenate([batch["pixels"] for batch in view]))


def test_what_is_no_device_is_answered(mixed: Path) -> None:
    with pytest.raises(TypeError, match=r"device is 'cpu'; jax.devices\('cpu'\)\[0\] is one"):
        open_mixed(mixed).jax("cpu")
    with pytest.raises(AttributeError, match=r"batch comes before jax: reader.batch\(...\).jax\("):
        open_mixed(mixed).jax().batch(3)  # type: ignore[attr-defined]
