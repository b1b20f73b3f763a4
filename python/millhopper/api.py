# SPDX-License-Identifier: Apache-2.0
"""The low-level data reader under PaddlePaddle's module name; the code is in ``readers``."""

from millhopper.readers.low_level_reader import LowLevelReader, include_folder, low_level_reader

__all__ = ["LowLevelReader", "include_folder", "low_level_reader"]
