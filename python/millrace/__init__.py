# SPDX-License-Identifier: Apache-2.0
"""Millrace feeds training: records are read, shuffled and batched in C++, ahead of the loop.

``Reader`` yields batches as numpy arrays without a copy. Everything that the core complains about
is an ``Error``. ``reader`` and ``batch`` hold readers that are written in Python.
"""

from millrace import dataset, reader
from millrace._core import version as __version__
from millrace.errors import EndOfData, Error
from millrace.minibatch import batch
from millrace.pipeline import Reader
from millrace.process import load_plugin, set_threads
from millrace.ragged import Ragged

__all__ = [
    "EndOfData",
    "Error",
    "Ragged",
    "Reader",
    "__version__",
    "batch",
    "dataset",
    "load_plugin",
    "reader",
    "set_threads",
]
