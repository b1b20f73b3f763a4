# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters.

Random numbers depend only on ``Program.random_seed``, the initializer's ``seed`` and the
parameter's name. A parameter that has a fixed name (``ParamAttr(name=...)``) therefore starts with
the same values in every program.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from millhopper.programs.operator import Operator
from millhopper.programs.variable import Initializer, Variable

if TYPE_CHECKING:
    from millhopper.programs.block import Block

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


class ConstantInitializer(Initializer):
    """The same value everywhere.

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        """``force_cpu`` is the lineage's; values are made on the CPU always."""
        self._value = value

    def __call__(self, var: Variable, block: Block) -> Operator:
        return block.append_op(
            type="fill_constant",
            outputs={"Out": var},
            attrs={"shape": var.shape, "dtype": var.dtype, "value": float(self._value)},
        )


class UniformInitializer(Initializer):
    """Random numbers, uniform in [low, high).

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0) -> None:
        """Raises:
        ValueError: ``low`` is above ``high``.
        """
        if low > high:
            raise ValueError(f"low is {low}, which is above high, {high}")
        self._low, self._high, self._seed = low, high, seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        return block.append_op(
            type="uniform_random",
            outputs={"Out": var},
            attrs={
                "shape": var.shape,
                "dtype": var.dtype,
                "min": self._low,
                "max": self._high,
                "seed": self._seed,
            },
        )


class NormalInitializer(Initializer):
    """Random numbers of a normal distribution: mean ``loc``, standard deviation ``scale``.

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        self._loc, self._scale, self._seed = loc, scale, seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        return block.append_op(
            type="gaussian_random",
            outputs={"Out": var},
            attrs={
                "shape": var.shape,
                "dtype": var.dtype,
                "mean": self._loc,
                "std": self._scale,
                "seed": self._seed,
            },
        )


class XavierInitializer(Initializer):
    """Random numbers whose variance is 2 / (fan_in + fan_out) (Glorot and Bengio, 2010).

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
    ) -> None:
        """Uniform or normal; by default the parameter's first two dims are fan_in and fan_out."""
        self._uniform, self._fan_in, self._fan_out, self._seed = uniform, fan_in, fan_out, seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        fan_in, fan_out = _fans(var)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        return _of_variance(2.0 / (fan_in + fan_out), self._uniform, self._seed)(var, block)


class MSRAInitializer(Initializer):
    """Random numbers whose variance is 2 / fan_in, for layers before relu (He et al., 2015).

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    def __init__(self, uniform: bool = True, fan_in: float | None = None, seed: int = 0) -> None:
        """Uniform or normal; by default the parameter's first dim is fan_in."""
        self._uniform, self._fan_in, self._seed = uniform, fan_in, seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        fan_in = _fans(var)[0] if self._fan_in is None else self._fan_in
        return _of_variance(2.0 / fan_in, self._uniform, self._seed)(var, block)


def _of_variance(variance: float, uniform: bool, seed: int) -> Initializer:
    if uniform:
        limit = math.sqrt(3.0 * variance)
        return UniformInitializer(-limit, limit, seed)
    return NormalInitializer(0.0, math.sqrt(variance), seed)


def _fans(var: Variable) -> tuple[float, float]:
    """Inputs and outputs of one unit; after the first two axes a parameter is a convolution's."""
    shape = var.shape or ()
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    if len(shape) == 2:
        return float(shape[0]), float(shape[1])
    field = math.prod(shape[2:])
    return float(shape[1] * field), float(shape[0] * field)


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
