# SPDX-License-Identifier: Apache-2.0
"""Executor: runs programs that were built in Python, fed with arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from millhopper import _core
from millhopper._core import Scope
from millhopper.base.missing_slots import explain_missing_slots
from millhopper.base.places import CPUPlace, CUDAPlace
from millhopper.base.warn import warn_caller
from millhopper.errors import Error
from millhopper.fluid.executor_state import SavingPrograms
from millhopper.fluid.feed_values import fed_tensors
from millhopper.programs.program import Program, default_main_program
from millhopper.programs.scope import global_scope, scope_guard
from millhopper.programs.variable import Variable
from millhopper.ragged import Ragged

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

__all__ = [
    "Executor",
    "global_scope",
    "scope_guard",
]

# A fetched value: an array, or sequences of different lengths.
Fetched: TypeAlias = "npt.NDArray[Any] | Ragged"


def _as_array(tensor: _core.LoDTensor) -> Fetched:
    values = np.asarray(tensor)
    if not values.flags.writeable:  # the memory is shared, for example with the scope
        values = values.copy()
    offsets = tensor.lod()
    if not offsets:
        return values
    return Ragged(values, tuple(np.array(level, np.int64) for level in offsets))


# For this many scopes a program stays prepared, so that training and evaluation can alternate
# without preparing it again.
_SCOPES = 8


class _Preparations:
    """One version of a program, prepared for the scopes in which it was run."""

    def __init__(self, program: _core.Program, seed: int, of_layers: bool) -> None:
        self.program = program
        self.seed = seed
        self.of_layers = of_layers
        self.has_warned = False
        self._by_scope: WeakKeyDictionary[Scope, _core.Prepared] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, scope: Scope, place: str) -> _core.Prepared:
        """The program prepared for a scope. If there are too many scopes, the oldest is dropped."""
        prepared = self._by_scope.get(scope)
        if prepared is None:
            prepared = _core.prepare(self.program, scope, place, self.seed, self.of_layers)
            with self._lock:
                while len(self._by_scope) >= _SCOPES:
                    del self._by_scope[next(iter(self._by_scope))]
                self._by_scope[scope] = prepared
        return prepared


class Executor(SavingPrograms):
    """Runs programs in a scope: startup programs, which create readers and parameters, and others.

    A program is checked and prepared when it first runs in a scope, and again when it has changed
    or has run in several other scopes since. While the core works, other threads can use the
    interpreter. Ctrl-C stops the core between two operators or while it waits. Only one thread at a
    time may run programs in one scope, or save or load its state.

    Source: PaddlePaddle's fluid.executor, 2018.
    """

    def __init__(self, place: CPUPlace | CUDAPlace | str | None = None) -> None:
        """An executor.

        Args:
            place: where double buffers that name no place put their batches; by default the host.
                Operators compute on the host. It may also be a text such as "cpu" or "cuda:0".

        Raises:
            TypeError, ValueError: ``place`` is no place.
        """
        self.place = _place(place)
        self._prepared: WeakKeyDictionary[Program, _Preparations] = WeakKeyDictionary()

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[Any, object] | Sequence[Mapping[Any, object]] | None = None,
        fetch_list: Sequence[Variable | str] | Variable | str | None = None,
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = True,
    ) -> list[Any]:
        """Runs all operators of a program, in order.

        Args:
            program: by default ``default_main_program()``.
            feed: values by variable or by its name: arrays, LoDTensors, ``Ragged``, objects with
                ``__dlpack__``, numbers and nested lists (which become the declared dtype). All are
                copied, except LoDTensors. Variables of ``layers.data`` take values of the dtype and
                dims that they declare. A list of one such dict, the feed of one place, may be given
                as well.
            fetch_list: variables, or their names, whose values are returned.
            scope: holds the persistable variables; by default ``global_scope()``.
            return_numpy: return arrays; otherwise LoDTensors, on a device if the program has them
                there: ``torch.from_dlpack`` takes them as they are.
            use_program_cache: has no effect, since programs stay prepared; PaddlePaddle has it.

        Returns:
            The fetched values in order: arrays, which the caller may write, or ``Ragged`` for
            values with levels. A value is copied only if something else, such as the scope, holds
            its memory.

        Raises:
            TypeError: an argument is of the wrong type, or a fed value holds no numbers.
            ValueError: a fed value has another dtype, or other dims, than declared.
            EndOfData: a ``read`` operator found no next element.
            Error: the program is wrong (the message lists all problems), or an operator failed. The
                error's ``operator`` names it, and its steps give the line of ``program.to_text()``.
            KeyboardInterrupt: Ctrl-C; elements that were read before stay consumed.
        """
        if program is None:
            program = default_main_program()
        if not isinstance(program, Program):
            raise TypeError(f"Executor.run takes a Program, not {program!r}")
        if isinstance(feed, (list, tuple)) and len(feed) == 1:
            (feed,) = feed
        if feed is not None and not isinstance(feed, Mapping):
            raise TypeError(f"feed is a dict of values by name, not {type(feed).__name__}")
        names = fetch_names(fetch_list)
        tensors = fed_tensors(feed or {}, program)
        prepared = self._prepare(program, global_scope() if scope is None else scope)
        try:
            fetched = prepared.run(tensors, names)
        except Error as error:
            if not program.is_parsed:
                explain_missing_slots(error, "give shapes and dtypes where the reader is made")
            raise
        return [_as_array(tensor) for tensor in fetched] if return_numpy else fetched

    def close(self) -> None:
        """Forgets all prepared programs. The executor can be used again."""
        self._prepared.clear()

    def _prepare(self, program: Program, scope: Scope) -> _core.Prepared:
        core = program.core_program()
        seed = program.random_seed
        known = self._prepared.get(program)
        if known is None or known.program is not core or known.seed != seed:
            known = self._prepared[program] = _Preparations(core, seed, not program.is_parsed)
        prepared = known.of(scope, self.place.name)
        if not known.has_warned:
            known.has_warned = True
            for text in core.warnings():
                warn_caller(text)
        return prepared


def _place(place: CPUPlace | CUDAPlace | str | None) -> CPUPlace | CUDAPlace:
    if place is None or place == "cpu":
        return CPUPlace()
    if isinstance(place, str):
        kind, _, number = place.partition(":")
        if kind == "cuda" and number.isdecimal():
            return CUDAPlace(int(number))
        raise ValueError(f"there is no place {place!r}; places are 'cpu', 'cuda:0', 'cuda:1' ...")
    if not hasattr(place, "name"):
        raise TypeError(f"a place is CPUPlace(), CUDAPlace(0), 'cpu' or 'cuda:0', not {place!r}")
    return place


def fetch_names(fetch_list: object) -> list[str]:
    """The names of the variables to fetch."""
    if fetch_list is None:
        return []
    if isinstance(fetch_list, (Variable, str)):
        fetch_list = [fetch_list]
    if not isinstance(fetch_list, Iterable):
        raise TypeError(f"fetch_list is a list of variables or their names, not {fetch_list!r}")
    names = []
    for item in fetch_list:
        if not isinstance(item, (Variable, str)):
            raise TypeError(f"fetch_list holds variables or their names; {item!r} is neither")
        names.append(item if isinstance(item, str) else item.name)
    return names
