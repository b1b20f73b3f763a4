# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths, laid end to end."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt


class Ragged:
    """A batch of sequences: their values end to end, and where each sequence begins and ends.

    Sequence ``i`` of the outermost level consists of the units ``offsets[0][i]`` up to
    ``offsets[0][i + 1]`` of the next level. The units of the last level are the rows of ``values``.
    This is the level-of-detail tensor of Paddle Fluid.

    Attributes:
        values: array [rows, ...] of all values.
        offsets: for each level, outermost first, an int64 array that begins with 0.

    Source: Millhopper's own; the offsets are those of PaddlePaddle's LoDTensor, 2017.
    """

    __slots__ = ("offsets", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, values: npt.NDArray[Any], offsets: tuple[npt.NDArray[np.int64], ...]
    ) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        """The number of sequences of the outermost level."""
        return len(self.offsets[0]) - 1

    def __getitem__(self, index: int | slice) -> Any:
        """Sequence ``index``, not copied: an array, or a Ragged if there are several levels.

        Of a slice, it is the list of them.

        Raises:
            IndexError: there is no such sequence.
            TypeError: ``index`` is neither an integer nor a slice.
        """
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number, count = operator.index(index), len(self)
        if not -count <= number < count:
            raise IndexError(f"sequence {number} of {count}")
        begin, end = self._outermost()[number % count :][:2].tolist()
        return self._cut(begin, end)

    def __iter__(self) -> Iterator[Any]:
        """All sequences of the outermost level, in order."""
        at = self._outermost().tolist()
        return (self._cut(begin, end) for begin, end in zip(at, at[1:]))

    def _cut(self, begin: int, end: int) -> Any:
        """The sequence of these units of the level below the outermost."""
        rest = []
        for level in self.offsets[1:]:
            cut = level[begin : end + 1]
            rest.append(cut - cut[0])
            begin, end = int(cut[0]), int(cut[-1])
        values = self.values[begin:end]
        return type(self)(values, tuple(rest)) if rest else values

    def __eq__(self, other: object) -> Any:
        """Of text, as bytes: whether each sequence is these bytes, an array of bools.

        Raises:
            TypeError: it is compared with a text, a number or an array, which no sequence equals.
        """
        if isinstance(other, bytes):
            return np.array([sequence == other for sequence in self.to_bytes()], np.bool_)
        if isinstance(other, (str, int, float, np.generic, np.ndarray)):
            hint = (
                "bytes are compared with b'...', and a field of str has texts"
                if isinstance(other, str)
                else "its values are an array, which can be, and so is each sequence in it"
            )
            raise TypeError(f"{self!r} cannot be compared with {other!r}; {hint}")
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        """The opposite of ``==``."""
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return equal
        return ~equal if isinstance(equal, np.ndarray) else not equal

    def lengths(self) -> Any:
        """How many units each sequence of the outermost level has: int64 [len(self)]."""
        at = self._outermost()
        return at[1:] - at[:-1]

    def _outermost(self) -> Any:
        """Where the sequences begin and end: an array, also if the caller has given a list."""
        level: Any = self.offsets[0]
        return np.asarray(level) if isinstance(level, (list, tuple)) else level

    def to_bytes(self) -> list[bytes]:
        """Each sequence as bytes, such as the lines of a text file.

        Raises:
            TypeError: the values are not uint8, or there are several levels.
        """
        values = np.asarray(self.values)
        if values.dtype != np.uint8 or len(self.offsets) != 1:
            each = len(self.offsets) > 1 and values.dtype == np.uint8
            raise TypeError(
                f"{self!r} is no text: that is uint8 with one level of offsets"
                + ("; a loop over it yields a Ragged for each list of texts" if each else "")
            )
        whole = values.tobytes()
        at = self.offsets[0].tolist()
        return [whole[begin:end] for begin, end in zip(at, at[1:])]

    def decode(self, encoding: str = "utf-8") -> str:
        """The only sequence as a text, such as the text of an element before it is in a batch.

        Raises:
            TypeError: the values are not uint8, or there are several levels.
            UnicodeDecodeError: the sequence is not in that encoding.
            ValueError: there is not exactly one sequence.
        """
        sequences = self.to_bytes()
        if len(sequences) != 1:
            raise ValueError(f"{self!r} is not one text; to_numpy() makes an array of all")
        return sequences[0].decode(encoding)

    def to_numpy(self, encoding: str | None = "utf-8") -> npt.NDArray[Any]:
        """The sequences as one array of texts (dtype ``U``), such as the lines of a text file.

        Args:
            encoding: of the bytes; None makes an array of bytes (dtype ``S``) instead.

        Raises:
            TypeError: the values are not uint8, or there are several levels.
            UnicodeDecodeError: a sequence is not in that encoding.
            ValueError: a sequence ends with a zero byte, which arrays of numpy cannot hold.
        """
        sequences = self.to_bytes()
        if any(sequence.endswith(b"\0") for sequence in sequences):
            raise ValueError(
                "a sequence ends with a zero byte, which numpy cuts off; use to_bytes()"
            )
        if encoding is None:
            return np.array(sequences, np.bytes_)
        return np.array([sequence.decode(encoding) for sequence in sequences], np.str_)

    def __getattr__(self, name: str) -> NoReturn:
        hint = ""
        if hasattr(str, name):
            hint = f"; decode() makes a text of it, which has {name}"
        elif name not in Ragged.__slots__ and hasattr(self.values, name):
            hint = f"; its values are an array, which has {name}, and so is each sequence in it"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        shape = list(self.values.shape)
        levels, name = len(self.offsets), type(self).__name__
        return f"<{name} of {len(self)}: {self.values.dtype} {shape}, {levels} level(s) of offsets>"


class Texts(Ragged, Sequence[Any]):
    """A batch of texts, such as a field ``"title str"`` has: a sequence of ``str``.

    Slots of lists (``"words str[-1]"``) are sequences of such. The bytes are not copied, and a text
    is made when it is asked for; ``values`` and ``offsets`` are the bytes, in UTF-8, and where each
    text begins, as a field of ``bytes`` has them. ``texts == "Rome"`` is an array of
    bools. ``numpy.asarray`` makes an array of objects, as pandas has them, and ``to_numpy`` one of
    dtype ``U``.

    Source: Millhopper's own.
    """

    __slots__ = ()

    def __getitem__(self, index: int | slice) -> Any:
        """Text ``index``, or the list of them; of a slice, a list of texts.

        Raises:
            IndexError: there is no such text.
            TypeError: ``index`` is neither an integer nor a slice.
            UnicodeDecodeError: it is no UTF-8, which files are checked to be, but not what
                operators write.
        """
        value = super().__getitem__(index)
        return _decoded(value.tobytes(), index) if isinstance(value, np.ndarray) else value

    def __iter__(self) -> Iterator[Any]:
        """All texts, or lists of them, in order."""
        return iter(self.tolist()) if len(self.offsets) == 1 else super().__iter__()

    def tolist(self) -> list[Any]:
        """The texts as a list of ``str``; of lists, as lists within it.

        Raises:
            UnicodeDecodeError: a text is no UTF-8.
        """
        if len(self.offsets) > 1:
            return [texts.tolist() for texts in self]
        whole, at = self.values.tobytes(), self.offsets[0].tolist()
        if whole.isascii():  # so that offsets of bytes are those of characters
            text = whole.decode()
            return [text[begin:end] for begin, end in zip(at, at[1:])]
        return [_decoded(text, i) for i, text in enumerate(self.to_bytes())]

    def __eq__(self, other: object) -> Any:
        """Whether each text is this one, or that of an array of numpy: an array of bools.

        With a ``Texts``, list or tuple: whether it has the same texts, one bool.

        Raises:
            TypeError: it is compared with a number, or lists of texts with a text.
        """
        if isinstance(other, np.ndarray):
            return np.asarray(self) == other
        if isinstance(other, str):
            if len(self.offsets) > 1:
                raise TypeError(
                    f"{self!r} has lists of texts, which are not {other!r}: "
                    f"{other!r} in texts[i] looks into one"
                )
            return np.array([text == other for text in self.tolist()], np.bool_)
        if isinstance(other, Texts):
            return self.tolist() == other.tolist()
        if isinstance(other, (list, tuple)):
            return self.tolist() == list(other)
        return super().__eq__(other)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """An array of ``str`` objects; of lists, of lists. It is a new one."""
        if copy is False:
            raise ValueError("an array of texts is a copy of them")
        array = np.empty(len(self), object)
        for i, text in enumerate(self.tolist()):
            array[i] = text
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        texts = [_shortened(text) for text in self[:_SHOWN_TEXTS]]
        more = [f"... {len(self) - len(texts)} more"] if len(self) > len(texts) else []
        return f"Texts([{', '.join(texts + more)}])"


_SHOWN_TEXTS = 6  # of a slot, in its repr
_SHOWN_LETTERS = 60  # of a text there


def _decoded(text: bytes, number: object) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        error.reason += f", in text {number}; to_bytes() gives the bytes as they are"
        raise


def _shortened(text: str | Texts) -> str:
    if isinstance(text, Texts):
        return repr(text).removeprefix("Texts(").removesuffix(")")
    return repr(text if len(text) <= _SHOWN_LETTERS else text[:_SHOWN_LETTERS] + "...")
