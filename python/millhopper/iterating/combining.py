# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that combine it with other readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millhopper.iterating.reader import Reader


class CombiningMethods:
    """What Reader can do with other readers. Each method returns a new reader.

    The new reader has chains of its own: where two of the readers stand on the same files, each of
    them reads these. Readers of chains that have the same name get another one (``files_2``).

    Source: Millhopper's own.
    """

    if TYPE_CHECKING:

        def _combine(
            self,
            operator: str,
            others: Sequence[Reader],
            name: str,
            names: list[str] | None,
            attributes: dict[str, object],
        ) -> Reader:
            """Reader has it."""

        def _same_names(self, others: Sequence[Reader]) -> list[str] | None:
            """Reader has it."""

        def _joined_names(self, others: Sequence[Reader]) -> list[str] | None:
            """Reader has it."""

    def chain(self, *others: Reader, name: str = "") -> Reader:
        """Yields all elements of this reader, then all of the next; all have the same slots.

        Args:
            others: the readers that follow.
            name: of the new reader.

        Raises:
            TypeError: one of them is no reader.
            ValueError: their slots have other names, or they were made with another ``seed``.
            Error: their slots differ.

        Source: itertools.chain; tf.data.Dataset.concatenate.
        """
        return self._combine("create_chain_reader", others, name, self._same_names(others), {})

    def zip(
        self,
        *others: Reader,
        check_alignment: bool = True,
        names: Iterable[str] | None = None,
        name: str = "",
    ) -> Reader:
        """Yields elements with the slots of all readers, side by side.

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
        joined = self._joined_names(others) if names is None else list(names)
        return self._combine(
            "create_zip_reader", others, name, joined, {"check_alignment": check_alignment}
        )

    def mix(
        self,
        *others: Reader,
        weights: Sequence[float] | None = None,
        when_exhausted: str = "stop",
        seed: int = 0,
        name: str = "",
    ) -> Reader:
        """Yields the elements of several readers by turns, by weight; all have the same slots.

        After any number of elements the part of each reader is within 1 of its weight's share. The
        order depends on the weights and the seeds alone. ::

            web.mix(books, code, weights=[7, 2, 1], when_exhausted="repeat")

        Weights that change between passes are a variable of a program:
        ``millhopper.layers.create_mix_reader``.

        Args:
            others: the readers that are mixed with this one.
            weights: of this reader and the others, in order; only their ratios matter. All are
                equal by default.
            when_exhausted: what happens when it is the turn of a reader that has ended. ``"stop"``:
                the pass ends; ``"continue"``: the others go on, and the pass ends with the last
                one; ``"repeat"``: the reader begins anew, in another order, and the pass ends when
                each has ended at least once.
            seed: decides between readers whose turn is equally due.
            name: of the new reader.

        Raises:
            TypeError: one of them is no reader.
            ValueError: their slots have other names, or they were made with another ``seed``.
            Error: there is not one weight for each reader, or their slots differ.

        Source: grain.MapDataset.mix, tf.data.Dataset.sample_from_datasets, which draw at random.
        """
        attributes: dict[str, object] = {"when_exhausted": when_exhausted, "seed": seed}
        if weights is not None:
            attributes["weights"] = [float(weight) for weight in weights]
        return self._combine(
            "create_mix_reader", others, name, self._same_names(others), attributes
        )
