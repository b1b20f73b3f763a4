# SPDX-License-Identifier: Apache-2.0
"""RecordIO files of what readers in Python yield, under the lineage's module name; the code is in
``feeding.recordio_writer``, whose docstring says more."""

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
