# SPDX-License-Identifier: Apache-2.0
"""uint16, uint32 and uint64 wherever Python gives values to the core or takes some."""

from __future__ import annotations

from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest
from millhopper import LoDTensor, layers
from millhopper.framework import VarType, convert_dtype, dtype_name

pytestmark = pytest.mark.usefixtures("fresh_programs")

DTYPES = ["uint16", "uint32", "uint64"]


def extremes(dtype: str) -> np.ndarray:
    """Four rows: the lowest values and the highest."""
    highest = np.iinfo(dtype).max
    return np.array([[0], [1], [highest - 1], [highest]], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_names_mean_the_type(dtype: str) -> None:
    number = VarType[dtype.upper()]
    for name in (dtype, np.dtype(dtype), getattr(np, dtype), f"torch.{dtype}", f"jnp.{dtype}"):
        assert convert_dtype(name) is number
    assert dtype_name(number) == dtype
    assert np.zeros(1, number).dtype == dtype


def test_uint64_has_the_number_of_the_lineages_size_t() -> None:
    assert VarType.SIZE_T is VarType.UINT64


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_go_to_the_core_and_back(dtype: str) -> None:
    array = extremes(dtype)
    tensor = LoDTensor.from_array(array)
    assert tensor.dtype == dtype
    back = np.asarray(tensor)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_readers_of_memory_and_maps_hold_them(dtype: str) -> None:
    reader = fluid.Reader.from_arrays({"x": extremes(dtype)})
    assert reader.slots() == [(dtype, [1, 1], 0)]
    (batch,) = reader.batch(4)
    assert batch["x"].dtype == dtype
    np.testing.assert_array_equal(batch["x"], extremes(dtype))
    mapped = fluid.Reader.from_arrays({"x": extremes(dtype)}).map(lambda element: ~element["x"])
    found = np.concatenate([next(iter(element.values())) for element in mapped])
    np.testing.assert_array_equal(found, ~extremes(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_files_hold_them(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", extremes(dtype))
    extremes(dtype).tofile(tmp_path / "raw")
    slots = {"x": (dtype, [1, 1])}
    for name in (f"npy:{tmp_path / 'a.npy'}", f"fixed:{tmp_path / 'raw'}"):
        (batch,) = fluid.Reader.open_files(name, slots=slots).batch(4)
        assert batch["x"].dtype == dtype
        np.testing.assert_array_equal(batch["x"], extremes(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_data_feeders_take_what_the_type_holds(dtype: str) -> None:
    x = layers.data("x", [1], dtype=dtype)
    feeder = fluid.DataFeeder([x], fluid.CPUPlace())
    highest = int(np.iinfo(dtype).max)
    tensor = feeder.feed([(0,), (highest,)])["x"]
    assert (tensor.dtype, np.asarray(tensor).tolist()) == (dtype, [[0], [highest]])
    for wrong in (-1, highest + 1, 0.5):
        with pytest.raises(ValueError, match=dtype):
            feeder.feed([(wrong,)])


def test_lists_of_uint64_are_not_rounded() -> None:
    """numpy makes floats of lists with integers on both sides of 2^63."""
    x = layers.data("x", [1], dtype="uint64")
    numbers = [[0], [2**63 + 1], [2**64 - 1]]
    (found,) = fluid.Executor().run(feed={"x": numbers}, fetch_list=[x])
    assert (found.dtype, found.tolist()) == (np.uint64, numbers)
    for wrong in ([[2**63], [-1]], [[2**63], [0.5]]):
        with pytest.raises(ValueError, match="uint64 is declared"):
            fluid.Executor().run(feed={"x": wrong}, fetch_list=[x])


def test_elements_of_lists_of_uint64_are_not_rounded() -> None:
    one = fluid.Reader.from_arrays({"x": np.zeros(1)})

    def yields(numbers: list[float]) -> fluid.Reader:
        return one.map(lambda _: {"x": [numbers]}, slots={"x": ("uint64", [1, len(numbers)])})

    numbers = [0, 2**63 + 1, 2**64 - 1]
    assert [element["x"].tolist() for element in yields(numbers)] == [[numbers]]
    for wrong in ([2**63, 0.5], [2**63, -1], [2**63, float("nan")]):
        with pytest.raises(fluid.Error, match="uint64 is declared"):
            list(yields(wrong))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_compute_with_them_or_refuse(dtype: str) -> None:
    x = layers.data("x", [1], dtype=dtype)
    wide = layers.cast(x, "float64")
    feed = {"x": extremes(dtype)}
    found, same = fluid.Executor().run(feed=feed, fetch_list=[wide, x])
    np.testing.assert_array_equal(found, extremes(dtype).astype("float64"))
    np.testing.assert_array_equal(same, extremes(dtype))
    double = x + x
    with pytest.raises(Exception, match=f"{dtype}.*the types taken are float32, float64, int32"):
        fluid.Executor().run(feed=feed, fetch_list=[double])


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_has_them_or_says_so(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    batches = iter(fluid.Reader.from_arrays({"x": extremes(dtype)}).batch(4).torch())
    if hasattr(torch, dtype):
        values = next(batches)["x"]
        assert values.dtype == getattr(torch, dtype)
        assert values.tolist() == extremes(dtype).tolist()
    else:
        with pytest.raises(TypeError, match=f"has no {dtype}, which torch 2.3 brought"):
            next(batches)
