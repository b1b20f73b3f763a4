# SPDX-License-Identifier: Apache-2.0
"""Layers: functions that write programs.

Each appends operators to the current block of ``default_main_program()``, or, where readers and
parameters are created, to ``default_startup_program()``, and returns variables. Beside those listed
here there is one for every operator of the core, see ``layers.ops``.
"""

from collections.abc import Callable
from typing import Any

from millhopper.fluid.layers import control_flow, io, nn, ops, tensor
from millhopper.fluid.layers.control_flow import (
    ConditionalBlock,
    IfElse,
    Print,
    Switch,
    While,
    equal,
    greater_equal,
    greater_than,
    increment,
    is_empty,
    less_equal,
    less_than,
    not_equal,
)
from millhopper.fluid.layers.fed_data import data
from millhopper.fluid.layers.nn import (
    accuracy,
    conv2d,
    cross_entropy,
    elementwise_add,
    elementwise_div,
    elementwise_mul,
    elementwise_sub,
    fc,
    pool2d,
    reshape,
    softmax,
    softmax_with_cross_entropy,
    square_error_cost,
    topk,
)
from millhopper.fluid.layers.preprocessor import Preprocessor
from millhopper.fluid.layers.readers import (
    batch,
    double_buffer,
    has_next,
    multi_pass,
    open_files,
    open_recordio_file,
    random_data_generator,
    read_file,
    reset,
    shard,
    shuffle,
)
from millhopper.fluid.layers.tensor import (
    assign,
    cast,
    create_global_var,
    create_parameter,
    create_tensor,
    fill_constant,
    load,
    ones,
    sums,
    zeros,
)
from millhopper.fluid.py_reader import create_py_reader_by_data, py_reader

__all__ = [
    "ConditionalBlock",
    "IfElse",
    "Preprocessor",
    "Print",
    "Switch",
    "While",
    "accuracy",
    "assign",
    "batch",
    "cast",
    "control_flow",
    "conv2d",
    "create_global_var",
    "create_parameter",
    "create_py_reader_by_data",
    "create_tensor",
    "cross_entropy",
    "data",
    "double_buffer",
    "elementwise_add",
    "elementwise_div",
    "elementwise_mul",
    "elementwise_sub",
    "equal",
    "fc",
    "fill_constant",
    "greater_equal",
    "greater_than",
    "has_next",
    "increment",
    "io",
    "is_empty",
    "less_equal",
    "less_than",
    "load",
    "multi_pass",
    "nn",
    "not_equal",
    "ones",
    "open_files",
    "open_recordio_file",
    "ops",
    "pool2d",
    "py_reader",
    "random_data_generator",
    "read_file",
    "reset",
    "reshape",
    "shard",
    "shuffle",
    "softmax",
    "softmax_with_cross_entropy",
    "square_error_cost",
    "sums",
    "tensor",
    "topk",
    "zeros",
]


def __getattr__(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(ops, name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(ops)})
