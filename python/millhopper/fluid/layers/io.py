# SPDX-License-Identifier: Apache-2.0
"""Data and readers under the lineage's name ``layers.io``."""

from millhopper.fluid.layers.fed_data import data
from millhopper.fluid.layers.preprocessor import Preprocessor
from millhopper.fluid.layers.readers import (
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
from millhopper.fluid.layers.tensor import load
from millhopper.fluid.py_reader import create_py_reader_by_data, py_reader

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
