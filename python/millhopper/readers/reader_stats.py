# SPDX-License-Identifier: Apache-2.0
"""Statistics of the readers of a chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LaneStats:
    """Statistics of one lane.

    Attributes:
        elements: number of elements that it has announced: how far it is.
        seconds: time of the threads that have run it.
    """

    elements: int
    seconds: float


@dataclass(frozen=True)
class ReaderStats:
    """Statistics of a reader and those below it, since the first loop over the chain.

    Source: Millhopper's own.

    Attributes:
        kind: the operator that creates the reader, such as ``create_batch_reader``.
        name: the reader's name in programs and error messages.
        elements: number of elements delivered.
        planned: number of elements that the reader has announced. Some may not be loaded yet, may
            belong to other shards, or were given up because a loop ended early.
        bytes_read: bytes read from files; compressed data counts with its compressed size.
        load_seconds: time that all threads together have spent in loading the reader's elements,
            with the work of the readers below during that time, and in reading, checking and
            expanding parts of files. Of loads that take less than 10 microseconds one in eight is
            timed.
        wait_seconds: time for which the consumer was held up, because an element was not ready or
            because the consumer had to make it itself. For the reader that the loop is over, it is
            all time that the loop has waited for batches.
        in_store: number of elements that are fetched, loaded or held in a window now, but not yet
            planned.
        memory_bytes: memory that the reader's buffers take now.
        lanes: of a reader that runs lanes (``batch`` on ``open_files(..., lanes=16)``), what each
            has done; empty for others.
        below: the reader that this one decorates; empty for a source.
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
    lanes: tuple[LaneStats, ...]
    below: tuple[ReaderStats, ...]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ReaderStats:
        """Makes the statistics from the fields that the core returns."""
        below = tuple(cls.of(reader) for reader in fields["below"])
        lanes = tuple(LaneStats(*lane) for lane in fields["lanes"])
        values: dict[str, Any] = {**fields, "lanes": lanes, "below": below}
        return cls(**values)
