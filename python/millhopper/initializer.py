# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters, under PaddlePaddle's module name.

Random numbers depend only on ``Program.random_seed``, the initializer's ``seed`` and the
parameter's name. A parameter that has a fixed name (``ParamAttr(name=...)``) therefore starts with
the same values in every program. The code is in ``programs.initializer``.
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
