# SPDX-License-Identifier: Apache-2.0
"""Writes what readers in Python yield to RecordIO files, under PaddlePaddle's module name.

The code is in ``feeding.recordio_writer``, whose docstring says more.
"""

from millhopper.feeding.recordio_writer import (
    convert_reader_to_recordio_file,
    convert_reader_to_recordio_files,
    create_recordio_writer,
)

__all__ = [
    "convert_reader_to_recordio_file",
    "convert_reader_to_recordio_files",
    "create_recordio_writer",
]
