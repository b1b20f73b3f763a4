# SPDX-License-Identifier: Apache-2.0
"""A thread that fills a queue of the core with what a provider of Python makes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from millhopper import _core
from millhopper.base.forks import OwnProcess
from millhopper.base.integers import INT64_MAX, integer
from millhopper.generators.passes import Pass
from millhopper.generators.python_reader import opened

# A value a slot: arrays, LoDTensors, Ragged, numbers.
Element: TypeAlias = Sequence[Any]
Provider: TypeAlias = Callable[[], Iterable[Element]]


class FedQueue:
    """A queue, and the provider that fills it from ``start`` to ``stop``, pass after pass.

    When the reader of the queue begins a pass anew, by itself (a program's ``reset`` operator, a
    multi-pass reader), the provider is called anew on the same thread; what it had made for the
    pass before is dropped. What the provider raises takes the place of the element that it would
    have been. The thread ends with ``stop``, when this object is collected, and at interpreter
    exit; see ``millhopper.generators.passes`` for how long that waits.
    """

    def __init__(self, title: str, capacity: int, slots: list[tuple[str, list[int], int]]) -> None:
        """A queue of ``capacity`` elements of these slots (dtype, dims, levels of offsets).

        Raises:
            TypeError: ``capacity`` is no integer.
            Error: it is below 1, or a slot has a dtype that is none of Millhopper's.
        """
        self.title = title
        # No queue gets as far as the largest number that the core has.
        largest = min(integer(f"{title}: capacity", capacity), INT64_MAX)
        self.queue = _core.Queue(max(largest, 0), slots)
        self.thread: threading.Thread | None = None
        self._provider: tuple[Provider, str] | None = None
        self._leave: Callable[[], object] | None = None
        self._process = OwnProcess()

    def provide(self, provider: Provider, source: object) -> None:
        """Has ``provider`` fill the queue; errors name ``source``, the function that was given.

        Raises:
            RuntimeError: there is one at work.
        """
        self._require_stopped("be given another provider")
        name = getattr(source, "__qualname__", None) or type(source).__name__
        code = getattr(source, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        self._provider = (provider, f"the provider {name}{place} of {self.title}")
        self.queue.expect(
            f"{self.title} is read, but has not been started: reset() it, and call its start() "
            "before each pass"
        )

    def start(self) -> None:
        """Starts the thread, for the pass that is running.

        Raises:
            RuntimeError: there is no provider, or it is at work since an earlier ``start``.
        """
        provider, title = self.require_provider()
        self._require_stopped("be started again")
        queue, this_pass = self.queue, Pass()
        generation = queue.attach()
        this_pass.on_leave(queue.detach)
        finalizer = weakref.finalize(self, this_pass.leave)
        finalizer.atexit = False  # leave_all ends all passes at once
        self._leave = finalizer
        self.thread = this_pass.start(lambda: _fill(this_pass, queue, provider, generation, title))

    def require_provider(self) -> tuple[Provider, str]:
        """The provider, and what errors call it. Raises RuntimeError if there is none."""
        if self._provider is None:
            raise RuntimeError(f"{self.title} has no provider: decorate it with one before start()")
        return self._provider

    def stop(self) -> None:
        """Ends the thread; the pass that is running ends, too. Does nothing if none is at work."""
        if self._leave is not None:
            self._leave()
            self._leave = None

    @property
    def is_forked(self) -> bool:
        """Whether this process was forked later, so that queue and thread are its parent's."""
        return not self._process.is_this

    @property
    def at_work(self) -> bool:
        """Whether there is a thread between ``start`` and ``stop``."""
        return self._leave is not None and self.queue.attached()

    def _require_stopped(self, wish: str) -> None:
        if self.at_work:
            raise RuntimeError(
                f"{self.title} is at work: reset() it, or leave the loop over it, before it can "
                f"{wish}"
            )


def _fill(
    this_pass: Pass, queue: _core.Queue, provider: Provider, generation: int | None, title: str
) -> None:
    while generation is not None and not this_pass.left:
        try:
            with opened(provider) as elements:
                complete = queue.pump(elements, generation)
            if complete:
                queue.close(generation)
        except BaseException as error:
            # Without this frame, through which the error in the queue would keep the queue.
            trace = error.__traceback__
            queue.fail(generation, title, error.with_traceback(trace and trace.tb_next))
        generation = queue.await_next(generation)
