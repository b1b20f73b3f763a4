# SPDX-License-Identifier: Apache-2.0
"""layers.ops: a function for every operator, made from its schema."""

from __future__ import annotations

import inspect
import keyword

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import VarType
from millhopper.layers import ops
from millhopper.programs.schemas import operator_types, schema_of

pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.mark.parametrize("type", operator_types())
def test_every_operator_has_one_that_says_what_it_takes(type: str) -> None:
    schema = schema_of(type)
    function = getattr(ops, ops.function_name(type))
    assert function.__name__ in dir(ops)
    assert getattr(layers, function.__name__).__name__ == function.__name__
    text = inspect.getdoc(function)
    assert text is not None
    assert text.startswith(schema.doc)
    parameters = inspect.signature(function).parameters
    for slot in schema.inputs:
        assert slot.doc in text
        argument = parameters[ops.argument_name(slot.name)]
        assert (argument.default is argument.empty) == (not slot.optional)
    for attribute in schema.attributes:
        assert attribute.doc in text
        argument = parameters[attribute.name]
        assert (argument.default is argument.empty) == attribute.required
        assert attribute.required or argument.default == attribute.default
    for slot in schema.outputs:
        assert slot.doc in text
    assert not any(keyword.iskeyword(name) for name in (*parameters, function.__name__))
    with pytest.raises(TypeError, match=f"{type}: "):
        function(no_such_argument=1)


def test_an_operator_is_appended_with_what_is_given() -> None:
    x = layers.data("x", [3])
    y = ops.scale(x, bias=1.0, name="plus")
    assert (y.name, y.shape) == ("plus.tmp_0", (-1, 3))
    (op,) = fluid.default_main_program().global_block().ops
    assert op.all_attrs() == {"bias": 1.0}
    into = layers.create_tensor("float32")
    assert ops.scale(x, 2.0, out=into) is into
    ones = np.ones((1, 3), np.float32)
    found = fluid.Executor().run(feed={"x": ones}, fetch_list=[y, into], scope=fluid.Scope())
    np.testing.assert_array_equal(found, [ones * 2] * 2)


def test_several_outputs_come_as_a_tuple_and_optional_ones_if_given() -> None:
    x = layers.data("x", [3])
    values, indices = ops.top_k(x, k=2)
    assert (values.shape, indices.dtype) == ((-1, 2), VarType.INT64)
    reader = ops.create_random_data_generator(shape_concat=[1, 2], ranks=[2], name="r")
    out, more = layers.create_tensor("float32"), layers.create_tensor("bool")
    assert ops.read(reader, out=[out], has_data=more) == ([out], more)
    assert ops.reset(reader) is None


def test_readers_are_created_in_the_startup_program() -> None:
    reader = ops.create_random_data_generator(
        low=1.0, high=2.0, shape_concat=[1, 2], ranks=[2], name="r"
    )
    batches = ops.create_batch_reader(reader, batch_size=4)
    assert batches.block.program is fluid.default_main_program()
    assert batches.shapes == ((-1, 2),)
    files = ops.open_files(["numbers.recordio"], seed=3, content="bytes")
    assert files.name == "open_files_0"
    assert fluid.default_main_program().global_block().ops == ()
    types = [op.type for op in fluid.default_startup_program().global_block().ops]
    assert types == ["create_random_data_generator", "create_batch_reader", "open_files"]
    with pytest.raises(TypeError, match="create_batch_reader: "):
        ops.create_batch_reader(batches, 2, batch_sizes=3)
    with pytest.raises(ValueError, match="there is a variable 'r' already"):
        ops.create_batch_reader(batches, 2, name="r")
    with pytest.raises(ValueError, match="no attribute 'contents'; did you mean 'content'"):
        ops.open_files(["numbers.recordio"], contents="bytes")
    with pytest.raises(TypeError, match="is no reader"):
        ops.create_batch_reader(layers.data("x", [1]), 2)


def test_gradient_operators_have_arguments_without_signs() -> None:
    names = list(inspect.signature(ops.mul_grad).parameters)
    assert names[:3] == ["x", "y", "out_grad"]
    assert {"x_grad", "y_grad"} <= set(names)


def test_there_is_none_for_what_is_no_operator() -> None:
    for name in ("warp", "mean_", "while"):
        with pytest.raises(AttributeError, match="there is no operator"):
            getattr(ops, name)
    assert ops.while_.__name__ == "while_"


def test_defaults_are_what_people_write() -> None:
    parameters = inspect.signature(ops.adam).parameters
    assert [parameters[name].default for name in ("beta1", "beta2", "epsilon")] == [
        0.9,
        0.999,
        1e-8,
    ]
