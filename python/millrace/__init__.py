# SPDX-License-Identifier: Apache-2.0
"""Millrace feeds training: records are read, shuffled and batched in C++, ahead of the loop.

``Reader`` yields batches as numpy arrays without a copy. Everything that the core complains about
is an ``Error``. ``reader`` and ``batch`` hold readers that are written in Python.
"""

from millrace import backward, framework, initializer, layers, optimizer, reader, unique_name
from millrace._core import version as __version__
from millrace.backward import append_backward
from millrace.errors import EndOfData, Error
from millrace.framework import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from millrace.minibatch import batch
from millrace.param_attr import ParamAttr
from millrace.pipeline import Reader
from millrace.process import load_plugin, set_threads
from millrace.ragged import Ragged

__all__ = [
    "Block",
    "EndOfData",
    "Error",
    "Operator",
    "ParamAttr",
    "Parameter",
    "Program",
    "Ragged",
    "Reader",
    "Variable",
    "__version__",
    "append_backward",
    "backward",
    "batch",
    "default_main_program",
    "default_startup_program",
    "framework",
    "initializer",
    "layers",
    "load_plugin",
    "name_scope",
    "optimizer",
    "program_guard",
    "reader",
    "set_threads",
    "switch_main_program",
    "switch_startup_program",
    "unique_name",
]
