# SPDX-License-Identifier: Apache-2.0
"""Executor: runs programs that were built in Python, fed with arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from millhopper import _core
from millhopper._core import Scope
from millhopper.base.places import CPUPlace, CUDAPlace
from millhopper.feeding.feed_values import fed_tensors
from millhopper.programs.program import Program, default_main_program
from millhopper.programs.scope import global_scope
from millhopper.programs.variable import Variable
from millhopper.ragged import Ragged

# What a program gives back: an array, or sequences of different lengths.
Fetched: TypeAlias = npt.NDArray[Any] | Ragged


def _as_array(tensor: _core.LoDTensor) -> Fetched:
    values = np.asarray(tensor)
    if not values.flags.writeable:  # something else holds that memory, such as the scope
        values = values.copy()
    offsets = tensor.lod()
    if not offsets:
        return values
    return Ragged(values, tuple(np.array(level, np.int64) for level in offsets))


# The number of scopes in which a program stays prepared, so that training and evaluation may
# alternate.
_SCOPES = 8


class _Preparations:
    """A program as it is now, prepared for the scopes in which it was run."""

    def __init__(self, program: _core.Program, seed: int) -> None:
        self.program = program
        self.seed = seed
        self._by_scope: WeakKeyDictionary[Scope, _core.Prepared] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, scope: Scope, place: str) -> _core.Prepared:
        """The program prepared for a scope. The one that was prepared first is forgotten when there
        are too many."""
        prepared = self._by_scope.get(scope)
        if prepared is None:
            prepared = _core.prepare(self.program, scope, place, self.seed)
            with self._lock:
                while len(self._by_scope) >= _SCOPES:
                    del self._by_scope[next(iter(self._by_scope))]
                self._by_scope[scope] = prepared
        return prepared


class Executor:
    """Runs programs in a scope: startup programs, which create readers and parameters, and others.

    A program is checked and prepared when it first runs in a scope, and again when it has changed;
    the results are kept for a handful of scopes. Other Python threads run while the core works;
    Ctrl-C stops it between two operators or where it waits. One thread at a time may run programs
    in one scope.

    Source: PaddlePaddle's fluid.executor, 2018.
    """

    def __init__(self, place: CPUPlace | CUDAPlace | str | None = None) -> None:
        """An executor.

        Args:
            place: where double buffers leave their batches unless they say so themselves; the host
                by default. Operators compute on the host. The text "cpu" or "cuda:0" is taken, too.

        Raises:
            TypeError, ValueError: ``place`` is not a place.
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
            feed: values by variable or name: arrays, LoDTensors, ``Ragged``, objects that export
                DLPack, numbers and nested lists (which become the declared dtype). All but
                LoDTensors are copied. Variables of ``layers.data`` are fed with the dtype and dims
                that they declare. A list of one such dict is taken, too: the feed of one place.
            fetch_list: variables, or their names, whose values are returned.
            scope: where persistable variables live; by default ``global_scope()``.
            return_numpy: whether arrays are returned, else LoDTensors.
            use_program_cache: the lineage's, without effect: programs are prepared once.

        Returns:
            The fetched values in order: arrays that the caller owns and may write to; ``Ragged``
            for values with levels. A value that the program no longer holds is not copied.

        Raises:
            TypeError: an argument is of the wrong type, or what is fed holds no numbers.
            ValueError: what is fed has another dtype, or other dims, than declared.
            EndOfData: a ``read`` operator found no next element.
            Error: the program is wrong (all problems are named), or an operator failed; its
                ``operator`` says which, with the line of ``program.to_text()``.
            KeyboardInterrupt: Ctrl-C; what was read before stays consumed.
        """
        if program is None:
            program = default_main_program()
        if not isinstance(program, Program):
            raise TypeError(f"Executor.run takes a Program, not {program!r}")
        if isinstance(feed, list | tuple) and len(feed) == 1:
            (feed,) = feed
        if feed is not None and not isinstance(feed, Mapping):
            raise TypeError(f"feed is a dict of values by name, not {type(feed).__name__}")
        names = fetch_names(fetch_list)
        tensors = fed_tensors(feed or {}, program)
        prepared = self._prepare(program, global_scope() if scope is None else scope)
        fetched = prepared.run(tensors, names)
        return [_as_array(tensor) for tensor in fetched] if return_numpy else fetched

    def close(self) -> None:
        """Forgets all prepared programs. The executor can be used again."""
        self._prepared.clear()

    def _prepare(self, program: Program, scope: Scope) -> _core.Prepared:
        core = program.core_program()
        seed = program.random_seed
        known = self._prepared.get(program)
        if known is None or known.program is not core or known.seed != seed:
            known = self._prepared[program] = _Preparations(core, seed)
        return known.of(scope, self.place.name)


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
    if isinstance(fetch_list, Variable | str):
        fetch_list = [fetch_list]
    if not isinstance(fetch_list, Iterable):
        raise TypeError(f"fetch_list is a list of variables or their names, not {fetch_list!r}")
    names = []
    for item in fetch_list:
        if not isinstance(item, Variable | str):
            raise TypeError(f"fetch_list holds variables or their names; {item!r} is neither")
        names.append(item if isinstance(item, str) else item.name)
    return names
