# SPDX-License-Identifier: Apache-2.0
"""The functions of ``millhopper.reader`` under the lineage's name of the module they were in."""

from millhopper.generators.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millhopper.generators.pipe import PipeReader
from millhopper.generators.processes import multiprocess_reader
from millhopper.generators.threads import buffered, xmap_readers

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
