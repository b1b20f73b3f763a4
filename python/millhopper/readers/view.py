# SPDX-License-Identifier: Apache-2.0
"""A reader that yields its batches as arrays of another library, such as torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy.typing as npt

from millhopper.base.texts import checked_text
from millhopper.base.zipped import zip_strict
from millhopper.ragged import Ragged, Texts
from millhopper.readers.no_array import NoArray
from millhopper.readers.state_methods import StateInJson

if TYPE_CHECKING:
    from millhopper.readers.loop_methods import LoopMethods
    from millhopper.readers.slots import Batch

Array = TypeVar("Array")


class RaggedArrays(Ragged):
    """Sequences of different lengths: a ``Ragged`` whose arrays are those of another library.

    A loop over it yields the sequences, such as the boxes of each image, without a copy.

    Attributes:
        values: array [rows, ...] of all values, end to end.
        offsets: for each level, outermost first, an array that begins with 0.
    """

    __slots__ = ()

    values: Any
    offsets: tuple[Any, ...]

    def __init__(self, values: Any, offsets: tuple[Any, ...]) -> None:
        super().__init__(values, offsets)

    def to(self, *args: Any, **kwargs: Any) -> RaggedArrays:
        """The same on another device: calls ``to``, which tensors of torch have, of each array."""
        offsets = tuple(level.to(*args, **kwargs) for level in self.offsets)
        return RaggedArrays(self.values.to(*args, **kwargs), offsets)

    def pin_memory(self) -> RaggedArrays:
        """The same in pinned memory, as tensors of torch have it; torch's ``DataLoader`` asks."""
        offsets = tuple(level.pin_memory() for level in self.offsets)
        return RaggedArrays(self.values.pin_memory(), offsets)


# The methods that make views, which come last.
_MADE_BY = {"JaxReader": "jax", "TorchReader": "torch"}


class Passes(StateInJson, NoArray):
    """The passes of a reader, with batches in another form: a loop begins the reader's next pass.

    Attributes:
        reader: what the loops read.
    """

    reader: Any

    def __len__(self) -> int:
        """How many batches a pass has; see ``Reader.__len__``."""
        return len(self.reader)

    def __bool__(self) -> bool:
        return True

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0; see ``Reader.set_epoch``."""
        self.reader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the last loop stands; see ``Reader.state_dict``."""
        state: dict[str, Any] = self.reader.state_dict()
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next loop resumes from a state; see ``Reader.load_state_dict``."""
        self.reader.load_state_dict(state_dict)

    if not TYPE_CHECKING:  # checkers of types know the names that there are

        def __getattr__(self, name: str) -> Any:
            if inspect.getattr_static(type(self), name, None) is not None:
                return object.__getattribute__(self, name)  # raises what a property has raised
            hint = ""
            below = self
            while isinstance(below, Passes):
                below = vars(below).get("reader")
            method = None if name.startswith("_") else getattr(type(below), name, None)
            if "Self" in str(getattr(method, "__annotations__", {}).get("return")):
                made = _MADE_BY.get(type(self).__name__, "to_tuple")
                hint = f"; {name} comes before {made}: reader.{name}(...).{made}(...)"
            elif method is not None:
                hint = f"; what it is made of has it: reader.{name}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} of {self.reader!r}>"


class Tuples(Passes):
    """The passes of a reader, of which each batch is a tuple: what ``to_tuple`` returns."""

    def __init__(self, reader: Any, slots: tuple[str, ...]) -> None:
        """``reader`` yields dicts by slot name; without ``slots`` a tuple has all, in order."""
        for slot in slots:
            checked_text("to_tuple: a slot's name", slot)
        self.reader = reader
        self._slots = slots

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Begins the next pass. Raises what iterating over the reader raises.

        Raises:
            ValueError: at a batch: it has no slot of a name that ``to_tuple`` was given.
        """
        return map(self._of, iter(self.reader))

    def _text(self) -> str:
        return (
            "a Tuples is no array: a loop over it yields tuples of them; fit of Keras takes "
            'reader.keras("inputs", "targets"), with the names of slots'
        )

    def _of(self, batch: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            return tuple([batch[slot] for slot in self._slots or batch])
        except KeyError as error:
            name = error.args[0]
            known = f"there are {list(batch)}"
            raise ValueError(f"to_tuple: there is no slot {name!r}; {known}") from None


class View(Passes, Generic[Array]):
    """The passes of a reader, with batches as arrays of another library.

    A loop over the view begins the reader's next pass.

    Attributes:
        reader: the reader that the loops over this view read.
    """

    reader: LoopMethods

    def __init__(self, reader: LoopMethods) -> None:
        self.reader = reader

    def to_tuple(self, *slots: str) -> Tuples:
        """The same with a tuple for each batch, ``for image, label in ...``.

        See ``Reader.to_tuple``.
        """
        return Tuples(self, slots)

    def __iter__(self) -> Iterator[dict[str, Array | RaggedArrays | list[Any]]]:
        """Begins the next pass. Raises what iterating over the reader raises."""
        return self._converted(self.reader, iter(self.reader))

    def _converted(
        self, reader: LoopMethods, batches: Iterator[Batch]
    ) -> Iterator[dict[str, Array | RaggedArrays | list[Any]]]:
        """The batches of a loop over a reader, as arrays of the other library."""
        return map(_Conversion(reader, self._array), batches)

    def _array(self, array: npt.NDArray[Any], bfloat16: bool) -> Array:
        """Converts a numpy array. If ``bfloat16``, it is uint16 with the bits of bfloat16."""
        raise NotImplementedError


class _Conversion(Generic[Array]):
    """Converts the batches of one pass to arrays of the other library."""

    def __init__(
        self, reader: LoopMethods, convert: Callable[[npt.NDArray[Any], bool], Array]
    ) -> None:
        self._reader = reader
        self._convert = convert
        self._bfloat16: frozenset[str] | None = None  # bfloat16 slots, set at the first batch

    def __call__(self, batch: Batch) -> dict[str, Array | RaggedArrays | list[Any]]:
        if self._bfloat16 is None:
            dtypes = zip_strict(batch, self._reader.dtypes())
            self._bfloat16 = frozenset(name for name, dtype in dtypes if dtype == "bfloat16")
        convert = self._convert
        converted: dict[str, Array | RaggedArrays | list[Any]] = {}
        for name, value in batch.items():
            bfloat16 = name in self._bfloat16
            if type(value) is Texts:
                converted[name] = value.tolist()
            elif type(value) is Ragged:
                offsets = tuple(convert(level, False) for level in value.offsets)
                converted[name] = RaggedArrays(convert(value.values, bfloat16), offsets)
            else:
                converted[name] = convert(value, bfloat16)  # type: ignore[arg-type]
        return converted


def optional_module(name: str, wanted_by: str, install: str, otherwise: str = "") -> Any:
    """Imports an optional module, when a feature that needs it is used.

    Args:
        name: of the module.
        wanted_by: the feature.
        install: what pip calls its package.
        otherwise: what does without the module, if anything.

    Raises:
        ImportError: it is not installed (the message says what to install), or its import fails.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        text = f"{wanted_by} needs {name}, which is not installed here: pip install {install}"
        text += f"; {otherwise}" if otherwise else ""
        raise ModuleNotFoundError(text, name=name) from None
