# SPDX-License-Identifier: Apache-2.0
"""Readers of arrays, text and RecordIO files under the lineage's module name; the code is in
``generators.creator``."""

from millhopper.generators.creator import np_array, recordio, text_file

__all__ = ["np_array", "recordio", "text_file"]
