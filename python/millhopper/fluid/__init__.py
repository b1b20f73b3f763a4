# SPDX-License-Identifier: Apache-2.0
"""All that has a name of Paddle Fluid, for scripts that were written for it. ::

    import millhopper.fluid as fluid

    image = fluid.layers.data("image", [64])
    hidden = fluid.layers.fc(image, size=10)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())

``batch``, ``dataset`` and ``reader``, which PaddlePaddle has one package above, are here, too. The
package ``millhopper`` has the same names.
"""

from millhopper import dataset
from millhopper.fluid import (
    backward,
    core,
    data_feeder,
    executor,
    framework,
    initializer,
    io,
    layer,
    layers,
    lod_tensor,
    minibatch,
    optimizer,
    param_attr,
    reader,
    recordio_writer,
    unique_name,
)
from millhopper.fluid.backward import append_backward
from millhopper.fluid.core import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    LoDTensor,
    LoDTensorArray,
    Scope,
    Tensor,
    cpu_places,
    cuda_places,
    is_compiled_with_cuda,
)
from millhopper.fluid.data_feeder import DataFeeder
from millhopper.fluid.executor import Executor, global_scope, scope_guard
from millhopper.fluid.framework import (
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
from millhopper.fluid.lod_tensor import create_lod_tensor, create_random_int_lodtensor
from millhopper.fluid.minibatch import batch
from millhopper.fluid.param_attr import ParamAttr

__all__ = [
    "Block",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "DataFeeder",
    "Executor",
    "LoDTensor",
    "LoDTensorArray",
    "Operator",
    "ParamAttr",
    "Parameter",
    "Program",
    "Scope",
    "Tensor",
    "Variable",
    "append_backward",
    "backward",
    "batch",
    "core",
    "cpu_places",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "cuda_places",
    "data_feeder",
    "dataset",
    "default_main_program",
    "default_startup_program",
    "executor",
    "framework",
    "global_scope",
    "initializer",
    "io",
    "is_compiled_with_cuda",
    "layer",
    "layers",
    "lod_tensor",
    "minibatch",
    "name_scope",
    "optimizer",
    "param_attr",
    "program_guard",
    "reader",
    "recordio_writer",
    "scope_guard",
    "switch_main_program",
    "switch_startup_program",
    "unique_name",
]
