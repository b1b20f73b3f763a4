# SPDX-License-Identifier: Apache-2.0
"""Optimizers: the operators that change parameters by their gradients."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from millhopper.fluid.backward import append_backward
from millhopper.fluid.parameters import make_persistable
from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.operator import Operator
from millhopper.programs.program import (
    OPTIMIZE_ROLE,
    Program,
    default_startup_program,
    program_guard,
)
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Parameter, Variable

__all__ = [
    "Adam",
    "AdamOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "Optimizer",
    "SGD",
    "SGDOptimizer",
]


class Optimizer(abc.ABC):
    """What optimizers share. Learning rate and moments are persistable variables of the main
    program, which the startup program fills.

    Source: PaddlePaddle's fluid.optimizer, 2018.
    """

    def __init__(
        self, learning_rate: float | Variable, regularization: None = None, name: str | None = None
    ) -> None:
        """An optimizer.

        Args:
            learning_rate: how far a step goes; a number, or a variable [1] that the program changes
                (``layers.create_global_var``).
            regularization: there is none here; only None is taken.
            name: the lineage's, without effect.

        Raises:
            NotImplementedError: ``regularization`` is given.
            TypeError: the learning rate is neither a number nor a variable.
        """
        if regularization is not None:
            raise NotImplementedError("optimizers have no regularization here; add it to the loss")
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, Variable)):
            raise TypeError(f"a learning rate is a number or a variable, not {learning_rate!r}")
        self._learning_rate = learning_rate
        self._rates: WeakKeyDictionary[Program, Variable] = WeakKeyDictionary()

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Parameter | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
    ) -> tuple[list[Operator], list[tuple[Parameter, Variable]]]:
        """Appends gradients and updates to the loss's block.

        Args:
            loss: one number, [1].
            startup_program: takes first values; the one in use by default.
            parameter_list, no_grad_set: as in ``append_backward``.

        Returns:
            The operators that update, and each parameter with its gradient.

        Raises:
            TypeError, ValueError: as ``append_backward``.
        """
        gradients = append_backward(loss, parameter_list, no_grad_set)
        block = loss.block
        with program_guard(block.program, startup_program or default_startup_program()):
            first = len(block.ops)
            for parameter, gradient in gradients:
                self._append_update(block, parameter, gradient)
        return list(block.ops[first:]), gradients

    @abc.abstractmethod
    def _append_update(self, block: Block, parameter: Parameter, gradient: Variable) -> None:
        """Appends the operators that change a parameter."""

    def _append(
        self,
        block: Block,
        type: str,
        inputs: dict[str, Variable],
        outputs: dict[str, Variable],
        attrs: dict[str, object],
    ) -> None:
        block.append_op(type, inputs, outputs, {**attrs, "op_role": OPTIMIZE_ROLE})

    def _accumulator(
        self, parameter: Parameter, kind: str, shape: tuple[int, ...] | None, value: float = 0.0
    ) -> Variable:
        name = unique_name.generate(f"{parameter.name}_{kind}")
        return make_persistable(name, shape or (), parameter.dtype, value)

    def _rate(self, block: Block, parameter: Parameter) -> Variable:
        """The learning rate of a parameter, in its type."""
        rate = self._rate_of_program(block.program)
        factor = parameter.optimize_attr["learning_rate"]
        if factor != 1.0:
            scaled = block.create_var(shape=rate.shape, dtype=rate.dtype)
            self._append(block, "scale", {"X": rate}, {"Out": scaled}, {"scale": factor})
            rate = scaled
        if rate.dtype is not parameter.dtype:
            converted = block.create_var(shape=rate.shape, dtype=parameter.dtype)
            attrs: dict[str, object] = {"in_dtype": rate.dtype, "out_dtype": parameter.dtype}
            self._append(block, "cast", {"X": rate}, {"Out": converted}, attrs)
            rate = converted
        return rate

    def _rate_of_program(self, program: Program) -> Variable:
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        if program not in self._rates:
            name = unique_name.generate("learning_rate")
            self._rates[program] = make_persistable(
                name, (1,), VarType.FP32, float(self._learning_rate)
            )
        return self._rates[program]


class SGDOptimizer(Optimizer):
    """Parameter -= rate * gradient: operator ``sgd``.

    Source: PaddlePaddle's fluid.optimizer, 2018.
    """

    def _append_update(self, block: Block, parameter: Parameter, gradient: Variable) -> None:
        rate = self._rate(block, parameter)
        self._append(
            block,
            "sgd",
            {"Param": parameter, "Grad": gradient, "LearningRate": rate},
            {"ParamOut": parameter},
            {},
        )


class MomentumOptimizer(Optimizer):
    """Velocity = momentum * velocity + gradient; parameter -= rate * velocity: operator
    ``momentum``.

    Source: PaddlePaddle's fluid.optimizer, 2018.
    """

    def __init__(
        self,
        learning_rate: float | Variable,
        momentum: float,
        use_nesterov: bool = False,
        regularization: None = None,
        name: str | None = None,
    ) -> None:
        """An optimizer with momentum.

        Args:
            learning_rate, regularization, name: as in ``Optimizer``.
            momentum: how much of the velocity stays.
            use_nesterov: look ahead: parameter -= rate * (gradient + momentum * velocity).
        """
        super().__init__(learning_rate, regularization, name)
        self._momentum, self._use_nesterov = momentum, use_nesterov

    def _append_update(self, block: Block, parameter: Parameter, gradient: Variable) -> None:
        rate = self._rate(block, parameter)
        velocity = self._accumulator(parameter, "velocity", parameter.shape)
        self._append(
            block,
            "momentum",
            {"Param": parameter, "Grad": gradient, "Velocity": velocity, "LearningRate": rate},
            {"ParamOut": parameter, "VelocityOut": velocity},
            {"mu": self._momentum, "use_nesterov": self._use_nesterov},
        )


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, 2015): operator ``adam``.

    Source: PaddlePaddle's fluid.optimizer, 2018.
    """

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        regularization: None = None,
        name: str | None = None,
    ) -> None:
        """Adam.

        Args:
            learning_rate, regularization, name: as in ``Optimizer``.
            beta1: how much of the mean of gradients stays.
            beta2: how much of the mean of their squares stays.
            epsilon: keeps the divisor from 0.
        """
        super().__init__(learning_rate, regularization, name)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _append_update(self, block: Block, parameter: Parameter, gradient: Variable) -> None:
        rate = self._rate(block, parameter)
        moment1 = self._accumulator(parameter, "moment1", parameter.shape)
        moment2 = self._accumulator(parameter, "moment2", parameter.shape)
        power1 = self._accumulator(parameter, "beta1_pow", (1,), self._beta1)
        power2 = self._accumulator(parameter, "beta2_pow", (1,), self._beta2)
        self._append(
            block,
            "adam",
            {
                "Param": parameter,
                "Grad": gradient,
                "LearningRate": rate,
                "Moment1": moment1,
                "Moment2": moment2,
                "Beta1Pow": power1,
                "Beta2Pow": power2,
            },
            {"ParamOut": parameter, "Moment1Out": moment1, "Moment2Out": moment2},
            {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon},
        )
        for power, beta in ((power1, self._beta1), (power2, self._beta2)):
            self._append(block, "scale", {"X": power}, {"Out": power}, {"scale": beta})


SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adam = AdamOptimizer
