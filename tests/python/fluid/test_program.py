# SPDX-License-Identifier: Apache-2.0
"""Program, Block, Operator, Variable: contents, refusals, copies and messages."""

from __future__ import annotations

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import Program, VarType, convert_dtype

FLOAT = VarType.FP32


pytestmark = pytest.mark.usefixtures("fresh_programs")


def small() -> Program:
    """y = mul(x, w) in a new program."""
    program = Program()
    block = program.global_block()
    x = block.create_var(name="x", shape=[-1, 3], dtype="float32")
    w = block.create_var(name="w", shape=[3, 2], dtype="float32", persistable=True)
    y = block.create_var(name="y")
    block.append_op(type="mul", inputs={"X": [x], "Y": w}, outputs={"Out": "y"})
    assert y.shape == (-1, 2)
    return program


# ---- Blocks ----


def test_blocks_are_created_within_the_current_one() -> None:
    program = Program()
    assert (program.current_block().idx, program.current_block().parent_idx) == (0, -1)
    assert program.create_block().parent_idx == 0
    inner = program.create_block()
    assert (inner.idx, inner.parent_idx) == (2, 1)
    program.rollback()
    assert program.current_block().idx == 1
    assert program.create_block().parent_idx == 1
    assert program.num_blocks == 4
    assert program.block(3).parent_block is program.block(1)


def test_there_is_nothing_around_the_global_block() -> None:
    with pytest.raises(RuntimeError, match="none around it"):
        Program().rollback()


def test_names_mean_the_nearest_variable_around() -> None:
    program = small()
    inner = program.create_block()
    assert inner.find_var_recursive("x") is program.global_block().var("x")
    own = inner.create_var(name="x")
    assert inner.var_recursive("x") is own
    assert not inner.has_var("w")
    with pytest.raises(ValueError, match="var z is not in block 1"):
        inner.var_recursive("z")


# ---- Variables ----


def test_var_refuses_what_is_not_there() -> None:
    block = Program().global_block()
    with pytest.raises(ValueError, match="var image not in this block"):
        block.var("image")
    with pytest.raises(TypeError):
        block.var(3)  # type: ignore[arg-type]


def test_a_variable_declared_again_is_the_same_or_refused() -> None:
    block = Program().global_block()
    w = block.create_var(name="w", shape=[784, 100], dtype="float64")
    assert block.create_var(name="w") is w
    assert block.create_var(name="w", shape=(784, 100), dtype=np.float64) is w
    for other in ({"shape": [24, 100]}, {"dtype": "float32"}, {"type": VarType.READER}):
        with pytest.raises(ValueError, match="declared already"):
            block.create_var(name="w", **other)


def test_dtypes_are_what_numpy_means() -> None:
    for dtype in ("float32", np.float32, np.dtype("float32"), FLOAT):
        assert convert_dtype(dtype) is FLOAT
    assert convert_dtype(float) is VarType.FP64
    assert convert_dtype("bfloat16") is VarType.BF16
    assert np.zeros(2, VarType.UINT8).dtype == np.uint8
    for dtype in ("float31", "complex64", VarType.READER, None.__class__):
        with pytest.raises(ValueError):
            convert_dtype(dtype)
    with pytest.raises(TypeError):
        np.zeros(2, VarType.BF16)


def test_slots_belong_to_readers() -> None:
    block = Program().global_block()
    with pytest.raises(TypeError, match="is no reader"):
        block.create_var(name="x").desc.set_shapes([[1]])
    reader = block.create_var(name="r", type=VarType.READER)
    with pytest.raises(ValueError, match="2 shapes, 1 dtypes"):
        reader.set_slots([[1], [1]], ["uint8"])
    reader.set_slots([[1, 4], [1]], ["uint8", "int64"])
    assert reader.desc.shapes() == [[1, 4], [1]]
    assert reader.desc.dtypes() == [VarType.UINT8, VarType.INT64]
    assert reader.desc.lod_levels() == [0, 0]


# ---- Operators ----


def test_an_operator_shows_slots_and_attributes() -> None:
    op = small().global_block().ops[0]
    assert op.type == "mul"
    assert (op.input("X"), op.input("Y"), op.output("Out")) == (["x"], ["w"], ["y"])
    assert op.input("Z") == []
    op.set_attr("x_num_col_dims", 1)
    assert op.all_attrs() == {"x_num_col_dims": 1}
    assert op.attr_type("x_num_col_dims") == fluid.core.AttrType.INT


def test_an_attribute_that_is_not_given_has_its_default() -> None:
    op = small().global_block().ops[0]
    assert not op.has_attr("y_num_col_dims")
    assert op.attr("y_num_col_dims") == 1
    with pytest.raises(KeyError):
        op.attr("z_num_col_dims")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"type": "mull"}, ValueError, "has not been registered; did you mean 'mul'"),
        ({"inputs": {"X": "x"}}, ValueError, "input 'Y' is missing"),
        ({"inputs": {"X": "x", "Y": "w", "Z": "x"}}, ValueError, "has no input 'Z'"),
        ({"inputs": {"X": ["x", "x"], "Y": "w"}}, ValueError, "'X' takes one variable, not 2"),
        ({"inputs": {"X": 3.5, "Y": "w"}}, TypeError, ""),
        ({"inputs": {"X": [3.5], "Y": "w"}}, TypeError, "variables or their names, not 3.5"),
        ({"attrs": {"x_num_cols": 1}}, ValueError, "did you mean 'x_num_col_dims'"),
        ({"attrs": {"x_num_col_dims": "1"}}, TypeError, "'x_num_col_dims' is of type INT, not '1'"),
        ({"attrs": {"x_num_col_dims": True}}, TypeError, "is of type INT, not True"),
        ({"attrs": {"x_num_col_dims": 0}}, ValueError, "must be at least 1"),
        ({"attrs": {"x_num_col_dims": 2**31}}, ValueError, "2147483648; its values are"),
    ],
)
def test_an_operator_that_cannot_be_is_refused(
    change: dict[str, object], error: type[Exception], words: str
) -> None:
    block = small().global_block()
    arguments = {"type": "mul", "inputs": {"X": "x", "Y": "w"}, "outputs": {"Out": "y"}, **change}
    with pytest.raises(error, match=words):
        block.append_op(**arguments)  # type: ignore[arg-type]
    assert len(block.ops) == 1


def test_required_attributes_and_words_are_checked() -> None:
    block = Program().global_block()
    reader = block.create_var(name="r", type=VarType.READER)
    slots = {"inputs": {"UnderlyingReader": reader}, "outputs": {"Out": reader}}
    with pytest.raises(ValueError, match="attribute 'batch_size' is required!"):
        block.append_op("create_batch_reader", **slots)  # type: ignore[arg-type]
    attrs = {"batch_size": 2, "mode": "pile"}
    with pytest.raises(ValueError, match="must be one of"):
        block.append_op("create_batch_reader", attrs=attrs, **slots)  # type: ignore[arg-type]


def test_text_that_is_not_utf8_is_refused() -> None:
    block = Program().global_block()
    with pytest.raises(ValueError, match="'file_path'.*surrogates not allowed"):
        block.append_op("load", outputs={"Out": "x"}, attrs={"file_path": "caf\udce9"})


def test_readers_and_tensors_are_told_apart() -> None:
    block = Program().global_block()
    reader = block.create_var(name="r", type=VarType.READER)
    tensor = block.create_var(name="t")
    with pytest.raises(TypeError, match="takes a reader, but 't' is a LOD_TENSOR"):
        block.append_op("has_next", inputs={"Reader": tensor}, outputs={"Out": tensor})
    with pytest.raises(TypeError, match="takes a tensor, but 'r' is a READER"):
        block.append_op("mean", inputs={"X": reader}, outputs={"Out": tensor})


def test_prepended_operators_run_first() -> None:
    block = small().global_block()
    block.prepend_op("fill_constant", outputs={"Out": "x"}, attrs={"shape": [1, 3], "value": 1.0})
    assert [op.type for op in block.ops] == ["fill_constant", "mul"]
    block.remove_op(0)
    assert [op.type for op in block.ops] == ["mul"]


def test_dims_that_cannot_be_multiplied_are_refused() -> None:
    block = small().global_block()
    with pytest.raises(ValueError, match="3 columns.* 5 rows"):
        block.create_var(name="v", shape=[5, 2], dtype="float32")
        block.append_op("mul", inputs={"X": "x", "Y": "v"}, outputs={"Out": "y"})


# ---- Messages ----


def everything() -> Program:
    """A program with all that messages can hold: sub-blocks, readers, all kinds of attributes."""
    main, startup = Program(), Program()
    with fluid.program_guard(main, startup):
        reader = layers.random_data_generator(0.0, 1.0, [[1, 3], [1, 1]], seed=2**40, count=5)
        preprocessor = layers.Preprocessor(reader)
        with preprocessor.block():
            x, y = preprocessor.inputs()
            preprocessor.outputs(x / 2, y)
        layers.batch(preprocessor(), 2, discard_leftover=True)
        layers.create_parameter([3, 2], "float32", name="w")
        layers.data("words", [1], dtype="int64", lod_level=2)
    startup.global_block().create_var(name="steps", type=VarType.STEP_SCOPES)
    startup.global_block().append_op(
        "fill_constant", outputs={"Out": "w"}, attrs={"shape": [3, 2], "value": float("-inf")}
    )
    return startup


@pytest.mark.parametrize("form", ["text", "bytes", "desc"])
def test_a_program_survives_being_written_and_parsed(form: str) -> None:
    program = everything()
    content: str | bytes
    if form == "text":
        content = program.to_text()
    else:
        content = program.to_bytes() if form == "bytes" else program.desc.serialize_to_string()
    parsed = Program.parse_from_string(content)
    assert parsed.to_dict() == Program.parse_from_string(program.to_bytes()).to_dict()
    assert parsed.to_text() == program.to_text()
    assert str(parsed) == str(program)
    inner = parsed.global_block().ops[1].attr("sub_block")
    assert inner is parsed.block(1)
    assert [parameter.name for parameter in parsed.all_parameters()] == ["w"]
    reader = parsed.global_block().var("batch_reader_0")
    assert reader.shapes == ((-1, 3), (-1, 1))


def test_what_the_core_checks_is_what_was_built() -> None:
    everything().core_program().check("startup")
    with pytest.raises(fluid.Error, match="belongs in a startup program"):
        everything().core_program().check("main")


def test_operators_that_nobody_knows_can_be_read_and_written() -> None:
    text = 'blocks { idx: 0 parent_idx: -1 ops { type: "warp" attrs { name: "factor" i: 9 } } }'
    program = Program.parse_from_string(text)
    assert program.global_block().ops[0].attr("factor") == 9
    assert 'type: "warp"' in program.clone().to_text()


def test_settings_take_their_place_in_text() -> None:
    text = 'blocks { idx: 0 parent_idx: -1 vars { name: "${x}" type { type: RAW } } }'
    assert Program.parse_from_string(text, {"x": "here"}).global_block().has_var("here")
    with pytest.raises(fluid.Error, match="x"):
        Program.parse_from_string(text)


def test_the_core_has_the_program_as_it_is_now() -> None:
    program = small()
    before = program.core_program()
    assert program.core_program() is before
    program.global_block().var("w").persistable = False
    after = program.core_program()
    assert after is not before
    assert "persistable" not in after.to_text()
    program.global_block().ops[0].set_attr("x_num_col_dims", 1)
    assert "x_num_col_dims" in program.to_text()


# ---- Copies ----


def test_a_clone_shares_nothing() -> None:
    program = everything()
    program.random_seed = 7
    clone = program.clone()
    assert clone.to_text() == program.to_text()
    assert clone.random_seed == 7
    clone.global_block().create_var(name="more")
    clone.global_block().var("w").stop_gradient = True
    assert not program.global_block().has_var("more")
    assert not program.global_block().var("w").stop_gradient
    op = clone.global_block().ops[1]
    assert op.attr("sub_block") is clone.block(1)
    assert clone.block(1).ops[0].block is clone.block(1)


def test_a_clone_for_test_does_not_train() -> None:
    x = layers.data("x", [3])
    loss = layers.mean(layers.fc(x, 2))
    forward = [op.type for op in fluid.default_main_program().global_block().ops]
    fluid.optimizer.Adam(0.1).minimize(loss)
    more = layers.less_than(loss, loss)
    with layers.While(more).block():
        layers.assign(more, more)
    test = fluid.default_main_program().clone(for_test=True)
    assert [op.type for op in test.global_block().ops] == [*forward, "less_than", "while"]
    assert test.global_block().ops[-1].attr("is_test") is True
    assert fluid.default_main_program().global_block().ops[-1].attr("is_test") is False


# ---- Which programs layers write to ----


def test_the_guard_puts_back_the_programs() -> None:
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    other = Program()
    with pytest.raises(KeyError), fluid.program_guard(other):
        assert fluid.default_main_program() is other
        assert fluid.default_startup_program() is startup
        raise KeyError
    assert fluid.default_main_program() is main
    assert fluid.switch_main_program(other) is main
    assert fluid.switch_main_program(main) is other


def test_the_guard_takes_programs_only() -> None:
    with pytest.raises(TypeError, match="the startup program is a Program"):
        fluid.program_guard(Program(), "startup").__enter__()  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the main program is a Program"):
        fluid.switch_main_program(None)  # type: ignore[arg-type]


def test_a_seed_is_a_number() -> None:
    with pytest.raises(ValueError, match="random_seed"):
        Program().random_seed = "seed"  # type: ignore[assignment]


def test_unique_names_are_those_of_the_guard() -> None:
    assert [fluid.unique_name.generate("fc") for _ in range(2)] == ["fc_0", "fc_1"]
    with fluid.unique_name.guard("a/"):
        assert fluid.unique_name.generate("fc") == "a/fc_0"
    assert fluid.unique_name.generate("fc") == "fc_2"


def test_name_scopes_are_told_to_tools() -> None:
    x = layers.data("x", [3])
    with fluid.name_scope("encoder"), fluid.name_scope("attention"):
        layers.relu(x)
    layers.relu(x)
    ops = fluid.default_main_program().global_block().ops
    assert ops[0].attr("op_namescope") == "/encoder/attention/"
    assert not ops[1].has_attr("op_namescope")
    fluid.default_main_program().core_program().check("main")
    with pytest.raises(ValueError, match="without slashes"), fluid.name_scope("a/b"):
        pass
