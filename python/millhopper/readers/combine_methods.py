# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that combine it with other readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from millhopper.programs.program import Program
from millhopper.readers.chain import AnyReader, Chain
from millhopper.readers.other_names import other_keywords

if TYPE_CHECKING:
    from typing_extensions import Self


class CombineMethods(Chain):
    """What Reader can do with other readers. Each method returns a new reader.

    The new reader has its own chains: where two of the readers stand on the same files, each of
    them reads these. Readers of chains that have the same name get another one (``files_2``). If
    the names of slots are those that a function of ``map`` returns, files are opened to learn them.

    Readers whose sources have one name draw equal numbers for records of one number: images and
    their masks that are cropped at random and then joined by ``zip`` fit each other. Sources that
    ``mix`` or ``concat`` joins get another ``name`` each where they are opened, so that they draw
    others.

    Source: Millhopper's own.
    """

    def concat(self, *others: Self, name: str = "") -> Self:
        """Yields all elements of this reader, then all of the next; all have the same slots.

        Only an axis may be of any size in one of them, as after ``map``, and of a known one in
        others. Readers that do not fit are an error before anything is yielded.

        Args:
            others: the readers that follow.
            name: of the new reader.

        Raises:
            TypeError: one of them is no reader.
            ValueError: their slots have other names, or they were made with another ``seed``.
            Error: their slots differ.

        Source: tf.data.Dataset.concatenate; pandas.concat.
        """
        readers = _readers(self, others)
        return _combined("create_concat_reader", readers, _same_names(readers), {}, name)

    def chain(self, *others: Self, name: str = "") -> Self:
        """``concat`` by its older name: draws and positions are those of chains made with it.

        Args and errors are those of ``concat``.

        Source: itertools.chain.
        """
        readers = _readers(self, others)
        return _combined("create_chain_reader", readers, _same_names(readers), {}, name)

    def zip(
        self,
        *others: Self,
        check_alignment: bool = True,
        names: Iterable[str] | None = None,
        name: str = "",
    ) -> Self:
        """Yields elements with the slots of all readers, side by side.

        Readers with equally many lanes are joined lane by lane, so they must have been dealt alike:
        ``a.zip(b).lanes(16)`` deals what was joined.

        Args:
            others: the readers whose slots follow.
            check_alignment: it is an error if the readers end after different numbers of elements;
                otherwise a pass ends with the reader that ends first.
            names: names of all slots; by default those that the readers have.
            name: of the new reader.

        Raises:
            TypeError: one of them is no reader.
            ValueError: two slots have one name, or a reader was made with another ``seed``.
            Error: at the end of the shortest reader, if another one has more elements.

        Source: paddle.reader.compose, which has ``check_alignment``, too.
        """
        readers = _readers(self, others)
        joined = _joined_names(readers) if names is None else list(names)
        attributes = {"check_alignment": check_alignment}
        return _combined("create_zip_reader", readers, joined, attributes, name)

    @other_keywords(
        probabilities="weights=[...] are the shares",
        stopping_strategy='when_exhausted="stop", "continue" or "repeat" says what follows an end',
    )
    def mix(
        self,
        *others: Self,
        weights: Sequence[float] | Mapping[int, Sequence[float]] | None = None,
        when_exhausted: str = "stop",
        by: str | int = "records",
        seed: int = 0,
        name: str = "",
    ) -> Self:
        """Yields the elements of several readers by turns, by weight; all have the same slots.

        After any number of elements the part of each reader is within 1 of its weight's share. The
        order depends on the weights and the seeds alone. ::

            web.mix(books, code, weights=[7, 2, 1], when_exhausted="repeat")

        Weights that change within a pass are a dict of the elements from which on they hold,
        counted over all lanes and processes::

            easy.mix(hard, weights={0: [9, 1], 100_000: [1, 1], 200_000: [1, 9]})

        Steps that a loop has not come to may be others when it resumes: up to where its state was
        saved they must be the same.

        Weights that a loop changes while it reads are a variable of a program:
        ``millhopper.layers.create_mix_reader`` with ``weights_tensor``, which is read at each pass,
        or, with ``weights_read="element"``, before each element.

        Shares hold in each process, too: where ``shard`` or ``DataLoader`` divides the elements by
        record, each process has turns of its own, which keep its part of each reader within 2 of
        the share over any stretch. So the order depends on how many they are. Readers with equally
        many lanes are mixed lane by lane, each by turns of its own, unless they are repeated. Of a
        mix of mixes this holds for the outer one: mix all readers at once, by the products of the
        weights.

        Args:
            others: the readers that are mixed with this one.
            weights: of this reader and the others, in order; only their ratios matter. All are
                equal by default. Or a dict of such lists, of which one is for element 0.
            when_exhausted: what happens when it is the turn of a reader that has ended. ``"stop"``:
                the pass ends; ``"continue"``: the others go on, and the pass ends with the last
                one; ``"repeat"``: the reader begins anew, in another order, and the pass ends when
                each has ended at least once.
            by: what weights are shares of: ``"records"``, which are elements; ``"bytes"``, those of
                their values in memory; or a slot, by name or number, whose lengths along the
                leading axis count, such as ``"tokens"``. By bytes or a slot the next element is of
                the reader whose share so far is farthest below its weight's; elements are loaded
                for that, ahead of the loop.
            seed: decides between readers whose turn is equally due.
            name: of the new reader.

        Raises:
            TypeError: one of them is no reader.
            ValueError: their slots have other names, none of them is that of ``by``, or they were
                made with another ``seed``.
            Error: there is not one weight for each reader, no weights are for element 0, or their
                slots differ.

        Source: grain.MapDataset.mix, tf.data.Dataset.sample_from_datasets, which draw at random.
        """
        readers = _readers(self, others)
        attributes: dict[str, object] = {"when_exhausted": when_exhausted, "seed": seed}
        if isinstance(weights, Mapping):
            steps = sorted(weights)
            attributes["steps"] = steps
            attributes["weights"] = [float(weight) for step in steps for weight in weights[step]]
        elif weights is not None:
            attributes["weights"] = [float(weight) for weight in weights]
        if by == "bytes":
            attributes["by"] = by
        elif by != "records":
            attributes.update(by="slot", slot=self._slot_number(by))
        return _combined("create_mix_reader", readers, _same_names(readers), attributes, name)


def _readers(first: AnyReader, others: Iterable[AnyReader]) -> list[AnyReader]:
    """Raises:
    TypeError: one of them is no Reader.
    """
    readers = [first, *others]
    for reader in readers:
        if isinstance(reader, CombineMethods):
            continue
        is_list = isinstance(reader, (list, tuple))
        hint = "; each reader is one argument, without a list" if is_list else ""
        raise TypeError(f"{reader!r} is no Reader{hint}")
    return readers


def _combined(
    operator: str,
    readers: list[AnyReader],
    names: list[str] | None,
    attributes: Mapping[str, object],
    name: str,
) -> AnyReader:
    """The reader that an operator creates on top of copies of the readers' chains."""
    first = readers[0]
    short = operator.removeprefix("create_").removesuffix("_reader")
    program = Program.of_core(first._program)
    variables = [first._variable]
    undecided = set(first._lanes.undecided)
    for reader in readers[1:]:
        if reader._seed != first._seed:
            raise ValueError(
                f"{short}: the readers have seeds {first._seed} and {reader._seed}; a chain has"
                " one, so give the same seed where they are made"
            )
        theirs = Program.of_core(reader._program)
        called = program.append_program(theirs)
        variables.append(called[reader._variable])
        undecided.update(called[source] for source in reader._lanes.undecided)
    return first._created(
        program.binary_core_program(first._name),
        {"UnderlyingReaders": variables},
        operator,
        name or f"{first._variable}.{short}",
        None,
        attributes,
        names,
        [held for reader in readers for held in reader._functions],
        frozenset(undecided),
    )


def _names_of(reader: Chain) -> list[str] | None:
    """What its slots are called; None if neither it says so nor a function of map."""
    return reader._names if reader._names_from is None else reader._slot_names()


def _same_names(readers: Sequence[Chain]) -> list[str] | None:
    """What the slots of readers that have the same slots are called."""
    known = [names for names in map(_names_of, readers) if names is not None]
    for names in known[1:]:
        if names != known[0]:
            raise ValueError(
                f"the readers call their slots {known[0]} and {names}; names=[...] or a dict of "
                "fields, where they are made, gives them the same names"
            )
    return known[0] if known else None


def _joined_names(readers: Sequence[Chain]) -> list[str] | None:
    """What the slots of the readers are called, side by side."""
    if not any(map(_names_of, readers)):
        return None
    joined = [name for reader in readers for name in reader._slot_names()]
    if len(set(joined)) < len(joined):
        raise ValueError(f"two slots have one name: {joined}; zip(names=[...]) gives others")
    return joined
