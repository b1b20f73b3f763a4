# SPDX-License-Identifier: Apache-2.0
"""Data and readers under the lineage's name ``layers.io``. The code is in ``layers.fed_data``,
``layers.readers``, ``layers.preprocessor``, ``layers.tensor`` and ``feeding.py_reader``."""

from millhopper.feeding.py_reader import create_py_reader_by_data, py_reader
from millhopper.layers.fed_data import data
from millhopper.layers.preprocessor import Preprocessor
from millhopper.layers.readers import (
    batch,
    double_buffer,
    has_next,
    multi_pass,
    open_files,
    open_recordio_file,
    random_data_generator,
    read_file,
    reset,
    shard,
    shuffle,
)
from millhopper.layers.tensor import load

__all__ = [
    "Preprocessor",
    "batch",
    "create_py_reader_by_data",
    "data",
    "double_buffer",
    "has_next",
    "load",
    "multi_pass",
    "open_files",
    "open_recordio_file",
    "py_reader",
    "random_data_generator",
    "read_file",
    "reset",
    "shard",
    "shuffle",
]
