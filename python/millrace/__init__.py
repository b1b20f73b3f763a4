# SPDX-License-Identifier: Apache-2.0
"""Millrace feeds training: records are read, shuffled and batched in C++, ahead of the loop.

``Reader`` yields batches as numpy arrays without a copy. Everything that the core complains about
is an ``Error``. ``reader`` and ``batch`` hold readers that are written in Python.
"""

from millrace import core, reader
from millrace._core import version as __version__
from millrace.core import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    LoDTensor,
    LoDTensorArray,
    Scope,
)
from millrace.data_loader import DataLoader
from millrace.errors import EndOfData, Error
from millrace.lod_tensor import create_lod_tensor, create_random_int_lodtensor
from millrace.minibatch import batch
from millrace.pipeline import Reader
from millrace.process import load_plugin, set_threads
from millrace.ragged import Ragged

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "DataLoader",
    "EndOfData",
    "Error",
    "LoDTensor",
    "LoDTensorArray",
    "Ragged",
    "Reader",
    "Scope",
    "__version__",
    "batch",
    "core",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "load_plugin",
    "reader",
    "set_threads",
]
