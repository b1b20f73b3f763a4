# SPDX-License-Identifier: Apache-2.0
"""Millhopper feeds training: records are read, shuffled and batched in C++, ahead of the loop.

``Reader`` yields batches as numpy arrays without a copy. Every failure in the core is raised as an
``Error``. ``reader`` and ``batch`` work on readers that are written in Python. ``Program``,
``layers`` and ``Executor`` write programs for the core and run them.

``fluid`` has all names of PaddlePaddle, which most modules at the top of the package pass on. The
code is in the folders, which python/README.md describes.
"""

import millhopper.base.libraries  # noqa: F401  # loads the core, before others do
import millhopper.process.exit  # noqa: F401
from millhopper import _core, api, fluid, vision
from millhopper.errors import EndOfData, Error
from millhopper.fluid import *  # noqa: F403  # what __all__ of fluid names
from millhopper.fluid.framework import new_programs
from millhopper.fluid.training import train
from millhopper.loader.data_loader import DataLoader
from millhopper.process.settings import (
    allow_exec,
    allow_local_entries,
    load_plugin,
    set_cache,
    set_index,
    set_threads,
)
from millhopper.ragged import Ragged, Texts
from millhopper.readers.display import (
    load_ipython_extension,
    show,
    unload_ipython_extension,
)
from millhopper.readers.map_function import RecordId, current_record
from millhopper.readers.other_names import answer_for_package
from millhopper.readers.reader import Reader
from millhopper.readers.reader_stats import ReaderStats
from millhopper.readers.saved_state import merge_states

__version__ = _core.version

__all__ = [
    "DataLoader",
    "EndOfData",
    "Error",
    "Ragged",
    "Reader",
    "ReaderStats",
    "RecordId",
    "Texts",
    "__version__",
    "allow_exec",
    "allow_local_entries",
    "api",
    "current_record",
    "fluid",
    "load_ipython_extension",
    "load_plugin",
    "merge_states",
    "new_programs",
    "set_cache",
    "set_index",
    "set_threads",
    "show",
    "train",
    "unload_ipython_extension",
    "vision",
]
__all__ += fluid.__all__

answer_for_package(Reader, __all__)
