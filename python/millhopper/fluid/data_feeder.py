# SPDX-License-Identifier: Apache-2.0
"""DataFeeder: turns batches of a reader in Python into the tensors that a program is fed with."""

from __future__ import annotations

import contextlib
import itertools
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millhopper._core import LoDTensor
from millhopper.base.places import CUDAPlace, cpu_places, cuda_places
from millhopper.base.python_reader import PythonReader, opened
from millhopper.base.zipped import zip_strict
from millhopper.fluid.feed_values import exactly, numbers_of
from millhopper.programs.program import Program, default_main_program
from millhopper.programs.var_type import VarType, dtype_name
from millhopper.programs.variable import Variable

__all__ = ["DataFeeder"]

Feed = dict[str, LoDTensor]
Array = npt.NDArray[Any]


class DataFeeder:
    """Turns batches, which are lists of samples, into dicts of tensors by variable name. ::

        image = fluid.layers.data(name="image", shape=[1, 28, 28])
        label = fluid.layers.data(name="label", shape=[1], dtype="int64")
        feeder = fluid.DataFeeder([image, label], fluid.CPUPlace())
        feed = feeder.feed([([0] * 784, [9]), ([1] * 784, [1])])  # tensors [2, 1, 28, 28], [2, 1]

    A sample is a tuple or list with a field for each variable, in the order of ``feed_list``. A
    field is a number, a (nested) list or an array. For a variable without levels of detail it is
    one instance, either flat or in the variable's shape; otherwise it is ``lod_level`` levels of
    nested sequences of instances. Values are converted to the variable's dtype. It is an error if a
    value changes when it becomes an integer or bool. Tensors are on the host at every ``place``,
    because the executor takes them from there.

    Source: PaddlePaddle's fluid.DataFeeder, 2018. There, values in a wrong shape of the right rank
    passed, and values that the dtype cannot hold were truncated; here these are ValueErrors.
    """

    def __init__(
        self, feed_list: Sequence[Variable | str], place: object, program: Program | None = None
    ) -> None:
        """A feeder of these variables.

        Args:
            feed_list: variables, or names of variables of ``program``. Their dtypes are bool,
                float16/32/64, int8/16/32/64 or uint8/16/32/64, and one dim, that of the batch, is
                -1.
            place: ``CPUPlace()`` or ``CUDAPlace(i)``. ``feed_parallel`` without ``num_places``
                counts the places of this kind.
            program: by default ``default_main_program()``.

        Raises:
            TypeError: an entry is neither a variable nor a name.
            ValueError: the program has no variable of that name, a variable has no dim -1 or
                another dtype, or the list contains a variable twice.
        """
        variables = [_variable(entry, program) for entry in feed_list]
        self._slots = [_Slot(variable) for variable in variables]
        self.feed_names = [slot.name for slot in self._slots]
        for name in self.feed_names:
            if self.feed_names.count(name) > 1:
                raise ValueError(f"feed_list: variable {name} is in it more than once")
        self.place = place

    def feed(self, iterable: Iterable[Any]) -> Feed:
        """The tensors of one batch, by variable name.

        Args:
            iterable: the samples.

        Raises:
            TypeError: a sample is no tuple or list, or a field is no sequence although its variable
                has a level of detail.
            AssertionError: a sample has more or fewer fields than there are variables.
            ValueError: values cannot be converted or do not have the variable's shape; the message
                begins with the position of the first such item in the batch.
        """
        samples = list(iterable)
        for position, sample in enumerate(samples):
            if not isinstance(sample, (tuple, list)):
                raise TypeError(
                    f"item {position} of the batch is {brief(sample)}; it must be a tuple or list "
                    f"with a field for each of {', '.join(self.feed_names)}"
                )
            if len(sample) != len(self._slots):
                raise AssertionError(
                    f"The number of fields in data ({len(sample)}) does not match "
                    f"len(feed_list) ({len(self._slots)}): item {position} of the batch"
                )
        fields = zip_strict(*samples) if samples else [()] * len(self._slots)
        return {slot.name: slot.batch(column) for slot, column in zip_strict(self._slots, fields)}

    def feed_parallel(
        self, iterable: Iterable[Iterable[Any]], num_places: int | None = None
    ) -> Iterator[Feed]:
        """Yields the tensors of several batches, one batch for each place.

        Args:
            iterable: the batches.
            num_places: the number of places. The default is the number of CUDA devices; for
                ``CPUPlace`` it is the environment variable ``CPU_NUM``, or without it the number of
                processors.

        Raises:
            ValueError: there are not as many batches as places, or no places.
            And, when the iterator comes to a batch, what ``feed`` raises for it.
        """
        batches = list(iterable)
        places = self._count_places(num_places)
        if len(batches) != places:
            raise ValueError(
                f"feed_parallel takes one mini-batch for each place: {len(batches)} mini-batches "
                f"were given for {places} places; the numbers must be the same"
            )
        return map(self.feed, batches)

    def decorate_reader(
        self,
        reader: PythonReader[Any],
        multi_devices: bool = False,
        num_places: int | None = None,
        drop_last: bool = True,
    ) -> PythonReader[Any]:
        """Returns a reader that turns the batches of a batch reader into tensors.

        An item is what ``feed`` returns, or with `multi_devices` a list of one such dict for each
        place.

        Args:
            reader: the batch reader.
            multi_devices: whether an item is for several places.
            num_places: as in ``feed_parallel``.
            drop_last: leave out the last batches if there are fewer of them than places.

        A pass raises what `reader` and ``feed`` raise. With `multi_devices` it raises ValueError if
        there is no place, or if batches are left over and `drop_last` is False.
        """
        if not multi_devices:

            def read() -> Iterator[Feed]:
                with opened(reader) as batches:
                    yield from map(self.feed, batches)

            return read

        def read_for_all() -> Iterator[list[Feed]]:
            places = self._count_places(num_places)
            with opened(reader) as batches:
                while group := list(itertools.islice(batches, places)):
                    if len(group) == places:
                        yield list(self.feed_parallel(group, places))
                    elif not drop_last:
                        raise ValueError(
                            f"{len(group)} mini-batches are left over for {places} places; "
                            "drop_last=True drops them"
                        )

        return read_for_all

    def _count_places(self, num_places: int | None) -> int:
        if num_places is None:
            on_cuda = isinstance(self.place, CUDAPlace)
            num_places = len(cuda_places()) if on_cuda else len(cpu_places())
            if num_places == 0:
                none = "there is no CUDA device to feed" if on_cuda else "CPU_NUM gives no places"
                raise ValueError(f"{none}; pass num_places")
        if num_places < 1:
            raise ValueError(f"num_places is {num_places}, it must be at least 1")
        return int(num_places)


def brief(value: object) -> str:
    """A value as error messages show it: its type, and its contents abbreviated."""
    return f"{type(value).__name__} {reprlib.repr(value)}"


def _variable(entry: Any, program: Program | None) -> Variable:
    if isinstance(entry, str):
        return (program or default_main_program()).global_block().var(entry)
    if not isinstance(entry, Variable):
        raise TypeError(f"Feed list should contain a list of variable, not {brief(entry)}")
    return entry


class _Slot:
    """Converts the fields of one variable."""

    def __init__(self, variable: Variable) -> None:
        if variable.shape is None or variable.dtype is None:
            raise ValueError(f"variable {variable.name} is no tensor: it has no shape or no dtype")
        self.name = variable.name
        self._shape = variable.shape
        self._lod_level = variable.lod_level
        if all(dim >= 0 for dim in self._shape):
            raise ValueError(
                f"Variable {self.name} must has a batch size dimension: none of its shape "
                f"{list(self._shape)} is -1"
            )
        if variable.dtype == VarType.BF16:
            raise ValueError(f"variable {self.name} cannot be fed: numpy has no bfloat16")
        self._dtype = np.dtype(dtype_name(variable.dtype))

    def batch(self, fields: Sequence[Any]) -> LoDTensor:
        """As ``tensor``, but errors name the item of the batch that is wrong."""
        try:
            return self.tensor(fields)
        except (ValueError, TypeError) as error:
            # The conversion of all fields at once does not say which one is wrong. So each field is
            # tried alone, and then with the first one, in case the fields only differ in shape.
            for alone in ([], list(fields[:1])) if self._shape[0] < 0 else ():
                for position, field in enumerate(fields):
                    try:
                        self.tensor([*alone, field])
                    except (ValueError, TypeError) as wrong:
                        text = f"item {position} of the batch: {wrong}"
                        raise type(error)(text) from wrong.__cause__
            raise

    def tensor(self, fields: Sequence[Any]) -> LoDTensor:
        """Joins the fields of a batch, one for each sample, in one tensor."""
        lengths = []
        for level in range(self._lod_level):
            lengths.append(self._lengths(fields))
            if level + 1 < self._lod_level:
                fields = list(itertools.chain.from_iterable(fields))
        rows = sum(lengths[-1]) if lengths else len(fields)
        try:
            values = self._joined(fields) if lengths else self._converted(fields)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"variable {self.name} takes {self._dtype}: {error}") from error
        tensor = LoDTensor.from_array(self._shaped(values, rows))
        tensor.set_recursive_sequence_lengths(lengths)
        return tensor

    def _lengths(self, sequences: Sequence[Any]) -> list[int]:
        try:
            return [len(sequence) for sequence in sequences]
        except TypeError:
            wrong = next(item for item in sequences if not hasattr(item, "__len__"))
            raise TypeError(
                f"variable {self.name} has lod_level {self._lod_level}, so a field must have that "
                f"many levels of nested sequences; {brief(wrong)} is no sequence"
            ) from None

    def _joined(self, sequences: Sequence[Any]) -> Array:
        arrays = [sequence for sequence in sequences if len(sequence) > 0]
        if arrays and all(isinstance(sequence, np.ndarray) for sequence in arrays):
            return self._converted(np.concatenate(arrays))
        return self._converted(list(itertools.chain.from_iterable(arrays)))

    def _converted(self, values: Sequence[Any] | Array) -> Array:
        if self._dtype.kind == "f":
            return np.asarray(values, self._dtype, order="C")
        given = numbers_of(values, self._dtype)
        if given.dtype.kind == "O" and self._dtype == np.uint64:
            return exactly(given, self._dtype)
        if given.dtype.kind not in "biuf":  # not numbers: numpy converts them or raises an error
            return np.asarray(values, self._dtype, order="C")
        return exactly(given, self._dtype)

    def _shaped(self, values: Array, rows: int) -> Array:
        """The values in the declared shape; if its first dim is -1, it becomes the row count."""
        shape = (rows, *self._shape[1:]) if self._shape[0] < 0 else self._shape
        if values.ndim == len(shape):
            if all(want in (-1, have) for want, have in zip_strict(shape, values.shape)):
                return values
            problem = "Shape not match"
        else:
            problem = "Reshape error"
            # If the first dim is fixed, a reshape could move values from one sample to another.
            if self._shape[0] < 0:
                with contextlib.suppress(ValueError):  # no such shape, or two dims are unknown
                    return values.reshape(shape)
        raise ValueError(
            f"{problem}. What is defined in data layer is {list(self._shape)}, but receive "
            f"{list(values.shape)} for the batch of variable {self.name}"
        )
