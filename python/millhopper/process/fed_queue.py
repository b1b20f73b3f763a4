# SPDX-License-Identifier: Apache-2.0
"""A thread that fills a queue of the core with the elements of a provider in Python."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millhopper import _core
from millhopper.base.forks import OwnProcess
from millhopper.base.integers import INT64_MAX, integer
from millhopper.base.python_reader import opened
from millhopper.process.passes import Pass

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# One value for each slot, or by its name: an array, a LoDTensor, a Ragged or numbers.
Element: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
Provider: TypeAlias = Callable[..., Iterable[Element]]


class FedQueue:
    """A queue, and the provider that fills it from ``start`` to ``stop``, pass after pass.

    When the core begins a new pass (by the operator ``reset`` of a program, or in a multi-pass
    reader), the same thread calls the provider again; elements of the previous pass are dropped. If
    the provider raises an exception, the consumer gets an error in place of an element. Where the
    core resumes in the middle of a pass, the provider is asked for the rest, as ``opened`` of
    ``millhopper.base.python_reader`` does. The thread
    ends with ``stop``, when this object is collected, and at interpreter exit;
    ``millhopper.process.passes`` says how long each of them waits.
    """

    def __init__(
        self,
        title: str,
        capacity: int,
        slots: list[tuple[str, list[int], int]],
        names: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> None:
        """A queue of ``capacity`` elements of these slots (dtype, dims, levels of offsets).

        With ``names`` of the slots, an element is a dict by name. ``texts`` are the names of those
        whose bytes are texts.

        Raises:
            TypeError: ``capacity`` is no integer.
            Error: ``capacity`` is below 1, or Millhopper does not support the dtype of a slot.
        """
        self.title = title
        # The core takes an int64. A larger number means the same, since no queue gets that long.
        largest = min(integer(f"{title}: capacity", capacity), INT64_MAX)
        self.queue = _core.Queue(max(largest, 0), slots, list(names), list(texts))
        self.thread: threading.Thread | None = None
        self._provider: tuple[Provider, str] | None = None
        self._leave: Callable[[], object] | None = None
        self._process = OwnProcess()

    def provide(self, provider: Provider, source: object) -> None:
        """Sets the provider; errors name ``source``, the function that the user has given.

        Raises:
            RuntimeError: a provider is at work.
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
        """Starts the provider's thread, for the current pass.

        Raises:
            RuntimeError: there is no provider, or it has been started already.
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
        """The provider and its title in errors. Raises RuntimeError if there is no provider."""
        if self._provider is None:
            raise RuntimeError(f"{self.title} has no provider: decorate it with one before start()")
        return self._provider

    def stop(self) -> None:
        """Ends the thread and the current pass. Does nothing if there is no thread."""
        if self._leave is not None:
            self._leave()
            self._leave = None

    @property
    def is_forked(self) -> bool:
        """Whether this process was forked from the one that has the queue and the thread."""
        return not self._process.is_this

    @property
    def at_work(self) -> bool:
        """Whether ``start`` was called, and neither ``stop`` nor the queue's ``detach`` since."""
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
            start = queue.take_skip(generation)
            with opened(provider, start) as elements:
                complete = queue.pump(elements, generation, start)
            if complete:
                queue.close(generation)
        except BaseException as error:
            # The traceback leaves out this frame. The frame refers to the queue, which holds the
            # error, so that otherwise the two would keep each other alive.
            trace = error.__traceback__
            queue.fail(generation, title, error.with_traceback(trace and trace.tb_next))
        generation = queue.await_next(generation)
