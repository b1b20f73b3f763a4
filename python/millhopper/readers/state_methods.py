# SPDX-License-Identifier: Apache-2.0
"""Methods of Reader and DataLoader that save where a loop stands, so that another one can
resume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millhopper.readers.saved_state import (
    checked_state,
    from_json,
    new_state,
    number_in,
    position_in,
    to_json,
)

if TYPE_CHECKING:
    from millhopper._core import Loop
    from millhopper._core import Reader as CoreReader


class StateInJson:
    """``get_state`` and ``set_state`` of whatever has ``state_dict`` and ``load_state_dict``."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        raise NotImplementedError

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes to a state."""
        raise NotImplementedError

    def get_state(self) -> bytes:
        """What ``state_dict`` returns, as JSON in bytes: as iterators of Grain have it.

        Raises:
            Error: as ``state_dict``.
        """
        return to_json(self.state_dict())

    def set_state(self, state: bytes | str | Mapping[str, Any]) -> None:
        """Goes to a state that ``get_state`` has returned, as ``load_state_dict`` does.

        Args:
            state: these bytes, the same as a text, or the dict that ``json.loads`` makes of them.

        Raises:
            TypeError: it is none of these.
            Error: as ``load_state_dict``.
        """
        self.load_state_dict(from_json(state))  # type: ignore[arg-type]


class StateMethods(StateInJson):
    """The methods of a Reader."""

    _epoch: int
    _loop_epoch: int | None = None  # the pass that was begun last
    _loaded = False  # whether the next loop resumes from a state that was loaded
    _position: bytes | None = None  # where in its pass, if that is not the beginning

    if TYPE_CHECKING:

        @property
        def _core(self) -> CoreReader: ...

    def state_dict(self) -> dict[str, Any]:
        """Where the last loop stands: after the element that it has delivered last.

        What is read ahead, or waits in a window, makes no difference. ::

            for step, batch in enumerate(reader):
                train(batch)
                if step % 1000 == 0:
                    torch.save({"model": ..., "reader": reader.state_dict()}, "last.pt")

            # in another process, with the same reader:
            reader.load_state_dict(torch.load("last.pt")["reader"])
            for batch in reader:  # the rest of the pass; then the passes that would have followed
                train(batch)

        The state of a loop that was left is where it was left. A state of a loop that has ended, or
        before the first one, is the beginning of the next pass; after the last element, before the
        loop has ended, it is what is left of the pass: nothing. It holds numbers and bytes and
        nothing else: a few bytes for each element in a window, and a few kilobytes.

        Raises:
            Error: a reader of the chain cannot say where it stands, such as one of a command or a
                FIFO, which cannot be read again. The message names it.
        """
        if self._loaded:
            return new_state("Reader", epoch=self._epoch, position=self._position)
        position = None if self._loop_epoch is None else self._core.save()
        epoch = self._epoch if position is None else self._loop_epoch
        return new_state("Reader", epoch=epoch, position=position)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next loop resumes from a state that a reader like this one has returned.

        The reader must have the same steps, names, seeds and files; the number of threads may be
        another one, and so may the sizes of ``batch`` and ``padded_batch``: the elements that were
        not delivered come in the same order, cut into batches of this size. With lanes the order
        of the pass is the one that the size of its first batches gave; the next pass has that of
        this reader's size. Other steps above batches than ``map``, ``double_buffer`` and
        ``multi_pass`` need the size of the state, and so does whatever else gathers elements
        (``bucket``, ``pack``, ``window``, ...). The files are opened when the loop begins.

        Raises:
            TypeError: the state is no dict.
            Error: it is no state of a reader. If it is one of another chain or of other files, the
                next loop raises it, and says what differs.
        """
        state = checked_state("Reader", state_dict)
        epoch, position = number_in(state, "epoch"), position_in(state)
        self._epoch, self._position, self._loaded = epoch, position, True

    def _begin(self) -> Loop:
        """Begins the next pass, or resumes one."""
        loop = self._core.begin(self._epoch, self._position)
        self._loop_epoch = self._epoch
        self._epoch += 1
        self._position, self._loaded = None, False
        return loop

    def _go_to(self, epoch: int) -> None:
        """The next loop begins this pass, unless it resumes it anyway."""
        if epoch == self._epoch:
            return
        self._epoch, self._position, self._loaded = epoch, None, False
