# SPDX-License-Identifier: Apache-2.0
"""Values go between LoDTensor, numpy, torch and JAX without a copy, and live as long as needed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from millhopper import Error, LoDTensor, _core

ALIGNMENT = 64  # JAX shares what is aligned like this, and copies other memory


def aligned(count: int, dtype: str) -> np.ndarray:
    """Numbers from 0, in memory that every library takes as it is."""
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT
    values = raw[begin : begin + size].view(dtype)
    values[:] = np.arange(count)
    return values


def address(values: Any) -> int:
    """The address of the first value, for arrays of any library."""
    if hasattr(values, "data_ptr"):
        return int(values.data_ptr())
    if hasattr(values, "unsafe_buffer_pointer"):
        return int(values.unsafe_buffer_pointer())
    return int(np.asarray(values).ctypes.data)


def to_library(name: str) -> Any:
    """The library's function that takes a tensor by DLPack."""
    if name == "numpy":
        return np.from_dlpack
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    return library.from_dlpack if name == "torch" else library.dlpack.from_dlpack


LIBRARIES = ["numpy", "torch", "jax"]
DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_round_trip_copies_nothing(library: str, dtype: str) -> None:
    if (library, dtype) == ("numpy", "bool") and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("DLPack had no bool before numpy 1.25")
    if library == "torch" and dtype in ("uint16", "uint32"):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        if not hasattr(torch, dtype):
            pytest.skip(f"torch had no {dtype} before 2.3")
    array = aligned(6, dtype).reshape(2, 3)
    there = to_library(library)(LoDTensor.from_array(array))
    assert str(there.dtype).removeprefix("torch.") == dtype
    back = _core.from_dlpack(there)
    assert (back.dtype, back.shape()) == (dtype, [2, 3])
    assert address(there) == address(back) == array.ctypes.data
    np.testing.assert_array_equal(np.asarray(back), array)


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_stay_while_anybody_shows_them(library: str) -> None:
    array = aligned(1 << 16, "float32")
    where = array.ctypes.data
    values = to_library(library)(LoDTensor.from_array(array))
    del array
    gc.collect()
    back = _core.from_dlpack(values)
    del values
    gc.collect()
    others = [np.full(1 << 16, -1, np.float32) for _ in range(8)]
    assert address(back) == where
    np.testing.assert_array_equal(np.asarray(back), np.arange(1 << 16))
    del others


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_bfloat16_stays_bfloat16(library: str) -> None:
    take = to_library(library)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    source = torch.arange(64, dtype=torch.bfloat16)
    tensor = _core.from_dlpack(source)
    assert tensor.dtype == "bfloat16"
    taken = take(tensor)
    assert str(taken.dtype).endswith("bfloat16")
    assert address(taken) == source.data_ptr()


def test_all_the_way_round() -> None:
    array = aligned(16, "float32")
    for library in LIBRARIES:
        array = to_library(library)(LoDTensor.from_array(array))
        array = np.asarray(_core.from_dlpack(array))
    assert array.tolist() == list(range(16))


def test_a_copy_is_one_when_asked_for() -> None:
    tensor = LoDTensor.from_array(aligned(4, "float32"))
    capsule = tensor.__dlpack__(copy=True)
    assert address(_core.from_dlpack(capsule)) != address(tensor)
    with pytest.raises(BufferError, match="not on another device"):
        tensor.__dlpack__(dl_device=(2, 0))
    copy = np.array(tensor)
    assert copy.flags.writeable
    assert address(copy) != address(tensor)
    assert np.asarray(tensor, dtype=np.float64).tolist() == [0, 1, 2, 3]


def test_what_cannot_be_shared_says_why() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(Error, match="not laid out row by row; make a contiguous copy first"):
        _core.from_dlpack(torch.ones(4, 3).t())
    with pytest.raises(BufferError, match="gradient"):
        _core.from_dlpack(torch.ones(3, requires_grad=True))
