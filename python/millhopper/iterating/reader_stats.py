# SPDX-License-Identifier: Apache-2.0
"""What the readers of a chain have done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReaderStats:
    """What a reader, and those below it, have done since the first loop over the chain.

    Source: Millhopper's own.

    Attributes:
        kind: the operator that creates it, such as ``create_batch_reader``.
        name: its name in programs and error texts.
        elements: elements that it has delivered.
        planned: elements of which it has said that they come next; some of them may not be loaded
            yet, or belong to other shards, or were given up when a loop ended early.
        bytes_read: bytes that it has read from files, compressed ones as they lie there.
        load_seconds: time that all threads together have spent in loading its elements, with what
            the readers below do at that moment, and in reading, checking and expanding parts of
            files. Loads of less than 10 microseconds are timed one in eight.
        wait_seconds: time for which the consumer was held up: because something was not ready, or
            because it had to be made there and then. Of the reader that the loop is over: all
            the time that the loop has waited for batches.
        in_store: elements that are fetched, loaded or held in a window at this moment, and not
            planned.
        memory_bytes: memory that its buffers take at this moment.
        below: the reader that it stands on, or none.
    """

    kind: str
    name: str
    elements: int
    planned: int
    bytes_read: int
    load_seconds: float
    wait_seconds: float
    in_store: int
    memory_bytes: int
    below: tuple[ReaderStats, ...]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ReaderStats:
        """From what the core says."""
        below = tuple(cls.of(reader) for reader in fields["below"])
        values: dict[str, Any] = {**fields, "below": below}
        return cls(**values)
