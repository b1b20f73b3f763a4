# SPDX-License-Identifier: Apache-2.0
"""Variables of programs: declarations, without values."""

from __future__ import annotations

import abc
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millhopper.base.zipped import zip_strict
from millhopper.programs.arithmetic import Arithmetic
from millhopper.programs.scope import global_scope
from millhopper.programs.var_type import VarType, convert_dtype, dtype_name

if TYPE_CHECKING:
    from millhopper.programs.block import Block
    from millhopper.programs.operator import Operator

# The member of VarType in framework.proto that describes the tensors of a kind of variable.
_TENSOR_MEMBERS = {
    VarType.LOD_TENSOR: "lod_tensor",
    VarType.LOD_TENSOR_ARRAY: "tensor_array",
}


def grad_var_name(name: str) -> str:
    """What ``append_backward`` calls the gradient of the variable of this name.

    Raises nothing.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    return f"{name}@GRAD"


class Variable(Arithmetic):
    """A variable of a block, as ``Block.create_var`` makes it.

    Attributes:
        name: what operators call it.
        block: the block that declares it.
        type: the kind of variable: ``VarType.LOD_TENSOR``, ``VarType.READER`` ...
        shape: the dims of its tensor, -1 where the run decides; None if nothing is known.
        dtype: the type of its values, or None.
        lod_level: how many levels of offsets cut its first axis into sequences.
        persistable: outlives one run: parameters and readers.
        stop_gradient: no gradient goes through it.
        is_data: the caller feeds it (``layers.data``).
        shapes, dtypes, lod_levels: of a reader: what each slot holds, in order; None if not known.

    ``+ - * /`` and comparisons with variables and numbers append operators.

    Source: PaddlePaddle's fluid.framework, 2018.
    """

    def __init__(
        self,
        block: Block,
        name: str,
        *,
        type: VarType = VarType.LOD_TENSOR,
        shape: Iterable[int] | None = None,
        dtype: Any = None,
        lod_level: int = 0,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
    ) -> None:
        self.block = block
        self.name = name
        self.type = type
        self.shape = None if shape is None else tuple(operator.index(dim) for dim in shape)
        self.dtype = None if dtype is None else convert_dtype(dtype)
        self.lod_level = lod_level
        self.persistable = persistable
        self.stop_gradient = stop_gradient
        self.is_data = is_data
        self.shapes: tuple[tuple[int, ...], ...] | None = None
        self.dtypes: tuple[VarType, ...] | None = None
        self.lod_levels: tuple[int, ...] | None = None
        # What a parsed program says beyond that, kept unchanged.
        self._other_type: dict[str, Any] = {}

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        self.block.program.note_change()

    @property
    def desc(self) -> VariableDesc:
        """The declaration, as the lineage's C++ class shows it: ``set_shapes``, ``dtypes`` ..."""
        return VariableDesc(self)

    @property
    def grad_name(self) -> str:
        """What ``append_backward`` calls the gradient of this variable."""
        return grad_var_name(self.name)

    def set_slots(
        self,
        shapes: Sequence[Sequence[int]],
        dtypes: Sequence[Any],
        lod_levels: Sequence[int] | None = None,
    ) -> None:
        """Declares what the slots of a reader hold.

        Args:
            shapes: dims of one element of each slot, the leading axis included; -1 is any.
            dtypes: types of their values.
            lod_levels: levels of offsets; none by default.

        Raises:
            ValueError: the lists do not have one item each for every slot.
        """
        levels = [0] * len(shapes) if lod_levels is None else lod_levels
        if not len(shapes) == len(dtypes) == len(levels):
            raise ValueError(
                f"reader {self.name!r}: {len(shapes)} shapes, {len(dtypes)} dtypes and"
                f" {len(levels)} lod_levels; each slot has one of each"
            )
        self.desc.set_shapes(shapes)
        self.desc.set_dtypes(dtypes)
        self.desc.set_lod_levels(levels)

    def copy_slots(self, reader: Variable) -> None:
        """Declares the slots of another reader, as far as they are known."""
        self.shapes, self.dtypes = reader.shapes, reader.dtypes
        self.lod_levels = reader.lod_levels

    def reset(self) -> None:
        """Begins the next pass of this reader and of those that stand on it, wherever they are.

        While the block of a ``While``, ``IfElse`` ... is being written, it appends the operator
        (``layers.reset``). Elsewhere it resets the reader at once, in ``global_scope()``, as in the
        lineage: what a loop over ``Executor.run`` does at the end of a pass.

        Raises:
            TypeError: the variable is no reader.
            RuntimeError: there is no such reader in the global scope; no startup program that
                creates it has been run.
        """
        check_reader(self)
        block = self.block.program.current_block()
        if block.idx != 0:
            block.append_op("reset", inputs={"Reader": self})
        else:
            self._begin_next_pass()

    def _begin_next_pass(self) -> None:
        """What ``reset`` does outside of such a block."""
        variable = global_scope().find_var(self.name)
        if variable is None or not variable.is_initialized():
            raise RuntimeError(
                f"reader {self.name!r} is not in the global scope: run its startup program first."
                " (layers.reset appends an operator to the program.)"
            )
        variable.get_reader().reset()

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """The declaration in one line. The arguments are the lineage's and change nothing."""
        return str(self)

    def __str__(self) -> str:
        about = self.type.name
        if self.type is VarType.READER and self.shapes is not None and self.dtypes is not None:
            about += " of " + ", ".join(
                f"{dtype_name(dtype)} {list(shape)}"
                for shape, dtype in zip(self.shapes, self.dtypes)
            )
        if self.dtype is not None and self.shape is not None:
            about += f" {dtype_name(self.dtype)} {list(self.shape)}"
        if self.persistable:
            about += ", persistable"
        return f"{self.name}: {about}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def to_dict(self) -> dict[str, Any]:
        """The message VarDesc, in protobuf's JSON mapping."""
        described: dict[str, Any] = {"type": int(self.type), **self._other_type}
        if self.type in _TENSOR_MEMBERS and self.dtype is not None and self.shape is not None:
            described[_TENSOR_MEMBERS[self.type]] = _tensor(self.shape, self.dtype, self.lod_level)
        if self.type is VarType.READER and self.shapes and self.dtypes:
            levels = self.lod_levels or (0,) * len(self.shapes)
            described["reader"] = {
                "lod_tensor": [
                    _tensor(shape, dtype, level)
                    for shape, dtype, level in zip_strict(self.shapes, self.dtypes, levels)
                ]
            }
        message: dict[str, Any] = {"name": self.name, "type": described}
        if self.persistable:
            message["persistable"] = True
        if isinstance(self, Parameter):
            message["is_parameter"] = True
        if self.stop_gradient:
            message["stop_gradient"] = True
        return message


class Initializer(abc.ABC):
    """Appends the operator that fills a variable.

    Source: PaddlePaddle's fluid.initializer, 2018.
    """

    @abc.abstractmethod
    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends the operator to a block, mostly the startup program's."""


class Parameter(Variable):
    """A persistable variable that training changes.

    Attributes:
        trainable: whether optimizers change it.
        optimize_attr: ``{"learning_rate": factor}``, by which its learning rate is multiplied.
        initializer: what the startup program fills it with, or None.

    Source: PaddlePaddle's fluid.framework, 2018.
    """

    def __init__(
        self,
        block: Block,
        name: str,
        *,
        shape: Iterable[int],
        dtype: Any,
        lod_level: int = 0,
        trainable: bool = True,
        optimize_attr: Mapping[str, float] | None = None,
        initializer: Initializer | None = None,
    ) -> None:
        super().__init__(
            block, name, shape=shape, dtype=dtype, lod_level=lod_level, persistable=True
        )
        assert self.shape is not None
        if not self.shape or any(dim < 1 for dim in self.shape):
            raise ValueError(
                f"parameter {name!r} cannot have the dims {list(self.shape)}; each must be >= 1"
            )
        self.trainable = trainable
        self.optimize_attr = {"learning_rate": 1.0, **(optimize_attr or {})}
        self.initializer = initializer


class VariableDesc:
    """The declaration of a variable with the names of the lineage's C++ class.

    It shows the variable that it was taken from, and changes it.
    """

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def name(self) -> str:
        """The variable's name."""
        return self._variable.name

    def type(self) -> VarType:
        """The kind of variable."""
        return self._variable.type

    def set_type(self, type: VarType) -> None:
        """Declares the kind of variable."""
        self._variable.type = VarType(type)

    def persistable(self) -> bool:
        """Whether it outlives one run."""
        return self._variable.persistable

    def set_persistable(self, persistable: bool) -> None:
        """Declares whether it outlives one run."""
        self._variable.persistable = bool(persistable)

    def stop_gradient(self) -> bool:
        """Whether gradients end at it."""
        return self._variable.stop_gradient

    def set_stop_gradient(self, stop_gradient: bool) -> None:
        """Declares whether gradients end at it."""
        self._variable.stop_gradient = bool(stop_gradient)

    def shape(self) -> list[int]:
        """The dims of a tensor; empty if they are not known."""
        return list(self._variable.shape or ())

    def set_shape(self, shape: Iterable[int]) -> None:
        """Declares the dims of a tensor."""
        self._variable.shape = tuple(operator.index(dim) for dim in shape)

    def dtype(self) -> VarType | None:
        """The type of a tensor's values."""
        return self._variable.dtype

    def set_dtype(self, dtype: Any) -> None:
        """Declares the type of a tensor's values."""
        self._variable.dtype = convert_dtype(dtype)

    def lod_level(self) -> int:
        """A tensor's levels of offsets."""
        return self._variable.lod_level

    def set_lod_level(self, lod_level: int) -> None:
        """Declares a tensor's levels of offsets."""
        self._variable.lod_level = operator.index(lod_level)

    def shapes(self) -> list[list[int]]:
        """The dims of a reader's slots; empty if they are not known."""
        return [list(shape) for shape in self._variable.shapes or ()]

    def set_shapes(self, shapes: Iterable[Iterable[int]]) -> None:
        """Declares the dims of a reader's slots."""
        self._of_reader()
        self._variable.shapes = tuple(tuple(map(operator.index, shape)) for shape in shapes)

    def dtypes(self) -> list[VarType]:
        """The types of the values of a reader's slots; empty if they are not known."""
        return list(self._variable.dtypes or ())

    def set_dtypes(self, dtypes: Iterable[Any]) -> None:
        """Declares the types of the values of a reader's slots."""
        self._of_reader()
        self._variable.dtypes = tuple(convert_dtype(dtype) for dtype in dtypes)

    def lod_levels(self) -> list[int]:
        """The levels of offsets of a reader's slots; empty if they are not known."""
        return list(self._variable.lod_levels or ())

    def set_lod_levels(self, lod_levels: Iterable[int]) -> None:
        """Declares the levels of offsets of a reader's slots."""
        self._of_reader()
        self._variable.lod_levels = tuple(operator.index(level) for level in lod_levels)

    def _of_reader(self) -> None:
        if self._variable.type is not VarType.READER:
            raise TypeError(f"variable {self._variable.name!r} is no reader, so it has no slots")


def _tensor(shape: Iterable[int], dtype: VarType, lod_level: int) -> dict[str, Any]:
    message: dict[str, Any] = {"tensor": {"data_type": int(dtype), "dims": list(shape)}}
    if lod_level:
        message["lod_level"] = lod_level
    return message


def variable_from_dict(block: Block, message: Mapping[str, Any]) -> Variable:
    """The variable of a message VarDesc, in protobuf's JSON mapping."""
    described = dict(message["type"])
    kind = _number(described.pop("type"))
    tensor: dict[str, Any] = {}
    if kind in _TENSOR_MEMBERS:
        tensor = described.pop(_TENSOR_MEMBERS[kind], {})
    shape = [int(dim) for dim in tensor["tensor"].get("dims", [])] if tensor else None
    dtype = _number(tensor["tensor"]["data_type"]) if tensor else None
    level = int(tensor.get("lod_level", 0))
    variable: Variable
    if message.get("is_parameter") and shape is not None:
        variable = Parameter(block, message["name"], shape=shape, dtype=dtype, lod_level=level)
    else:
        variable = Variable(
            block, message["name"], type=kind, shape=shape, dtype=dtype, lod_level=level
        )
    variable.persistable = bool(message.get("persistable", False))
    variable.stop_gradient = bool(message.get("stop_gradient", False))
    slots = described.pop("reader", {}).get("lod_tensor", [])
    if slots:
        variable.set_slots(
            [[int(dim) for dim in slot["tensor"].get("dims", [])] for slot in slots],
            [_number(slot["tensor"]["data_type"]) for slot in slots],
            [int(slot.get("lod_level", 0)) for slot in slots],
        )
    variable._other_type = described
    return variable


def _number(name: str | int) -> VarType:
    """An enum's value as the core's JSON writes it."""
    return VarType[name] if isinstance(name, str) else VarType(name)


def check_reader(reader: object) -> Variable:
    """The reader that the argument is.

    Raises:
        TypeError: it is no reader.
    """
    if not isinstance(reader, Variable) or reader.type is not VarType.READER:
        raise TypeError(f"{reader!r} is no reader")
    return reader
