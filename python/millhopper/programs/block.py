# SPDX-License-Identifier: Apache-2.0
"""Blocks of programs: variables, and operators that run in order."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from millhopper.programs import unique_name
from millhopper.programs.inference import infer_outputs
from millhopper.programs.operator import Arguments, Operator, checked_operator
from millhopper.programs.var_type import VarType, convert_dtype
from millhopper.programs.variable import Initializer, Parameter, Variable

if TYPE_CHECKING:
    from millhopper.programs.program import Program


_AnyVariable = TypeVar("_AnyVariable", bound=Variable)


class Block:
    """Variables and operators of a program. ``Program.create_block`` makes them.

    Names that a block does not declare are those of the block around it.

    Attributes:
        program: whose block it is.
        idx: its number in the program; 0 is the global block.
        parent_idx: the number of the block around it; -1 for the global block.
        forward_block_idx: as a program of the lineage says it; -1 otherwise.

    Source: PaddlePaddle's fluid.framework, 2018.
    """

    def __init__(self, program: Program, idx: int, parent_idx: int) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.forward_block_idx = -1
        self._vars: dict[str, Variable] = {}
        self._ops: list[Operator] = []

    # ---- Variables ----

    @property
    def vars(self) -> Mapping[str, Variable]:
        """The variables that this block declares, by name."""
        return MappingProxyType(self._vars)

    @property
    def parent_block(self) -> Block | None:
        """The block around this one; None for the global block."""
        return None if self.parent_idx < 0 else self.program.block(self.parent_idx)

    def has_var(self, name: str) -> bool:
        """Whether this block declares a variable of this name."""
        return name in self._vars

    def var(self, name: str) -> Variable:
        """The variable of this name that this block declares.

        Raises:
            TypeError: the name is no text.
            ValueError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"a variable's name is a text, not {name!r}")
        if name not in self._vars:
            raise ValueError(f"var {name} not in this block")
        return self._vars[name]

    def find_var_recursive(self, name: str) -> Variable | None:
        """The variable that this name means here: of this block, or the nearest around it."""
        block: Block | None = self
        while block is not None:
            if name in block._vars:
                return block._vars[name]
            block = block.parent_block
        return None

    def var_recursive(self, name: str) -> Variable:
        """The variable that this name means here.

        Raises:
            ValueError: neither this block nor one around it declares it.
        """
        found = self.find_var_recursive(name)
        if found is None:
            raise ValueError(f"var {name} is not in block {self.idx}, nor in one around it")
        return found

    def create_var(
        self,
        name: str | None = None,
        *,
        shape: Iterable[int] | None = None,
        dtype: Any = None,
        lod_level: int | None = None,
        persistable: bool | None = None,
        stop_gradient: bool = False,
        type: VarType = VarType.LOD_TENSOR,
        is_data: bool = False,
    ) -> Variable:
        """Declares a variable, or returns the one of this name if it is declared the same.

        Args:
            name: by default one that no other has.
            shape: dims, -1 where the run decides; None if they are not known.
            dtype: type of its values, as ``convert_dtype`` takes it; None if it is not known.
            lod_level: levels of offsets.
            persistable: whether it outlives one run of the program.
            stop_gradient: whether gradients end at it.
            type: the kind of variable.
            is_data: whether the caller feeds it.

        Raises:
            ValueError: a variable of this name is declared otherwise.
        """
        if name is None:
            name = unique_name.generate("_generated_var")
        elif name in self._vars:
            known = self._vars[name]
            wanted = {
                "shape": None if shape is None else tuple(operator.index(dim) for dim in shape),
                "dtype": None if dtype is None else convert_dtype(dtype),
                "lod_level": lod_level,
                "persistable": persistable,
                "type": type,
            }
            for key, value in wanted.items():
                if value is not None and getattr(known, key) not in (None, value):
                    raise ValueError(
                        f"variable {name!r} has been declared already, with {key}"
                        f" {getattr(known, key)}, not {value}"
                    )
            return known
        variable = Variable(
            self,
            name,
            type=VarType(type),
            shape=shape,
            dtype=dtype,
            lod_level=lod_level or 0,
            persistable=bool(persistable),
            stop_gradient=stop_gradient,
            is_data=is_data,
        )
        return self.add_var(variable)

    def create_parameter(
        self,
        *,
        name: str,
        shape: Iterable[int],
        dtype: Any,
        lod_level: int = 0,
        initializer: Initializer | None = None,
        trainable: bool = True,
        optimize_attr: Mapping[str, float] | None = None,
    ) -> Parameter:
        """Declares a parameter in the global block, and fills it in this one if told how.

        Args:
            name: of the parameter.
            shape: dims, all known.
            dtype: type of its values.
            lod_level: levels of offsets.
            initializer: appends the operator that fills it, to this block.
            trainable: whether optimizers change it.
            optimize_attr: ``{"learning_rate": factor}``, by which its learning rate is multiplied.

        Raises:
            ValueError: the name is taken, or a dim is not known.
        """
        home = self.program.global_block()
        if name in home._vars:
            raise ValueError(f"there is a variable {name!r} already")
        parameter = Parameter(
            home,
            name,
            shape=shape,
            dtype=dtype,
            lod_level=lod_level,
            trainable=trainable,
            optimize_attr=optimize_attr,
            initializer=initializer,
        )
        home.add_var(parameter)
        if initializer is not None:
            initializer(parameter, self)
        return parameter

    def add_var(self, variable: _AnyVariable) -> _AnyVariable:
        """Declares a variable that was made for this block, and returns it."""
        self._vars[variable.name] = variable
        self.program.note_change()
        return variable

    def remove_var(self, name: str) -> None:
        """Takes back the declaration of a variable that no operator uses."""
        del self._vars[name]
        self.program.note_change()

    def iter_parameters(self) -> Iterator[Parameter]:
        """The parameters that this block declares, in order."""
        return (var for var in self._vars.values() if isinstance(var, Parameter))

    def all_parameters(self) -> list[Parameter]:
        """The parameters that this block declares, in order."""
        return list(self.iter_parameters())

    # ---- Operators ----

    @property
    def ops(self) -> tuple[Operator, ...]:
        """The operators, in the order in which they run."""
        return tuple(self._ops)

    def append_op(
        self,
        type: str,
        inputs: Arguments | None = None,
        outputs: Arguments | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Appends an operator.

        Args:
            type: of the operator; ``millhopper.layers.ops`` describes each.
            inputs: by name a variable or a list of variables, or their names.
            outputs: the same; what is known of the results is written into their declarations.
            attrs: values of attributes; None leaves one at its default.

        Raises:
            ValueError: there is no such operator, input, output or attribute, or one that is needed
                is missing, or has a value that it cannot have.
            TypeError: an argument is no variable of the right kind, or an attribute is of another
                type.
        """
        return self.insert_op(len(self._ops), type, inputs, outputs, attrs)

    def prepend_op(
        self,
        type: str,
        inputs: Arguments | None = None,
        outputs: Arguments | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Puts an operator before all others; as ``append_op`` otherwise."""
        return self.insert_op(0, type, inputs, outputs, attrs)

    def insert_op(
        self,
        index: int,
        type: str,
        inputs: Arguments | None = None,
        outputs: Arguments | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Puts an operator before the one of this number; as ``append_op`` otherwise."""
        scope = self.program.current_name_scope
        if scope:
            attrs = {**(attrs or {}), "op_namescope": scope}
        op = checked_operator(self, type, inputs, outputs, attrs)
        infer_outputs(op)
        self._ops.insert(index, op)
        self.program.note_change()
        return op

    def remove_op(self, index: int) -> None:
        """Removes the operator of this number."""
        del self._ops[index]
        self.program.note_change()

    def add_op(self, op: Operator) -> None:
        """Appends an operator that was made for this block, unchecked."""
        self._ops.append(op)
        self.program.note_change()

    # ---- As text ----

    def to_dict(self) -> dict[str, Any]:
        """The message BlockDesc, in protobuf's JSON mapping."""
        message: dict[str, Any] = {
            "idx": self.idx,
            "parent_idx": self.parent_idx,
            "vars": [variable.to_dict() for variable in self._vars.values()],
            "ops": [op.to_dict() for op in self._ops],
        }
        if self.forward_block_idx != -1:
            message["forward_block_idx"] = self.forward_block_idx
        return message

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Variables and operators, one a line. The arguments are the lineage's, without effect."""
        return str(self)

    def __str__(self) -> str:
        lines = [f"block {self.idx}, in block {self.parent_idx}:"]
        lines += [f"  {variable}" for variable in self._vars.values()]
        lines += [f"  {op}" for op in self._ops]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Block {self.idx}: {len(self._vars)} variables, {len(self._ops)} operators>"
