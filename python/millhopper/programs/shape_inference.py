# SPDX-License-Identifier: Apache-2.0
"""What is known of an operator's results before it runs: dims, types, levels of offsets.

The core needs none of it: operators look at the values they get. It is for the layers that follow,
which make parameters of the right dims, and for readers and feeding, where declarations count.
Only what nobody has declared is filled in; operators that are not listed leave it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable

if TYPE_CHECKING:
    from millhopper.programs.operator import Operator

_Shape = tuple[int, ...]


class _Inference:
    """An operator with its slots as variables."""

    def __init__(self, op: Operator) -> None:
        self._op = op

    def _find(self, names: list[str]) -> list[Variable]:
        found = (self._op.block.find_var_recursive(name) for name in names)
        return [variable for variable in found if variable is not None]

    def input(self, slot: str) -> Variable | None:
        return next(iter(self._find(self._op.input(slot))), None)

    def outputs(self, slot: str) -> list[Variable]:
        return self._find(self._op.output(slot))

    def attr(self, name: str) -> Any:
        return self._op.attr(name)

    def set(
        self, slot: str, shape: _Shape | None, dtype: VarType | None, lod_level: int = 0
    ) -> None:
        for variable in self.outputs(slot):
            _declare(variable, shape, dtype, lod_level)

    def same(self, output: str, input: str, dtype: VarType | None = None) -> None:
        """The output has dims and levels of the input, and its type unless another is given."""
        x = self.input(input)
        if x is not None:
            self.set(output, x.shape, x.dtype if dtype is None else dtype, x.lod_level)


def _declare(
    variable: Variable, shape: _Shape | None, dtype: VarType | None, lod_level: int
) -> None:
    if variable.shape is None and shape is not None:
        variable.shape = shape
        variable.lod_level = max(variable.lod_level, lod_level)
    if variable.dtype is None and dtype is not None:
        variable.dtype = dtype


def infer_outputs(op: Operator) -> None:
    """Fills in what is known of the variables that an operator writes.

    Raises:
        ValueError: the operator cannot work with what its inputs are declared to be.
    """
    rule = _RULES.get(op.type)
    if rule is not None:
        rule(_Inference(op))
    elif op.type.endswith("_file_reader"):
        _slots_of_attributes(_Inference(op))


def _value_by_value(inference: _Inference) -> None:
    inference.same("Out", "X")


def _comparison(inference: _Inference) -> None:
    inference.same("Out", "X", VarType.BOOL)


def _bool(inference: _Inference) -> None:
    inference.set("Out", (1,), VarType.BOOL)


def _filled(inference: _Inference) -> None:
    dtype = VarType(inference.attr("dtype"))
    inference.set("Out", tuple(inference.attr("shape")), dtype)


def _cast(inference: _Inference) -> None:
    inference.same("Out", "X", VarType(inference.attr("out_dtype")))


def _print(inference: _Inference) -> None:
    inference.same("Out", "In")


def _mean(inference: _Inference) -> None:
    x = inference.input("X")
    inference.set("Out", (1,), x.dtype if x is not None else None)


def _mul(inference: _Inference) -> None:
    x, y = inference.input("X"), inference.input("Y")
    if x is None or y is None or x.shape is None or y.shape is None:
        return
    rows, below = inference.attr("x_num_col_dims"), inference.attr("y_num_col_dims")
    columns, height = x.shape[rows:], y.shape[:below]
    if -1 not in columns and -1 not in height and math.prod(columns) != math.prod(height):
        raise ValueError(
            f"operator 'mul': {x.name} {list(x.shape)} has {math.prod(columns)} columns, but"
            f" {y.name} {list(y.shape)} has {math.prod(height)} rows"
        )
    inference.set("Out", x.shape[:rows] + y.shape[below:], x.dtype, x.lod_level)


def _losses(inference: _Inference, output: str, input: str) -> None:
    x = inference.input(input)
    if x is not None:
        shape = None if x.shape is None else (*x.shape[:-1], 1)
        inference.set(output, shape, x.dtype, x.lod_level)


def _cross_entropy(inference: _Inference) -> None:
    _losses(inference, "Y", "X")


def _softmax_with_cross_entropy(inference: _Inference) -> None:
    inference.same("Softmax", "Logits")
    _losses(inference, "Loss", "Logits")


def _top_k(inference: _Inference) -> None:
    x = inference.input("X")
    if x is not None and x.shape is not None:
        shape = (*x.shape[:-1], inference.attr("k"))
        inference.set("Out", shape, x.dtype, x.lod_level)
        inference.set("Indices", shape, VarType.INT64, x.lod_level)


def _accuracy(inference: _Inference) -> None:
    inference.set("Accuracy", (1,), VarType.FP32)
    inference.set("Correct", (1,), VarType.INT32)
    inference.set("Total", (1,), VarType.INT32)


def _reshape(inference: _Inference) -> None:
    x = inference.input("X")
    if x is None:
        return
    wanted = list(inference.attr("shape"))
    for axis, dim in enumerate(wanted):
        if dim == 0:
            wanted[axis] = x.shape[axis] if x.shape is not None and axis < len(x.shape) else -1
    if wanted.count(-1) == 1 and x.shape is not None and -1 not in x.shape:
        rest = math.prod(dim for dim in wanted if dim != -1)
        if rest and math.prod(x.shape) % rest == 0:
            wanted[wanted.index(-1)] = math.prod(x.shape) // rest
    inference.set("Out", tuple(wanted), x.dtype)


def _read(inference: _Inference) -> None:
    inference.set("HasData", (1,), VarType.BOOL)
    reader = inference.input("Reader")
    if reader is None or reader.shapes is None:
        return
    outputs = inference.outputs("Out")
    if outputs and len(outputs) != len(reader.shapes):
        raise ValueError(
            f"reader {reader.name!r} has {len(reader.shapes)} slots, but {len(outputs)} variables"
            " are to be read"
        )
    dtypes = reader.dtypes or (None,) * len(outputs)
    levels = reader.lod_levels or (0,) * len(outputs)
    for variable, shape, dtype, level in zip(outputs, reader.shapes, dtypes, levels, strict=True):
        _declare(variable, shape, dtype, level)


# ---- Readers ----


def _slots_of_attributes(inference: _Inference) -> None:
    """The slots that shape_concat, ranks, lod_levels and dtypes of a source declare."""
    ranks, dims = inference.attr("ranks"), inference.attr("shape_concat")
    if not ranks or sum(ranks) != len(dims):
        return  # which the core reports
    starts = [sum(ranks[:slot]) for slot in range(len(ranks))]
    shapes = [dims[start : start + rank] for start, rank in zip(starts, ranks, strict=True)]
    levels = inference.attr("lod_levels")
    if levels and len(levels) != len(shapes):
        raise ValueError(
            f"The number of 'lod_levels'({len(levels)}) doesn't match the number of"
            f" 'shapes'({len(shapes)})."
        )
    dtypes = inference.attr("dtypes")
    for reader in inference.outputs("Out"):
        if reader.shapes is None:
            reader.desc.set_shapes(shapes)
            reader.desc.set_lod_levels(levels or [0] * len(shapes))
        if reader.dtypes is None and dtypes:
            reader.desc.set_dtypes(VarType(dtype) for dtype in dtypes)


def _random_data(inference: _Inference) -> None:
    _slots_of_attributes(inference)
    for reader in inference.outputs("Out"):
        if reader.dtypes is None and reader.shapes is not None:
            reader.dtypes = (VarType.FP32,) * len(reader.shapes)


def _decorated(inference: _Inference) -> None:
    below = inference.input("UnderlyingReader")
    for reader in inference.outputs("Out"):
        if below is not None and reader.shapes is None:
            reader.copy_slots(below)


def _batch(inference: _Inference) -> None:
    below = inference.input("UnderlyingReader")
    stacked = inference.attr("mode") == "stack"
    for reader in inference.outputs("Out"):
        if below is not None and reader.shapes is None:
            reader.copy_slots(below)
            reader.shapes = below.shapes and tuple(
                (-1, *shape) if stacked else (-1, *shape[1:]) for shape in below.shapes
            )


def _custom(inference: _Inference) -> None:
    block = inference.attr("sub_block")
    sinks = [block.find_var_recursive(name) for name in inference.attr("sink_var_names")]
    if any(sink is None or sink.shape is None or sink.dtype is None for sink in sinks):
        return
    for reader in inference.outputs("Out"):
        if reader.shapes is None:
            reader.set_slots(
                [sink.shape for sink in sinks],
                [sink.dtype for sink in sinks],
                [sink.lod_level for sink in sinks],
            )


_Rule = Callable[[_Inference], None]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(
        ("relu", "sigmoid", "tanh", "softmax", "scale", "assign", "increment", "sum"),
        _value_by_value,
    ),
    **dict.fromkeys(
        ("elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"),
        _value_by_value,
    ),
    **dict.fromkeys(
        ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"),
        _comparison,
    ),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), _comparison),
    **dict.fromkeys(("has_next", "is_empty"), _bool),
    **dict.fromkeys(("fill_constant", "uniform_random", "gaussian_random"), _filled),
    **dict.fromkeys(
        (
            "create_shuffle_reader",
            "create_multi_pass_reader",
            "create_double_buffer_reader",
            "create_shard_reader",
        ),
        _decorated,
    ),
    "cast": _cast,
    "print": _print,
    "mean": _mean,
    "mul": _mul,
    "cross_entropy": _cross_entropy,
    "softmax_with_cross_entropy": _softmax_with_cross_entropy,
    "top_k": _top_k,
    "accuracy": _accuracy,
    "reshape": _reshape,
    "read": _read,
    "open_files": _slots_of_attributes,
    "create_random_data_generator": _random_data,
    "create_batch_reader": _batch,
    "create_custom_reader": _custom,
}
