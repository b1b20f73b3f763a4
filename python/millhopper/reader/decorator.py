# SPDX-License-Identifier: Apache-2.0
"""The functions of ``millhopper.reader`` under the lineage's name of the module they were in."""

from millhopper.reader.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millhopper.reader.pipe import PipeReader
from millhopper.reader.processes import multiprocess_reader
from millhopper.reader.threads import buffered, xmap_readers

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
