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
from millhopper import (
    _core,
    api,
    backward,
    core,
    data_feeder,
    dataset,
    fluid,
    framework,
    initializer,
    io,
    layer,
    layers,
    optimizer,
    param_attr,
    reader,
    recordio_writer,
    unique_name,
    vision,
)
from millhopper.errors import EndOfData, Error
from millhopper.fluid import (
    Block,
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    DataFeeder,
    Executor,
    LoDTensor,
    LoDTensorArray,
    Operator,
    ParamAttr,
    Parameter,
    Program,
    Scope,
    Tensor,
    Variable,
    append_backward,
    batch,
    cpu_places,
    create_lod_tensor,
    create_random_int_lodtensor,
    cuda_places,
    default_main_program,
    default_startup_program,
    global_scope,
    is_compiled_with_cuda,
    name_scope,
    program_guard,
    scope_guard,
    switch_main_program,
    switch_startup_program,
)
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
from millhopper.ragged import Ragged
from millhopper.readers.display import (
    load_ipython_extension,
    show,
    unload_ipython_extension,
)
from millhopper.readers.map_function import RecordId, current_record
from millhopper.readers.reader import Reader
from millhopper.readers.reader_stats import ReaderStats

__version__ = _core.version

__all__ = [
    "Block",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "DataFeeder",
    "DataLoader",
    "EndOfData",
    "Error",
    "Executor",
    "LoDTensor",
    "LoDTensorArray",
    "Operator",
    "ParamAttr",
    "Parameter",
    "Program",
    "Ragged",
    "Reader",
    "ReaderStats",
    "RecordId",
    "Scope",
    "Tensor",
    "Variable",
    "__version__",
    "allow_exec",
    "allow_local_entries",
    "api",
    "append_backward",
    "backward",
    "batch",
    "core",
    "cpu_places",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "current_record",
    "cuda_places",
    "data_feeder",
    "dataset",
    "default_main_program",
    "default_startup_program",
    "fluid",
    "framework",
    "global_scope",
    "initializer",
    "io",
    "is_compiled_with_cuda",
    "layer",
    "layers",
    "load_ipython_extension",
    "load_plugin",
    "name_scope",
    "new_programs",
    "optimizer",
    "param_attr",
    "program_guard",
    "reader",
    "recordio_writer",
    "scope_guard",
    "set_cache",
    "set_index",
    "set_threads",
    "show",
    "switch_main_program",
    "switch_startup_program",
    "train",
    "unique_name",
    "unload_ipython_extension",
    "vision",
]
