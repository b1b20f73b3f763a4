# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that make one element of several, and several of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millhopper.base.floats import floats
from millhopper.base.zipped import zip_strict
from millhopper.readers.chain import Chain, Names
from millhopper.readers.other_names import other_keywords

if TYPE_CHECKING:
    from typing_extensions import Self

# Of tf.data and Grain.
_BATCH_KEYWORDS = {
    "drop_remainder": "drop_last=True leaves out a last batch that is not full",
    "num_parallel_calls": "millhopper.set_threads(n) says how many threads load",
}


class GatherMethods(Chain):
    """How Reader makes batches, rows and windows of elements. Each method returns a new reader."""

    @other_keywords(**_BATCH_KEYWORDS)
    def batch(
        self, batch_size: int, *, drop_last: bool = False, mode: str = "concat", name: str = ""
    ) -> Self:
        """Makes one element of ``batch_size`` elements.

        Args:
            batch_size: elements in a batch.
            drop_last: leave out a last batch that is not full.
            mode: ``"concat"`` lays elements end to end along their leading axis; ``"stack"`` stacks
                them along a new first axis.
            name: of the new reader.
        """
        return self.decorate(
            "create_batch_reader",
            name=name,
            batch_size=batch_size,
            discard_leftover=drop_last,
            mode=mode,
        )

    def unbatch(self, *, mode: str = "concat", name: str = "") -> Self:
        """Yields the instances of batches: rows, or sequences of ragged slots.

        Args:
            mode: ``"concat"``: an instance keeps the leading axis, whose length is 1 or that of the
                sequence; ``"stack"``: the leading axis, which ``batch(..., mode="stack")`` made, is
                removed.
            name: of the new reader.

        Raises:
            Error: at an element whose slots have different numbers of instances.
        """
        return self.decorate("create_unbatch_reader", name=name, mode=mode)

    @other_keywords(**_BATCH_KEYWORDS)
    def padded_batch(
        self,
        batch_size: int,
        *,
        pad_length: int = 0,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        lengths: bool = False,
        drop_last: bool = False,
        name: str = "",
    ) -> Self:
        """Makes batches in which sequences are padded: a ragged slot becomes [batch, length, ...].

        Args:
            batch_size: elements in a batch.
            pad_length: the length of the padded sequences; by default (0) that of the longest
                sequence of the batch.
            pad_multiple: without ``pad_length``, the length is rounded up to a multiple of this.
            pad_values: what follows shorter sequences: one number, or one for each ragged slot.
            lengths: add a slot int64 [batch, 1] with the lengths of the sequences for each slot
                that is padded, after all other slots; that of ``text`` is called ``text_length``.
            drop_last: leave out a last batch that is not full.
            name: of the new reader.

        Raises:
            Error: a slot has several levels of offsets; at a batch with a sequence that is longer
                than ``pad_length``.
            ValueError: ``lengths`` are wanted of slots that are not known yet.

        Source: tf.data.Dataset.padded_batch.
        """
        return self._decorate(
            "create_padded_batch_reader",
            name,
            {},
            {
                "batch_size": batch_size,
                "discard_leftover": drop_last,
                "pad_length": pad_length,
                "pad_multiple": pad_multiple,
                "pad_values": floats(pad_values),
                "lengths": lengths,
            },
            self._padded_names(lengths),
            self._functions,
        )

    def bucket(
        self,
        boundaries: Sequence[int],
        batch_sizes: int | Sequence[int],
        *,
        slot: int | str = 0,
        drop_last: bool = False,
        pad: bool = False,
        pad_length: int = 0,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        lengths: bool = False,
        name: str = "",
    ) -> Self:
        """Makes batches of elements of similar length, which need little padding.

        Args:
            boundaries: ascending lengths: bucket 0 is for those below the first, bucket ``i`` for
                those of at least ``boundaries[i - 1]`` and below ``boundaries[i]``.
            batch_sizes: elements in a batch: one number, or one for each bucket, of which there is
                one more than boundaries.
            slot: the slot whose length counts, by number or name.
            drop_last: leave out the batches that are not full at the end of a pass.
            pad: pad sequences as ``padded_batch`` does; otherwise they stay ``Ragged``.
            pad_length: as for ``padded_batch``.
            pad_multiple: as for ``padded_batch``.
            pad_values: as for ``padded_batch``.
            lengths: with ``pad``, as for ``padded_batch``.
            name: of the new reader.

        Raises:
            ValueError: ``lengths`` are wanted of slots that are not known yet.
            Error: boundaries do not ascend, or sizes do not fit them; at an element that holds
                several sequences.

        Source: tf.data.Dataset.bucket_by_sequence_length.
        """
        return self._decorate(
            "create_bucket_reader",
            name,
            {},
            {
                "boundaries": list(boundaries),
                "batch_sizes": [batch_sizes] if isinstance(batch_sizes, int) else list(batch_sizes),
                "slot": self._slot_number(slot),
                "discard_leftover": drop_last,
                "pad": pad,
                "pad_length": pad_length,
                "pad_multiple": pad_multiple,
                "pad_values": floats(pad_values),
                "lengths": lengths,
            },
            self._padded_names(pad and lengths),
            self._functions,
        )

    def token_batch(
        self,
        max_tokens: int,
        *,
        slot: int | str = 0,
        count: str = "sum",
        overlong: str = "error",
        drop_last: bool = False,
        pad: bool = False,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        lengths: bool = False,
        name: str = "",
    ) -> Self:
        """Makes batches of at most ``max_tokens`` tokens, of elements that follow one another.

        Args:
            max_tokens: tokens of a batch at most.
            slot: the slot whose steps are the tokens, by number or name.
            count: ``"sum"`` counts the steps of all elements, ``"padded"`` the number of elements
                times the length that the longest is padded to.
            overlong: an element of more tokens is an ``"error"``, or makes a batch alone
                (``"alone"``).
            drop_last: leave out the last batch of a pass.
            pad: pad sequences as ``padded_batch`` does; otherwise they stay ``Ragged``.
            pad_multiple: as for ``padded_batch``.
            pad_values: as for ``padded_batch``.
            lengths: with ``pad``, as for ``padded_batch``.
            name: of the new reader.

        Raises:
            ValueError: ``lengths`` are wanted of slots that are not known yet.
            Error: at an element that is too long, or that holds several sequences.
        """
        return self._decorate(
            "create_token_batch_reader",
            name,
            {},
            {
                "max_tokens": max_tokens,
                "slot": self._slot_number(slot),
                "count": count,
                "overlong": overlong,
                "discard_leftover": drop_last,
                "pad": pad,
                "pad_multiple": pad_multiple,
                "pad_values": floats(pad_values),
                "lengths": lengths,
            },
            self._padded_names(pad and lengths),
            self._functions,
        )

    def pack(
        self,
        length: int,
        *,
        method: str = "first_fit",
        bins: int = 64,
        overlong: str = "error",
        pad_values: float | Sequence[float] = 0,
        name: str = "",
    ) -> Self:
        """Packs documents, one an element, into rows of ``length`` tokens.

        Each slot becomes [1, length, ...]. Two slots follow, int32 [1, length], which are called
        ``document_ids`` and ``positions`` if the others have names: the number of the document in
        the row that a token is of, from 1 (0 is padding), and its position in the document, from 0.
        Two tokens may attend to each other if their ids are equal and not 0. A piece of a document
        that is split counts as a document. Documents without tokens are left out. ::

            reader.pack(2048).batch(8)  # tokens, document_ids and positions: [8, 2048]

        Args:
            length: tokens of a row.
            method: ``"first_fit"`` puts a document into the oldest open row that has room for it,
                ``"best_fit"`` into the one that it leaves the least room in;
                ``"concat_then_split"`` lays all documents end to end and cuts that into rows.
            bins: rows that are open at once. If a document fits into none of them, the fullest is
                yielded. More rows leave less padding, and hold more memory.
            overlong: a document that is longer than a row is an ``"error"``, or is cut off
                (``"truncate"``), or is cut into several (``"split"``).
            pad_values: what fills up rows: one number, or one for each slot.
            name: of the new reader.

        Raises:
            Error: at an element that is longer than a row, that has slots of different lengths, or
                that holds several sequences (a batch).
            ValueError: the names of the slots are not known yet, because ``map`` before it was not
                given ``slots``.

        Source: FirstFitPackIterDataset and ConcatThenSplitIterDataset of Grain, which do the same
        in Python; the fullest row is yielded here where Grain yields all.
        """
        if self._names_from is not None:
            raise ValueError(
                "pack adds slots, so it needs the names of the others: give them to map, for "
                'example map(..., slots={"tokens": ("int64", [-1], 1)}) for sequences of tokens'
            )
        names = None if self._names is None else [*self._names, "document_ids", "positions"]
        return self._decorate(
            "create_pack_reader",
            name,
            {},
            {
                "length": length,
                "method": method,
                "bins": bins,
                "overlong": overlong,
                "pad_values": floats(pad_values),
            },
            names,
            self._functions,
        )

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        drop_last: bool = False,
        name: str = "",
    ) -> Self:
        """Makes sliding windows, each ``size`` elements joined along their leading axis.

        Args:
            size: elements of a window.
            shift: elements from the first of a window to the first of the next; by default
                ``size``, so that windows do not overlap.
            stride: elements from one element of a window to its next.
            drop_last: leave out windows that the end of the pass cuts off.
            name: of the new reader.

        Source: tf.data.Dataset.window.
        """
        return self.decorate(
            "create_window_reader",
            name=name,
            size=size,
            shift=shift,
            stride=stride,
            discard_leftover=drop_last,
        )

    def _padded_names(self, lengths: bool) -> Names:
        """The names of the slots, and of those that hold the lengths of padded ones."""
        if not lengths or self._naming is None:
            return self._naming
        slots = [] if self._names is None else self.slots()
        if self._names is None or None in slots:
            raise ValueError(
                "lengths=True adds slots, so those that there are must be known: give slots where "
                "the reader is made, or to map"
            )
        levels = [slot[2] for slot in slots if slot is not None]
        padded = [name for name, of in zip_strict(self._names, levels) if of == 1]
        return [*self._names, *(f"{name}_length" for name in padded)]
