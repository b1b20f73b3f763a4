# SPDX-License-Identifier: Apache-2.0
"""The functions of ``millrace.reader`` under the lineage's name of the module they were in."""

from millrace.reader.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millrace.reader.pipe import PipeReader
from millrace.reader.processes import multiprocess_reader
from millrace.reader.threads import buffered, xmap_readers

__all__ = [
    "ComposeNotAligned",
    "Fake",
    "PipeReader",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]
