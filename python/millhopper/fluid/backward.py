# SPDX-License-Identifier: Apache-2.0
"""append_backward: the operators that compute the gradients of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.operator import Operator
from millhopper.programs.program import BACKWARD_ROLE
from millhopper.programs.schemas import find_schema, schema_of
from millhopper.programs.var_type import is_float
from millhopper.programs.variable import Parameter, Variable

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

__all__ = ["append_backward"]

_GRAD = "@GRAD"
_LOSS_ROLE = 0x100  # of the lineage, beside BACKWARD_ROLE, for the loss's own gradient


def append_backward(
    loss: Variable,
    parameter_list: Iterable[Parameter | str] | None = None,
    no_grad_set: Iterable[Variable | str] | None = None,
) -> list[tuple[Parameter, Variable]]:
    """Appends the operators that compute the gradients of a loss, to the loss's own block.

    What is after the loss in its block, say in the body of a loop, stays before them. The gradient
    of ``x`` is the variable ``x@GRAD``; where several operators read ``x``, the operator ``sum``
    adds up what each contributes.

    Args:
        loss: one floating-point number, [1], such as ``layers.mean`` gives.
        parameter_list: the parameters, or their names; all that are trainable by default.
        no_grad_set: variables, or their names, through which no gradient goes, beside those with
            ``stop_gradient``.

    Returns:
        Each of the parameters that the loss depends on, with its gradient.

    Raises:
        TypeError: the loss is no variable.
        ValueError: the loss is not one number, depends on no parameter, or does so through
            something that has no gradient: an operator without one, a loop or branch, a variable of
            a block around, or one that is written again before its gradient is computed.

    Source: PaddlePaddle's fluid.backward, 2018.
    """
    if not isinstance(loss, Variable):
        raise TypeError(f"the loss is a variable, not {loss!r}")
    if loss.shape not in (None, (1,)) or (loss.dtype is not None and not is_float(loss.dtype)):
        raise ValueError(f"the loss is one floating-point number, such as mean gives; not {loss}")
    program = loss.block.program
    if parameter_list is None:
        parameters = [parameter for parameter in program.all_parameters() if parameter.trainable]
    else:
        parameters = [_parameter(loss.block, item) for item in parameter_list]
    stopped = {_variable(loss.block, item) for item in no_grad_set or ()}
    gradients = _Backward(loss, parameters, stopped).append()
    return [(parameter, gradients[parameter]) for parameter in parameters if parameter in gradients]


def _variable(block: Block, item: Variable | str) -> Variable:
    return block.var_recursive(item if isinstance(item, str) else item.name)


def _parameter(block: Block, item: Parameter | str) -> Parameter:
    variable = _variable(block, item)
    if not isinstance(variable, Parameter):
        raise ValueError(f"{variable!r} is no parameter")
    return variable


def _variables(block: Block, names: Iterable[str]) -> list[Variable]:
    found = (block.find_var_recursive(name) for name in names)
    return [variable for variable in found if variable is not None]


def _written(op: Operator) -> list[Variable]:
    """What an operator writes, the operators of its blocks included."""
    written = _variables(op.block, op.output_arg_names)
    for block in op.blocks:
        for inner in block.ops:
            written += _written(inner)
    return written


class _Backward:
    """The gradients of one loss."""

    def __init__(self, loss: Variable, parameters: list[Parameter], stopped: set[Variable]) -> None:
        self._loss = loss
        self._block = loss.block
        self._stopped = stopped
        self._ops = self._block.ops
        self._depends = self._dependents(parameters)
        self._gradients: dict[Variable, Variable] = {}
        # What operators have contributed so far to the gradient of a variable, and how many will.
        self._parts: dict[Variable, list[Variable]] = {}
        self._expected: dict[Variable, int] = {}

    def append(self) -> dict[Variable, Variable]:
        path = self._path()
        for index, op in path:
            self._check_gradient_exists(op)
            self._check_values_last(index, op)
            for variable in self._receivers(op):
                self._expected[variable] = self._expected.get(variable, 0) + 1
        start = self._new_gradient(self._loss)
        self._append(
            "fill_constant",
            {},
            {"Out": start},
            {"shape": [1], "dtype": self._loss.dtype, "value": 1.0},
            BACKWARD_ROLE | _LOSS_ROLE,
        )
        self._gradients[self._loss] = start
        for _, op in path:
            self._append_gradient_of(op)
        for variable in list(self._parts):
            self._gradient(variable)
        return self._gradients

    # ---- What takes part ----

    def _may_depend(self, variable: Variable) -> bool:
        if variable.stop_gradient or variable in self._stopped:
            return False
        return variable.dtype is None or is_float(variable.dtype)

    def _dependents(self, parameters: list[Parameter]) -> set[Variable]:
        """The parameters, fed variables that want gradients, and all that is computed from them."""
        program = self._block.program
        depends = {parameter for parameter in parameters if self._may_depend(parameter)}
        found: set[Variable] = set(depends)
        found.update(v for v in program.list_vars() if v.is_data and self._may_depend(v))
        size = -1
        while size < len(found):  # again, for loops carry values from step to step
            size = len(found)
            for block in program.blocks:
                for op in block.ops:
                    if not found.isdisjoint(_variables(block, op.input_arg_names)):
                        found.update(
                            v for v in _variables(block, op.output_arg_names) if self._may_depend(v)
                        )
        return found

    def _path(self) -> list[tuple[int, Operator]]:
        """The operators between parameters and loss, from the loss on, with their numbers."""
        needed = {self._loss}
        path: list[tuple[int, Operator]] = []
        is_written = False
        for index in range(len(self._ops) - 1, -1, -1):
            op = self._ops[index]
            given = needed.intersection(_written(op))
            if not given:
                continue
            is_written = True
            if op.blocks:
                names = ", ".join(sorted(variable.name for variable in given))
                raise ValueError(
                    f"loss {self._loss.name!r} depends on {names}, which operator {op.type!r}"
                    " writes in its own block; gradients do not go through it. Put"
                    " append_backward into that block, or set stop_gradient"
                )
            needed -= given
            sources = self._depends.intersection(_variables(self._block, op.input_arg_names))
            if not sources or self._depends.isdisjoint(given):
                continue
            for variable in sources:
                self._check_home(variable)
            needed |= sources
            path.append((index, op))
        if not is_written:
            raise ValueError(
                f"no operator of block {self._block.idx} writes the loss {self._loss.name!r}"
            )
        if not path:
            raise ValueError(
                f"loss {self._loss.name!r} depends on no trainable parameter, so it has no gradient"
            )
        return path

    def _check_home(self, variable: Variable) -> None:
        if variable.block is self._block or isinstance(variable, Parameter) or variable.is_data:
            return
        raise ValueError(
            f"loss {self._loss.name!r} depends on {variable.name!r}, which was computed from"
            f" parameters in block {variable.block.idx}, outside of the loss's block"
            f" {self._block.idx}; gradients do not go there. Compute it in the loss's block, or set"
            " its stop_gradient"
        )

    def _check_gradient_exists(self, op: Operator) -> None:
        if op.type in _SPECIAL:
            return
        schema = find_schema(f"{op.type}_grad")
        if schema is None:
            raise ValueError(
                f"operator {op.type!r}, which writes {', '.join(op.output_arg_names)}, has no"
                f" gradient, but loss {self._loss.name!r} depends on parameters through it; set"
                " stop_gradient of what it reads or writes"
            )
        for name in op.input_names:
            receivers = self._depends.intersection(_variables(self._block, op.input(name)))
            if receivers and schema.output(name + _GRAD) is None:
                raise ValueError(
                    f"operator {op.type!r} has no gradient of its input {name!r}, but loss"
                    f" {self._loss.name!r} depends on parameters through"
                    f" {', '.join(sorted(v.name for v in receivers))}; set stop_gradient there"
                )

    def _check_values_last(self, index: int, op: Operator) -> None:
        """What the gradient operator will read is still what ``op`` has read and written."""
        read = set(_variables(self._block, op.input_arg_names))
        written = set(_variables(self._block, op.output_arg_names))
        for later in range(index, len(self._ops)):
            for variable in _written(self._ops[later]):
                if variable in read or (later > index and variable in written):
                    raise ValueError(
                        f"variable {variable.name!r} is written again by operator"
                        f" {self._ops[later].type!r} (number {later} of block {self._block.idx}),"
                        f" so the gradient of {op.type!r} (number {index}) cannot be computed"
                        " after it; let it write another variable, or stand after the gradients"
                    )

    def _receivers(self, op: Operator) -> list[Variable]:
        """The inputs of an operator that get a gradient of it, one for each time they occur."""
        return [v for v in _variables(self._block, op.input_arg_names) if v in self._depends]

    # ---- What is appended ----

    def _append(
        self,
        type: str,
        inputs: dict[str, Variable | list[Variable]],
        outputs: dict[str, Variable | list[Variable]],
        attrs: dict[str, object] | None = None,
        role: int = BACKWARD_ROLE,
    ) -> None:
        self._block.append_op(type, inputs, outputs, {**(attrs or {}), "op_role": role})

    def _new_gradient(self, variable: Variable, suffix: str = "") -> Variable:
        name = variable.grad_name + suffix
        if self._block.has_var(name):  # of another loss
            name = unique_name.generate(name)
        return self._block.create_var(
            name,
            shape=variable.shape,
            dtype=variable.dtype,
            lod_level=variable.lod_level,
            stop_gradient=True,
        )

    def _new_part(self, variable: Variable) -> Variable:
        """Takes what one operator contributes to the gradient of a variable."""
        parts = self._parts.setdefault(variable, [])
        suffix = f"@RENAME@{len(parts)}" if self._expected[variable] > 1 else ""
        parts.append(self._new_gradient(variable, suffix))
        return parts[-1]

    def _gradient(self, variable: Variable) -> Variable | None:
        """The gradient of a variable, once all its parts have been computed; None without any."""
        if variable not in self._gradients:
            parts = self._parts.get(variable)
            if not parts:
                return None
            if len(parts) == 1:
                self._gradients[variable] = parts[0]
            else:
                total = self._new_gradient(variable)
                self._append("sum", {"X": parts}, {"Out": total})
                self._gradients[variable] = total
        return self._gradients[variable]

    def _required_gradient(self, variable: Variable) -> Variable:
        """The gradient of a variable that an operator must have; 0 if nothing depends on it."""
        gradient = self._gradient(variable)
        if gradient is None:
            gradient = self._new_gradient(variable)
            self._append("scale", {"X": variable}, {"Out": gradient}, {"scale": 0.0})
            self._gradients[variable] = gradient
        return gradient

    def _append_gradient_of(self, op: Operator) -> None:
        special = _SPECIAL.get(op.type)
        if special is not None:
            special(self, op)
        else:
            self._append_gradient_operator(op)

    def _append_gradient_operator(self, op: Operator) -> None:
        """The operator ``<type>_grad``; its inputs are those of ``<type>`` and their gradients."""
        type = f"{op.type}_grad"
        schema = schema_of(type)
        inputs: dict[str, Variable | list[Variable]] = {}
        for argument in schema.inputs:
            forward = _variables(
                self._block, op.input(argument.name) + op.output(argument.name.removesuffix(_GRAD))
            )
            if argument.name.endswith(_GRAD):
                if argument.optional:
                    known = (self._gradient(variable) for variable in forward)
                    forward = [gradient for gradient in known if gradient is not None]
                else:
                    forward = [self._required_gradient(variable) for variable in forward]
            elif argument.optional:
                continue  # it is not read
            if forward:
                inputs[argument.name] = forward
        outputs: dict[str, Variable | list[Variable]] = {}
        for name in op.input_names:
            receivers = [
                variable
                for variable in _variables(self._block, op.input(name))
                if variable in self._depends
            ]
            if receivers:
                outputs[name + _GRAD] = [self._new_part(variable) for variable in receivers]
        attrs = {
            name: value
            for name, value in op.all_attrs().items()
            if schema.attribute(name) is not None
        }
        self._append(type, inputs, outputs, attrs)

    def _append_copies(self, op: Operator) -> None:
        """Each input gets the gradient of the output as it is."""
        self._append_to_each(op, "assign", {})

    def _append_scaled(self, op: Operator) -> None:
        self._append_to_each(op, "scale", {"scale": op.attr("scale")})

    def _append_cast(self, op: Operator) -> None:
        (x,) = _variables(self._block, op.input("X"))
        declared = op.attr("in_dtype")
        of_x = x.dtype if declared == -1 else declared
        attrs = {"in_dtype": op.attr("out_dtype"), "out_dtype": of_x}
        self._append_to_each(op, "cast", attrs)

    def _append_to_each(self, op: Operator, type: str, attrs: dict[str, object]) -> None:
        (out,) = _variables(self._block, op.output("Out"))
        gradient = self._required_gradient(out)
        for variable in self._receivers(op):
            self._append(type, {"X": gradient}, {"Out": self._new_part(variable)}, attrs)


_Maker: TypeAlias = Callable[[_Backward, Operator], None]
# Operators whose gradients are made of others.
_SPECIAL: dict[str, _Maker] = {
    "assign": _Backward._append_copies,
    "cast": _Backward._append_cast,
    "increment": _Backward._append_copies,
    "print": _Backward._append_copies,
    "scale": _Backward._append_scaled,
    "sum": _Backward._append_copies,
}
