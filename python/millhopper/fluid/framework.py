# SPDX-License-Identifier: Apache-2.0
"""Programs and their parts, under the names of PaddlePaddle's module ``framework``."""

from millhopper.base.places import cpu_places, cuda_places
from millhopper.programs.block import Block
from millhopper.programs.operator import Operator
from millhopper.programs.program import (
    Program,
    default_main_program,
    default_startup_program,
    name_scope,
    new_programs,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from millhopper.programs.var_type import VarType, convert_dtype, dtype_name
from millhopper.programs.variable import Parameter, Variable, grad_var_name

convert_np_dtype_to_dtype_ = convert_dtype

__all__ = [
    "Block",
    "Operator",
    "Parameter",
    "Program",
    "VarType",
    "Variable",
    "convert_dtype",
    "convert_np_dtype_to_dtype_",
    "cpu_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "dtype_name",
    "grad_var_name",
    "name_scope",
    "new_programs",
    "program_guard",
    "switch_main_program",
    "switch_startup_program",
]
