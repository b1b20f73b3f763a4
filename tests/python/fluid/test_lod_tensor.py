# SPDX-License-Identifier: Apache-2.0
"""LoDTensor: lengths and offsets, and values that are shown without a copy."""

import gc
import sys

import numpy as np
import pytest
from millhopper import Error, LoDTensor, create_lod_tensor, create_random_int_lodtensor
from millhopper.core import CPUPlace, CUDAPlace, LoDTensorArray, VarDesc, from_dlpack

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "float16",
    "float32",
    "float64",
]


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def tensor_of(values: object) -> LoDTensor:
    tensor = LoDTensor()
    tensor.set(values)
    return tensor


def test_a_tensor_without_values_shows_none() -> None:
    tensor = LoDTensor([[1, 2]])
    assert str(tensor) == "no values lod [[0, 1, 3]]"
    with pytest.raises(Error, match="the tensor has no values"):
        np.asarray(tensor)
    with pytest.raises(BufferError, match="the tensor has no values"):
        memoryview(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_go_in_and_come_out(dtype: str) -> None:
    values = np.arange(6).astype(dtype).reshape(2, 3)
    tensor = tensor_of(values)
    assert tensor.shape() == [2, 3]
    assert tensor.dtype == dtype
    assert np.asarray(tensor).dtype == values.dtype
    np.testing.assert_array_equal(np.asarray(tensor), values)
    np.testing.assert_array_equal(np.asarray(from_dlpack(tensor)), values)


def test_set_copies_and_takes_any_layout() -> None:
    values = np.arange(12).reshape(3, 4)
    tensor = tensor_of(values.T[::2])
    expected = values.T[::2].copy()
    values[:] = 0
    np.testing.assert_array_equal(np.asarray(tensor), expected)


def test_a_scalar_and_an_empty_array() -> None:
    assert tensor_of(np.float32(2)).shape() == []
    assert tensor_of(np.zeros([0, 3], np.int64)).shape() == [0, 3]


def test_a_dtype_that_is_none_of_ours_is_named() -> None:
    with pytest.raises(Error, match="complex64"):
        tensor_of(np.zeros(2, np.complex64))
    with pytest.raises(Error, match="'>i4'"):
        tensor_of(np.zeros(2, ">i4"))


def test_lengths_and_offsets_say_the_same() -> None:
    tensor = LoDTensor([[2, 1], [3, 2, 4]])
    assert tensor.lod() == [[0, 2, 3], [0, 3, 5, 9]]
    tensor.set_lod([[0, 1], [0, 9]])
    assert tensor.recursive_sequence_lengths() == [[1], [9]]


@pytest.mark.parametrize("lengths", [[[], [1], [3]], [[0], [2], [3]], [[2], [1]], [[2**64 - 1, 2]]])
def test_levels_that_do_not_fit_are_refused(lengths: list[list[int]]) -> None:
    tensor = LoDTensor([[1, 2]])
    with pytest.raises(Error):
        tensor.set_recursive_sequence_lengths(lengths)
    assert tensor.recursive_sequence_lengths() == [[1, 2]]


def test_levels_may_come_before_the_values_and_stay() -> None:
    tensor = LoDTensor([[1, 2, 3]])
    assert not tensor.has_valid_recursive_sequence_lengths()
    tensor.set(np.zeros([6, 1]))
    assert tensor.has_valid_recursive_sequence_lengths()
    tensor.set(np.zeros([9, 1]))
    assert not tensor.has_valid_recursive_sequence_lengths()
    assert tensor.recursive_sequence_lengths() == [[1, 2, 3]]


def test_arrays_show_the_memory_of_the_tensor() -> None:
    tensor = tensor_of(np.arange(4.0))
    array = np.asarray(tensor)
    assert address(array) == address(np.asarray(tensor))
    assert memoryview(tensor).shape == (4,)
    assert not array.flags.writeable
    tensor.set(np.zeros(4))  # what is seen is not written again
    np.testing.assert_array_equal(array, np.arange(4.0))
    view = memoryview(tensor)
    del tensor
    gc.collect()
    assert view.tolist() == [0.0] * 4


def test_from_array_shares_and_lets_go() -> None:
    array = np.arange(10, dtype=np.int32)
    before = sys.getrefcount(array)
    tensor = LoDTensor.from_array(array)
    assert address(np.asarray(tensor)) == address(array)
    assert sys.getrefcount(array) > before
    del tensor
    LoDTensor.from_array(np.zeros(1))
    assert sys.getrefcount(array) == before
    with pytest.raises(Error, match="ascontiguousarray"):
        LoDTensor.from_array(array[::2])


def test_dlpack_shares_in_both_directions() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = from_dlpack(array)
    assert address(np.asarray(tensor)) == address(array)
    back = np.from_dlpack(tensor)
    assert address(back) == address(array)
    del tensor
    gc.collect()
    np.testing.assert_array_equal(back, array)


def test_a_capsule_is_used_once() -> None:
    capsule = tensor_of(np.arange(3))._to_dlpack()
    assert np.asarray(from_dlpack(capsule)).tolist() == [0, 1, 2]
    with pytest.raises(Error, match="has been used"):
        from_dlpack(capsule)
    del capsule
    tensor_of(np.arange(3))._to_dlpack()  # one that nobody takes
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1, 2])
    with pytest.raises(Error, match="row by row"):
        from_dlpack(np.arange(6).reshape(2, 3).T)


def test_an_array_of_tensors_is_a_list() -> None:
    array = LoDTensorArray()
    for number in range(10):
        tensor = tensor_of(np.array([number], np.float32))
        tensor.set_lod([[0, 1]])
        array.append(tensor)
    array[0] = tensor_of(np.array([11], np.float32))
    assert [np.asarray(tensor)[0] for tensor in array] == [11, *range(1, 10)]
    assert array[9].lod() == [[0, 1]]


def test_create_lod_tensor() -> None:
    words = create_lod_tensor([[1, 2, 3], [3, 4]], [[3, 2]], CPUPlace())
    assert words.shape() == [5, 1]
    assert words._dtype() == VarDesc.VarType.INT64
    values = np.random.default_rng(0).random([10, 1])
    nested = create_lod_tensor(values, [[2, 1], [3, 3, 4]], CPUPlace())
    np.testing.assert_array_equal(np.asarray(nested), values)
    other = create_lod_tensor(nested, [[2, 2, 1], [1, 2, 2, 3, 2]])
    assert nested.recursive_sequence_lengths() == [[2, 1], [3, 3, 4]]
    assert other.recursive_sequence_lengths() == [[2, 2, 1], [1, 2, 2, 3, 2]]
    assert str(other).splitlines()[0] == ("float64 [10, 1] lod [[0, 2, 4, 5], [0, 1, 3, 5, 8, 10]]")


def test_create_lod_tensor_refuses_what_does_not_fit() -> None:
    with pytest.raises(AssertionError, match=r"have lengths \[3, 2\]"):
        create_lod_tensor([[1, 2, 3], [3, 4]], [[2, 2]])
    with pytest.raises(AssertionError, match="10 rows"):
        create_lod_tensor(np.zeros([10, 1]), [[3, 2]])
    with pytest.raises(TypeError, match="not str"):
        create_lod_tensor("words", [[1]])
    with pytest.raises(Error, match="host|no place"):
        create_lod_tensor(np.zeros([1, 1]), [[1]], CUDAPlace(0))


def test_create_random_int_lodtensor() -> None:
    def numbers(seed: int) -> list[int]:
        tensor = create_random_int_lodtensor([[2, 3, 5]], [1], CPUPlace(), 3, 4, seed)
        assert tensor.shape() == [10, 1]
        assert tensor.recursive_sequence_lengths() == [[2, 3, 5]]
        return np.asarray(tensor).ravel().tolist()

    assert set(numbers(0) + numbers(1)) == {3, 4}
    assert numbers(0) == numbers(0)
