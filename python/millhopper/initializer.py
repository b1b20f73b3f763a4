# SPDX-License-Identifier: Apache-2.0
"""What parameters are filled with first, under the lineage's module name.

Random numbers depend on ``Program.random_seed``, the initializer's ``seed`` and the parameter's
name, and on nothing else: naming parameters (``ParamAttr(name=...)``) makes them the same in every
program. The code is in ``programs.initializer``.
"""

from millhopper.programs.initializer import (
    MSRA,
    Constant,
    ConstantInitializer,
    Initializer,
    MSRAInitializer,
    Normal,
    NormalInitializer,
    Uniform,
    UniformInitializer,
    Xavier,
    XavierInitializer,
)

__all__ = [
    "Constant",
    "ConstantInitializer",
    "Initializer",
    "MSRA",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
]
