# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths, laid end to end."""

from __future__ import annotations

from collections.abc import Iterator
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

    def __init__(
        self, values: npt.NDArray[Any], offsets: tuple[npt.NDArray[np.int64], ...]
    ) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        """The number of sequences of the outermost level."""
        return len(self.offsets[0]) - 1

    def __getitem__(self, index: int) -> npt.NDArray[Any] | Ragged:
        """Sequence ``index``, not copied: an array, or a Ragged if there are several levels.

        Raises:
            IndexError: there is no such sequence.
        """
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"sequence {index} of {count}")
        begin, end = (int(at) for at in self.offsets[0][index % count :][:2])
        rest = []
        for level in self.offsets[1:]:
            cut = level[begin : end + 1]
            rest.append(cut - cut[0])
            begin, end = int(cut[0]), int(cut[-1])
        values = self.values[begin:end]
        return Ragged(values, tuple(rest)) if rest else values

    def __iter__(self) -> Iterator[npt.NDArray[Any] | Ragged]:
        """All sequences of the outermost level, in order."""
        return (self[i] for i in range(len(self)))

    def lengths(self) -> npt.NDArray[np.int64]:
        """How many units each sequence of the outermost level has: int64 [len(self)]."""
        return np.diff(self.offsets[0])

    def to_bytes(self) -> list[bytes]:
        """Each sequence as bytes, such as the lines of a text file.

        Raises:
            TypeError: the values are not uint8, or there are several levels.
        """
        if self.values.dtype != np.uint8 or len(self.offsets) != 1:
            each = len(self.offsets) > 1 and self.values.dtype == np.uint8
            raise TypeError(
                f"{self!r} is no text: that is uint8 with one level of offsets"
                + ("; a loop over it yields a Ragged for each list of texts" if each else "")
            )
        whole = self.values.tobytes()
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
        elif hasattr(np.ndarray, name):
            hint = f"; its values are an array, which has {name}, and so is each sequence in it"
        raise AttributeError(f"'Ragged' object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        shape = list(self.values.shape)
        levels = len(self.offsets)
        return f"<Ragged of {len(self)}: {self.values.dtype} {shape}, {levels} level(s) of offsets>"
