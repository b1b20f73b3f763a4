# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that draw which other methods are applied to an element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from millhopper.base.texts import checked_text
from millhopper.errors import Error
from millhopper.programs.program import Program
from millhopper.readers.operator_methods import OperatorMethods
from millhopper.readers.steps import Choice, Step, blocks_of, default_name, taken_names

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias

# A function of a reader that returns it with more steps.
Steps: TypeAlias = "Callable[[Any], OperatorMethods]"

_MOST_IN_ORDER = 4  # of which there are 24 orders, each of which is a block of the program
_MOST_BLOCKS = 1000  # of all orders, with what the functions choose


class ChoiceMethods(OperatorMethods):
    """What Reader can do by chance, for each element anew.

    The methods take functions that add steps to a reader, each of which ``apply`` or a method of
    images makes::

        reader.random_apply(lambda r: r.color_jitter(0.4, 0.4, 0.4, 0.1), p=0.8)
        reader.random_choice([lambda r: r.random_rotation(30), lambda r: r.gaussian_blur(3)])

    Random numbers are as those of other methods: of the reader's seed, their own ``seed``, their
    ``name``, the pass and the record.
    """

    def random_apply(
        self, steps: Steps, p: float = 0.5, *, seed: int | None = None, name: str = ""
    ) -> Self:
        """Applies steps with probability p, and else none of them.

        Args:
            steps: a function of a reader that returns it with more steps.
            p: the probability, from 0 to 1.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Raises:
            TypeError: ``steps`` is no function.
            Error: it does something else than to add steps, or p is no probability.

        Source: torchvision's RandomApply; operators uniform_random and conditional_block.
        """
        return self._choice("random_apply", [steps], [p], seed, name)

    def random_choice(
        self,
        steps: Sequence[Steps],
        p: Sequence[float] | None = None,
        *,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Applies the steps of one function, which is drawn.

        Args:
            steps: functions of a reader that return it with more steps.
            p: how likely each is; their sum counts as 1. All are equally likely by default.
            seed: as for ``random_apply``.
            name: as for ``random_apply``.

        Raises:
            TypeError: one of ``steps`` is no function.
            Error: as for ``random_apply``, or there are not as many probabilities.

        Source: torchvision's RandomChoice.
        """
        if callable(steps) or not isinstance(steps, Sequence):
            raise TypeError(f"random_choice: steps is {steps!r}; it is a list of functions")
        weights = [1.0] * len(steps) if p is None else [float(weight) for weight in p]
        if len(weights) != len(steps) or not steps:
            raise Error(
                f"{self._name}: random_choice: {len(weights)} probabilities for {len(steps)} steps"
            )
        if not all(weight >= 0 for weight in weights) or not 0 < sum(weights) < math.inf:
            raise Error(f"{self._name}: random_choice: p is {weights}; each is at least 0")
        shares = [weight / sum(weights) for weight in weights]
        return self._choice("random_choice", steps, shares, seed, name)

    def random_order(
        self, steps: Sequence[Steps], *, seed: int | None = None, name: str = ""
    ) -> Self:
        """Applies the steps of all functions, of which there are at most 4, in an order drawn.

        Args:
            steps: as for ``random_choice``.
            seed: as for ``random_apply``.
            name: as for ``random_apply``.

        Raises:
            TypeError: one of ``steps`` is no function.
            Error: as for ``random_apply``, or there are more than 4 functions, or the choices that
                they add make more than 1000 blocks of the program.

        Source: torchvision's RandomOrder.
        """
        if callable(steps) or not isinstance(steps, Sequence):
            raise TypeError(f"random_order: steps is {steps!r}; it is a list of functions")
        if not 0 < len(steps) <= _MOST_IN_ORDER:
            raise Error(
                f"{self._name}: random_order: {len(steps)} functions; it takes 1 to "
                f"{_MOST_IN_ORDER}, each of which may add several steps"
            )
        reader = self._noting()  # for functions are called in each order
        orders = math.factorial(len(steps))
        blocks = orders * (1 + sum(blocks_of(reader._added("random_order", one)) for one in steps))
        if blocks > _MOST_BLOCKS:
            raise Error(
                f"{self._name}: random_order: {blocks} blocks of the program, and at most "
                f"{_MOST_BLOCKS} are possible: each of {orders} orders has those of all choices "
                "and orders that the functions add"
            )
        turns = [_in_turn(order) for order in itertools.permutations(steps)]
        made = reader._choice("random_order", turns, [1 / orders] * orders, seed, name)
        return made if self._notes else made._settled()

    def _choice(
        self,
        method: str,
        functions: Sequence[Steps],
        shares: Sequence[float],
        seed: int | None,
        name: str,
    ) -> Self:
        variable = checked_text("name", name) or f"{self._variable}.{method}"
        added = [self._added(method, function) for function in functions]
        below, steps = self._applied or (self, ())
        program = Program.of_core(below._program)
        taken = taken_names(program, itertools.chain(steps, *added))  # also of choices within
        own = name
        if not own:
            first = default_name(program, below._variable, variable, "uniform_random", taken)
            own = first.replace("uniform_random", method)
            numbered = (f"{own}_{i}" for i in itertools.count(2))
            own = own if own not in taken else next(new for new in numbered if new not in taken)
        if own in taken:
            raise Error(
                f"{self._name}: {method}: another step or reader has the name {own!r}; give another"
            )
        if not all(0 <= share <= 1 for share in shares):
            raise Error(f"{self._name}: {method}: p is {shares[0]}; it is from 0 to 1")
        limits = list(itertools.accumulate(shares))
        if len(limits) > 1:  # one of them is chosen, and none of share 0
            last = max(i for i, share in enumerate(shares) if share > 0)
            limits[last:] = [1.0] * (len(limits) - last)
        choice = Choice(own, tuple(zip(limits, added)), seed or 0)
        return self._with_step(choice, variable)

    def _added(self, method: str, function: Steps) -> tuple[Step | Choice, ...]:
        """The steps that a function adds to this reader."""
        if not callable(function):
            raise TypeError(
                f"{method}: {function!r} is no function of a reader, such as lambda reader: "
                "reader.gaussian_blur(3)"
            )
        made = function(self)
        if made is self:
            return ()  # nothing is done, which may be chosen, too
        below, before = self._applied or (self, ())
        applied = getattr(made, "_applied", None)
        if applied is None or applied[0] is not below or applied[1][: len(before)] != before:
            raise Error(
                f"{self._name}: {method}: a function returns {type(made).__name__} that is not its "
                "reader with more steps of apply or of images"
            )
        added: tuple[Step | Choice, ...] = applied[1][len(before) :]
        return added


def _in_turn(functions: Sequence[Steps]) -> Steps:
    def apply(reader: OperatorMethods) -> OperatorMethods:
        for function in functions:
            reader = function(reader)
        return reader

    return apply
