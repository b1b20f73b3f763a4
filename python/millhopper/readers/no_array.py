# SPDX-License-Identifier: Apache-2.0
"""What is no array says so to those who take it for one."""

from __future__ import annotations

from typing import NoReturn


class NoArray:
    """Batches that a loop yields, where numpy, or ``fit`` of Keras, looks for an array.

    numpy would make an array of one object of it, and Keras would only say which types it takes.
    """

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError(self._text())

    @property
    def shape(self) -> NoReturn:
        """There is none.

        Raises:
            AttributeError: always; it says what to write.
        """
        raise AttributeError(self._text())

    def _text(self) -> str:
        return (
            f"a {type(self).__name__} is no array: a loop over it yields batches, and a batch is a"
            ' dict of arrays; fit of Keras takes reader.keras("inputs", "targets"), with the names'
            " of slots"
        )
