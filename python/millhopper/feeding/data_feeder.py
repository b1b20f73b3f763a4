# SPDX-License-Identifier: Apache-2.0
"""DataFeeder: batches of a reader in Python as the tensors that a program is fed with."""

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
from millhopper.feeding.feed_values import exactly
from millhopper.generators.python_reader import PythonReader, opened
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
    field is a number, a (nested) list or an array: for a variable without levels of detail one
    instance, in its shape or flat; otherwise ``lod_level`` nested sequences of instances. Values
    are converted to the variable's dtype; what an integer or bool dtype cannot hold is an error.
    Tensors are on the host for every place: the executor takes them from there.

    Source: PaddlePaddle's fluid.DataFeeder, 2018. It also let values in a wrong shape of the right
    rank pass, and cut off what does not fit; here these are ValueErrors.
    """

    def __init__(
        self, feed_list: Sequence[Variable | str], place: object, program: Program | None = None
    ) -> None:
        """A feeder of these variables.

        Args:
            feed_list: variables, or names of variables of ``program``. Their dtypes are bool,
                float16/32/64, int8/16/32/64 or uint8, and one dim, the batch's, is -1.
            place: ``CPUPlace()`` or ``CUDAPlace(i)``; its kind says what places ``feed_parallel``
                means when it is not told how many.
            program: by default ``default_main_program()``.

        Raises:
            TypeError: an entry is neither a variable nor a name.
            ValueError: the program has no variable of that name, or its shape has no dim -1, or its
                dtype is another one; or a variable is there twice.
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
            TypeError: a sample is no tuple or list, or a field is no sequence where its variable
                has a level of detail.
            AssertionError: a sample has more or fewer fields than there are variables.
            ValueError: values that cannot be converted, or have not the variable's shape; the text
                begins with the first such item of the batch.
        """
        samples = list(iterable)
        for position, sample in enumerate(samples):
            if not isinstance(sample, tuple | list):
                raise TypeError(
                    f"item {position} of the batch is {brief(sample)}; it must be a tuple or list "
                    f"with a field for each of {', '.join(self.feed_names)}"
                )
            if len(sample) != len(self._slots):
                raise AssertionError(
                    f"The number of fields in data ({len(sample)}) does not match "
                    f"len(feed_list) ({len(self._slots)}): item {position} of the batch"
                )
        fields = zip(*samples, strict=True) if samples else [()] * len(self._slots)
        return {
            slot.name: slot.batch(column) for slot, column in zip(self._slots, fields, strict=True)
        }

    def feed_parallel(
        self, iterable: Iterable[Iterable[Any]], num_places: int | None = None
    ) -> Iterator[Feed]:
        """Yields the tensors of several batches, one batch for each place.

        Args:
            iterable: the batches.
            num_places: how many places there are; by default the CUDA devices, or for ``CPUPlace``
                what the environment's ``CPU_NUM`` says, or the number of processors.

        Raises:
            ValueError: there are not as many batches as places, or no places.
            And, at its batch, what ``feed`` raises.
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
        """Returns a reader of the tensors of a batch reader's batches.

        Items: what ``feed`` returns, or with `multi_devices` lists of that, one for each place.

        Args:
            reader: the batch reader.
            multi_devices: whether an item is for several places.
            num_places: as in ``feed_parallel``.
            drop_last: leave out the batches at the end that are fewer than the places.

        Raises, in a pass, what `reader` and ``feed`` do, and ValueError where there is no place and
        for batches that are left over where `drop_last` is False.
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
                none = "there is no CUDA device to feed" if on_cuda else "CPU_NUM says no places"
                raise ValueError(f"{none}; num_places says how many")
        if num_places < 1:
            raise ValueError(f"num_places is {num_places}, it must be at least 1")
        return int(num_places)


def brief(value: object) -> str:
    """A value as error texts show it: its type, and not too much of it."""
    return f"{type(value).__name__} {reprlib.repr(value)}"


def _variable(entry: Any, program: Program | None) -> Variable:
    if isinstance(entry, str):
        return (program or default_main_program()).global_block().var(entry)
    if not isinstance(entry, Variable):
        raise TypeError(f"Feed list should contain a list of variable, not {brief(entry)}")
    return entry


class _Slot:
    """One variable that is fed."""

    def __init__(self, variable: Variable) -> None:
        if variable.shape is None or variable.dtype is None:
            raise ValueError(f"variable {variable.name} has no shape and dtype: it is no tensor")
        self.name = variable.name
        self._shape = variable.shape
        self._lod_level = variable.lod_level
        if all(dim >= 0 for dim in self._shape):
            raise ValueError(
                f"Variable {self.name} must has a batch size dimension: none of its shape "
                f"{list(self._shape)} is -1"
            )
        if variable.dtype == VarType.BF16:
            raise ValueError(f"variable {self.name}: no numpy array holds bfloat16 to feed it with")
        self._dtype = np.dtype(dtype_name(variable.dtype))

    def batch(self, fields: Sequence[Any]) -> LoDTensor:
        """As ``tensor``; its errors name the item of the batch."""
        try:
            return self.tensor(fields)
        except (ValueError, TypeError) as error:
            # All were converted at once, so each is tried alone; or with the first one, where they
            # do not fit each other.
            for alone in ([], list(fields[:1])) if self._shape[0] < 0 else ():
                for position, field in enumerate(fields):
                    try:
                        self.tensor([*alone, field])
                    except (ValueError, TypeError) as wrong:
                        text = f"item {position} of the batch: {wrong}"
                        raise type(error)(text) from wrong.__cause__
            raise

    def tensor(self, fields: Sequence[Any]) -> LoDTensor:
        """The fields of a batch, one a sample, as one tensor."""
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
                f"variable {self.name} has lod_level {self._lod_level}: a field must be as many "
                f"sequences nested, {brief(wrong)} is none"
            ) from None

    def _joined(self, sequences: Sequence[Any]) -> Array:
        arrays = [sequence for sequence in sequences if len(sequence) > 0]
        if arrays and all(isinstance(sequence, np.ndarray) for sequence in arrays):
            return self._converted(np.concatenate(arrays))
        return self._converted(list(itertools.chain.from_iterable(arrays)))

    def _converted(self, values: Sequence[Any] | Array) -> Array:
        if self._dtype.kind == "f":
            return np.asarray(values, self._dtype, order="C")
        given = np.asarray(values, order="C")
        if given.dtype.kind not in "biuf":  # no numbers; numpy says what they are not
            return np.asarray(values, self._dtype, order="C")
        return exactly(given, self._dtype)

    def _shaped(self, values: Array, rows: int) -> Array:
        """The values in the declared shape. A first dim of -1 stands for the number of rows."""
        shape = (rows, *self._shape[1:]) if self._shape[0] < 0 else self._shape
        if values.ndim == len(shape):
            if all(want in (-1, have) for want, have in zip(shape, values.shape, strict=True)):
                return values
            problem = "Shape not match"
        else:
            problem = "Reshape error"
            # Behind a first dim that is fixed, values would go from one sample to another.
            if self._shape[0] < 0:
                with contextlib.suppress(ValueError):  # also where more than one dim is unknown
                    return values.reshape(shape)
        raise ValueError(
            f"{problem}. What is defined in data layer is {list(self._shape)}, but receive "
            f"{list(values.shape)} for the batch of variable {self.name}"
        )
