# SPDX-License-Identifier: Apache-2.0
"""The C++ classes under the names that they have in Paddle Fluid (``fluid.core``)."""

from millhopper._core import (
    LoDTensor,
    Scope,
    Variable,
    from_dlpack,
    get_fetch_variable,
    set_feed_variable,
)
from millhopper._core import LoDTensor as Tensor
from millhopper._core import Queue as LoDTensorBlockingQueue
from millhopper._core import VariableReader as Reader
from millhopper.base.places import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    cpu_places,
    cuda_places,
    get_cuda_device_count,
    is_compiled_with_cuda,
)
from millhopper.errors import EndOfData as EOFException
from millhopper.errors import Error as EnforceNotMet
from millhopper.fluid.lod_tensor import LoDTensorArray
from millhopper.fluid.recordio_writer import RecordIOWriter
from millhopper.programs.attributes import AttrType
from millhopper.programs.var_type import VarDesc

__all__ = [
    "AttrType",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "EnforceNotMet",
    "LoDTensor",
    "LoDTensorArray",
    "LoDTensorBlockingQueue",
    "Reader",
    "RecordIOWriter",
    "Scope",
    "Tensor",
    "VarDesc",
    "Variable",
    "cpu_places",
    "cuda_places",
    "from_dlpack",
    "get_cuda_device_count",
    "get_fetch_variable",
    "is_compiled_with_cuda",
    "set_feed_variable",
]
