# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that do more than append the operator that they are named after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millhopper.base.ranks import shard_problem
from millhopper.errors import Error
from millhopper.ragged import Ragged, Texts
from millhopper.readers.operator_readers import OperatorReaders
from millhopper.readers.other_names import other_keywords

if TYPE_CHECKING:
    from typing_extensions import Self

# Elements in a batch that is counted.
_COUNTED_AT_ONCE = 1024
_MOST_WEIGHT = 65536  # of an element, as create_resample_reader has it


class DecorateMethods(OperatorReaders):
    """``repeat``, ``shard``, ``split``, ``resample`` and ``balance``, which return new readers."""

    def repeat(self, count: int | None = None, *, name: str = "") -> Self:
        """``multi_pass`` by the name that other libraries give it.

        Source: tf.data.Dataset.repeat.

        Raises:
            TypeError: ``count`` is not given: there are no endless readers of files.
        """
        if count is None:
            raise TypeError(
                "repeat needs a count; without an end there is a loop around the loop, because each"
                " loop over a reader is its next pass"
            )
        return self.multi_pass(count, name=name)

    @other_keywords(
        random_state="seed=... divides otherwise",
        shuffle="a hash divides, whatever the order",
        stratify="a hash of each record divides, so each part has about its share of each class",
        test_size="split([0.9, 0.1]) has a share for each part",
        train_size="split([0.9, 0.1]) has a share for each part",
    )
    def split(
        self,
        shares: Sequence[float] | float,
        *more: float,
        seed: int = 0,
        key: int | str | None = None,
        name: str = "",
    ) -> list[Self]:
        """Divides the elements into parts that have none in common, such as those for validation.

        A hash tells for each element which part it is in, so that it stays there in all passes,
        whatever the order, threads, lanes, processes and resumes. Each part is a reader with a
        chain of its own, which reads the files and leaves out what is of other parts before it is
        decoded. ::

            train, val = reader.split([0.9, 0.1])
            train = train.shuffle(10000).batch(64)

        By default the hash is of the record: the name of its file, with as many folders as tell it
        from other files of the chain, and its place there, or the name of an image of a folder or
        list alone. So a file that is added moves no record, unless its name is another one's, and
        a folder that is moved moves none. Of arrays and other sources without files it is that of
        the record's number; what ``from_iterable`` reads needs a ``key``, because it may have
        another order in each pass. What is made of one record (``unbatch``) is in one part.

        Args:
            shares: of each part; their sum is 1. A part has about its share of the elements.
            more: shares that are given one by one: ``split(0.9, 0.1)``.
            seed: another one divides otherwise. The seed of the chain has no effect.
            key: a slot, whose bytes are hashed in place of the record, so that elements with the
                same value, such as those of one user, are in one part. Elements of all parts are
                loaded for that.
            name: of the new readers.

        Raises:
            TypeError: ``shares`` is not a list of numbers.
            ValueError: it is empty.
            Error: there is no such slot; at the first read: the sum of the shares is not 1, or
                elements consist of several records, as batches do.

        Source: torch.utils.data.random_split; train_test_split of Hugging Face's datasets; the
            hash by a key is that of tensorflow_transform's and BigQuery's FARM_FINGERPRINT splits.
        """
        if isinstance(shares, (int, float)) and more:
            shares = [shares, *more]
        elif isinstance(shares, (int, float, str)) or more:
            raise TypeError(f"shares is {shares!r}; it must be a list of one for each part")
        given = [float(share) for share in shares]
        if not given:
            raise ValueError("shares is empty; it must be a list of one for each part")
        attributes = {"shares": given, "seed": seed}
        if key is not None:
            attributes["key"] = self._slot_number(key)
        return [
            self.decorate("create_split_reader", name=name, part=part, **attributes)
            for part in range(len(given))
        ]

    def shard(
        self,
        num_shards: int | None = None,
        index: int | None = None,
        *,
        by: str = "record",
        even: str = "none",
        name: str = "",
    ) -> Self:
        """Yields one of ``num_shards`` parts.

        In every pass the parts are disjoint and together contain all elements, if the readers below
        are the same in all processes, with the same seeds.

        Processes that train together must make the same number of steps, or they wait for each
        other for ever: ``.shard(n, i, even="pad").batch(64)`` yields as many batches, of the same
        sizes, in each of them. Put ``batch`` after ``shard``, as here. Before it, whole
        batches are dealt: each process gets as many, but one may get the short last one.
        Decorators that leave elements out or make others of them, such as ``filter``, ``pack``
        and ``bucket``, belong before ``shard``.

        Args:
            num_shards: the number of parts. If neither it nor ``index`` is given, it is that of the
                processes, as torchrun (``WORLD_SIZE``), Slurm, Open MPI or JAX say it in the
                environment.
            index: which part, from 0; without both the rank of this process, as they say it.
            by: ``"record"``: the part is elements ``index``, ``index + num_shards`` ...; the sizes
                of the parts differ by one at most, and every part reads all files. ``"chunk"``:
                chunk ``c`` of file ``f`` belongs to part ``(f + c) % num_shards``, and a part reads
                only its own chunks. This works for recordio, idx and fixed files, directly on
                ``open_files``.
            even: what becomes of the last ``num_shards`` elements of a pass that ends within them.
                ``"none"``: the first parts get one element more than the others. ``"pad"``: every
                part gets one, for which the pass continues with its own first elements: of
                ``total`` elements, part ``index`` gets number ``(k * num_shards + index) % total``
                in round ``k``, as with torch's ``DistributedSampler``. ``"drop"``: no part gets
                one. The number of elements need not be known beforehand. Not for chunks. Of a
                reader with lanes it is each lane that gets one more or not, for one part, too, so
                that each batch of all parts together is the same for any number of them; the files,
                or indexes of them, must tell how many records they have.
            name: of the new reader.

        Raises:
            Error: ``num_shards`` or ``index`` is out of range, or one of both is missing; ``even``
                or ``by`` is none of these, or chunks are to be even; at the first read: the reader
                below cannot share its chunks, or neither an argument nor the environment says
                which part.

        Source: Millhopper's own; ``even`` is ``drop_last`` of torch's DistributedSampler.
        """
        reader = self.decorate(
            "create_shard_reader",
            name=name,
            num_shards=num_shards,
            index=0 if index is None and num_shards is not None else index,
            by=by,
            even=even,
        )
        if problem := shard_problem(num_shards, index):
            raise Error(f"shard: {problem}")
        return reader

    def resample(
        self,
        weights: Mapping[Any, float] | int | str,
        *,
        key: int | str | None = None,
        others: float | None = None,
        seed: int = 0,
        name: str = "",
    ) -> Self:
        """Yields each element as often as its weight says, in each pass.

        Weight 0 leaves an element out, 2 yields it twice, one after the other, 0.1 every tenth of
        its class, 2.5 twice and three times by turns. So each class has its number of elements
        times its weight, within one, whatever threads do; with lanes, within one in each. Where in
        its turns a class begins is drawn for each pass, so that passes leave out others. What is
        yielded again is another element to random methods above it. Put ``shuffle`` above it. ::

            reader.resample({0: 0.1, 1: 1, 2: 2.5}, key="label").shuffle(10_000).batch(64)
            reader.resample("weight")  # a slot of each element's own weight

        Args:
            weights: a dict from a class to its weight, up to 65536; a class is an integer, a bool
                or a text. Or a slot that holds the weight, by name or number: one float or integer
                an element.
            key: the slot that holds the class: one integer or bool, or one text, an element.
            others: the weight of all other classes; by default these are an error.
            seed: draws where turns begin.
            name: of the new reader.

        Raises:
            TypeError: ``weights`` is a dict without ``key``, or a class is none of these.
            ValueError: no slot has such a name.
            Error: a weight is out of range; at a read: an element has no weight, or no class.

        Source: torch's WeightedRandomSampler, which draws with replacement;
            tf.data.Dataset.rejection_resample.
        """
        if not isinstance(weights, Mapping):
            if key is not None or others is not None:
                raise TypeError(
                    f"weights is {weights!r}, a slot of weights, which needs no key and no others"
                )
            slot = self._slot_number(weights)
            return self.decorate("create_resample_reader", name=name, slot=slot, seed=seed)
        if key is None:
            raise TypeError("weights of classes need key, the slot that holds the class")
        if not weights:
            raise ValueError("weights is {}; it has the weight of one class at least")
        return self.decorate(
            "create_resample_reader",
            name=name,
            slot=self._slot_number(key),
            classes=[_class_text(value) for value in weights],
            weights=[float(weight) for weight in weights.values()],
            others=others,
            seed=seed,
        )

    def balance(
        self,
        key: int | str,
        *,
        counts: Mapping[Any, int] | None = None,
        seed: int = 0,
        name: str = "",
    ) -> Self:
        """Yields equally many elements of each class in each pass, by ``resample``.

        A pass has about as many elements as before: those of frequent classes are thinned out, of
        other ones in each pass, and those of rare classes come several times. ::

            train.balance("label").shuffle(10_000).batch(64)

        Args:
            key: the slot that holds the class: one integer or bool, or one text, an element.
            counts: how many elements each class has. By default the reader is read once, now, to
                count them.
            seed: draws which elements come more often than others.
            name: of the new reader.

        Raises:
            TypeError: a class is none of these.
            ValueError: there is no element, or a class has none, or no slot has such a name.
            Error: what reading throws.

        Source: Millhopper's own.
        """
        found = self._count(key) if counts is None else dict(counts)
        if not found or min(found.values()) < 1:
            raise ValueError(f"counts is {found}; it must be at least one element for each class")
        mean = sum(found.values()) / len(found)
        rarest = min(found, key=found.__getitem__)
        if mean / found[rarest] > _MOST_WEIGHT:
            raise ValueError(
                f"class {rarest!r} has {found[rarest]} of {sum(found.values())} elements, each of "
                f"which would come more than {_MOST_WEIGHT} times; resample takes other weights"
            )
        weights = {value: mean / count for value, count in found.items()}
        return self.resample(weights, key=key, seed=seed, name=name)

    def _count(self, key: int | str) -> Counter[Any]:
        """How many elements have each value of a slot."""
        slot = self._slot_names()[self._slot_number(key)]
        found: Counter[Any] = Counter()
        batches: Any = self.batch(_COUNTED_AT_ONCE)
        for batch in batches:
            values = batch[slot]
            if isinstance(values, Texts):
                found.update(values)
            elif isinstance(values, Ragged):
                found.update(np.asarray(value).tobytes() for value in values)
            else:
                found.update(np.ravel(values).tolist())
        return found


def _class_text(value: object) -> str:
    """How a program writes a class."""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is no class; a class is an integer, a bool or a text")
