# SPDX-License-Identifier: Apache-2.0
"""Layers that create, read and reset readers, within programs."""

from __future__ import annotations

from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import Program, VarType
from millhopper.programs.reader_creation import share_reader

RECORDS = 10


pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A file of RECORDS records: int64 [1, 2], of which record i is (2 i, 2 i + 1)."""
    path = tmp_path / "numbers.bin"
    np.arange(2 * RECORDS, dtype=np.int64).tofile(path)
    return path


def open_numbers(path: Path, **options: object) -> fluid.Variable:
    return layers.open_files(f"fixed:{path}", [[1, 2]], [0], ["int64"], **options)


def read_all(reader: fluid.Variable) -> list[np.ndarray]:
    """All that `read_file` gives in a new main program, until the data end."""
    with fluid.program_guard(Program()):
        share_reader(reader)
        out = layers.read_file(reader)
        executor = fluid.Executor()
        elements = []
        while True:
            try:
                elements.append(executor.run(fetch_list=[out])[0])
            except fluid.core.EOFException:
                return elements


def test_a_chain_is_created_in_the_startup_program_and_declared_in_both(numbers: Path) -> None:
    reader = open_numbers(numbers, buffer_size=8, pass_num=2)
    reader = layers.shuffle(reader, 4)
    reader = layers.batch(reader, 3)
    reader = layers.multi_pass(reader, 2)
    reader = layers.double_buffer(reader, place=fluid.CPUPlace(), depth=3)
    startup = fluid.default_startup_program().global_block()
    assert [op.type for op in startup.ops] == [
        "open_files",
        "create_shuffle_reader",
        "create_batch_reader",
        "create_multi_pass_reader",
        "create_double_buffer_reader",
    ]
    assert startup.ops[-1].all_attrs() == {"place": "CPU", "depth": 3}
    main = fluid.default_main_program().global_block()
    assert list(main.vars) == list(startup.vars)
    assert reader is main.var("double_buffer_reader_0")
    for block in (main, startup):
        for variable in block.vars.values():
            assert variable.type is VarType.READER
            assert variable.persistable
            assert variable.stop_gradient
    assert reader.shapes == ((-1, 2),)
    assert reader.dtypes == (VarType.INT64,)
    assert main.ops == ()


def test_leftovers_are_kept_unless_they_are_to_be_left_out(numbers: Path) -> None:
    reader = open_numbers(numbers)
    kept = layers.batch(reader, 4)
    stacked = layers.batch(open_numbers(numbers), 4, discard_leftover=True, mode="stack")
    assert stacked.shapes == ((-1, 1, 2),)
    fluid.Executor().run(fluid.default_startup_program())
    assert [x.shape for x in read_all(kept)] == [(4, 2), (4, 2), (2, 2)]
    assert [x.shape for x in read_all(stacked)] == [(4, 1, 2)] * 2


def test_order_depends_on_the_name_and_the_seeds_alone(numbers: Path) -> None:
    def order(seed: int = 0, name: str = "shuffled", random_seed: int = 0) -> bytes:
        with (
            fluid.program_guard(Program(), Program()),
            fluid.scope_guard(fluid.Scope()),
        ):
            fluid.default_startup_program().random_seed = random_seed
            layers.fill_constant([1], "int64", 0)  # takes a name from the others
            reader = layers.shuffle(open_numbers(numbers), RECORDS, seed=seed, name=name)
            fluid.Executor().run(fluid.default_startup_program())
            return b"".join(x.tobytes() for x in read_all(reader))

    assert order() == order()
    assert len({order(), order(seed=1), order(name="other"), order(random_seed=1)}) == 4


def test_the_same_reader_as_through_the_fluent_one(numbers: Path) -> None:
    reader = layers.shuffle(open_numbers(numbers, name="f"), 4, name="s")
    fluent = fluid.Reader.open_files(
        f"fixed:{numbers}", slots={"x": ("int64", [1, 2])}, name="f"
    ).shuffle(4, name="s")
    fluid.Executor().run(fluid.default_startup_program())
    np.testing.assert_array_equal(read_all(reader), [batch["x"] for batch in fluent])


def test_shards_are_disjoint_and_together_everything(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    parts = [layers.shard(open_numbers(numbers), 3, index) for index in (0, 1)]
    parts.append(layers.shard(open_numbers(numbers)))
    fluid.Executor().run(fluid.default_startup_program())
    found = [read_all(part) for part in parts]
    assert [len(part) for part in found] == [4, 3, 3]
    assert sorted(x[0, 0] for part in found for x in part) == list(range(0, 2 * RECORDS, 2))


def test_a_shard_out_of_range_is_an_error(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    for num_shards, index in ((3, -1), (0, 0), (3, 3), (3, None), (None, 1)):
        with pytest.raises(ValueError, match="shard"):
            layers.shard(open_numbers(numbers), num_shards, index)


def test_programs_that_leak_are_a_warning_when_they_first_run(numbers: Path) -> None:
    shuffled = layers.shuffle(open_numbers(numbers), 4)
    layers.ops.create_skip_reader(shuffled, count=2)
    with pytest.warns(UserWarning, match="leaves out other elements in each pass") as caught:
        fluid.Executor().run(fluid.default_startup_program())
    assert caught[0].filename == __file__


def test_reshuffle_is_an_argument(numbers: Path) -> None:
    same = layers.shuffle(open_numbers(numbers), 4, reshuffle=False)
    fluid.Executor().run(fluid.default_startup_program())
    first = read_all(same)
    same.reset()
    np.testing.assert_array_equal(first, read_all(same))


def test_is_test_reads_one_file_after_the_other(numbers: Path, tmp_path: Path) -> None:
    other = tmp_path / "others.bin"
    (np.arange(2 * RECORDS, dtype=np.int64) + 100).tofile(other)
    files = [f"fixed:{numbers}", f"fixed:{other}"]
    reader = layers.open_files(files, [[1, 2]], [0], ["int64"], thread_num=2, is_test=True)
    fluid.Executor().run(fluid.default_startup_program())
    values = [int(x[0, 0]) for x in read_all(reader)]
    assert values == sorted(values)


def test_random_data_are_declared_as_they_come() -> None:
    reader = layers.random_data_generator(2.0, 3.0, [[1, 2], [1, 1]], [0, 0], count=3)
    first, second = layers.read_file(reader)
    assert (first.shape, second.dtype) == ((1, 2), VarType.FP32)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    values = [executor.run(fetch_list=[first, second]) for _ in range(3)]
    assert values[0][0].shape == (1, 2)
    assert all(2.0 <= x.min() <= x.max() < 3.0 for element in values for x in element)
    with pytest.raises(fluid.EndOfData):
        executor.run(fetch_list=[first])


def test_a_reader_is_reset_between_runs_as_in_the_lineage(numbers: Path) -> None:
    reader = open_numbers(numbers)
    out = layers.read_file(reader)
    with pytest.raises(RuntimeError, match="run its startup program first"):
        reader.reset()
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    for count in (3, RECORDS):
        values = [int(executor.run(fetch_list=[out])[0][0, 0]) for _ in range(count)]
        assert values == list(range(0, 2 * count, 2))
        reader.reset()
    assert [op.type for op in fluid.default_main_program().global_block().ops] == ["read"]


def test_within_a_loop_reset_is_an_operator(numbers: Path) -> None:
    """Two passes, counted by the program: seed 000's loop, without the training."""
    reader = open_numbers(numbers)
    passes, total = layers.zeros([1], "int64"), layers.zeros([1, 2], "int64")
    two = layers.fill_constant([1], "int64", 2)
    more = layers.less_than(passes, two)
    with layers.While(more).block():
        branch = layers.IfElse(layers.has_next(reader))
        with branch.true_block():
            layers.sums([total, layers.read_file(reader)], out=total)
        with branch.false_block():
            layers.increment(passes)
            reader.reset()
            layers.less_than(passes, two, cond=more)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    (value,) = executor.run(fetch_list=[total])
    assert value.tolist() == [[180, 200]]


def test_a_reset_at_the_end_of_a_program_is_asked_for_by_name(numbers: Path) -> None:
    reader = open_numbers(numbers)
    out = layers.read_file(reader)
    layers.reset(reader)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    assert [executor.run(fetch_list=[out])[0][0, 0] for _ in range(3)] == [0, 0, 0]


# ---- Preprocessor ----


def preprocessed(numbers: Path) -> fluid.Variable:
    scale = layers.create_global_var([1], 10, "int64", persistable=True, name="factor")
    preprocessor = layers.Preprocessor(open_numbers(numbers), name="halves")
    with preprocessor.block():
        (x,) = preprocessor.inputs()
        assert (x.shape, x.dtype) == ((1, 2), VarType.INT64)
        preprocessor.outputs(layers.cast(x, "float32") / 2, layers.elementwise_mul(x, scale) + 1)
    return preprocessor()


def test_a_preprocessor_runs_its_block_on_every_element(numbers: Path) -> None:
    reader = layers.double_buffer(layers.batch(preprocessed(numbers), 4))
    assert reader.shapes == ((-1, 2), (-1, 2))
    assert reader.dtypes == (VarType.FP32, VarType.INT64)
    half, tenfold = layers.read_file(reader)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    found = executor.run(fetch_list=[half, tenfold])
    expected = np.arange(8).reshape(4, 2)
    np.testing.assert_array_equal(found[0], expected.astype(np.float32) / 2)
    np.testing.assert_array_equal(found[1], expected * 10 + 1)
    assert fluid.default_main_program().num_blocks == 1


def test_a_preprocessor_is_complete_or_refused(numbers: Path) -> None:
    reader = open_numbers(numbers)
    preprocessor = layers.Preprocessor(reader)
    for use in (preprocessor, preprocessor.inputs, preprocessor.outputs):
        with pytest.raises(RuntimeError):
            use()
    with pytest.raises(RuntimeError, match="incomplete"), preprocessor.block():
        preprocessor.inputs()
    assert fluid.default_startup_program().current_block_idx == 0
    with pytest.raises(RuntimeError, match="first"):
        preprocessor()
    with pytest.raises(RuntimeError, match="one block"), preprocessor.block():
        pass


def test_a_preprocessor_gives_variables_of_its_own(numbers: Path) -> None:
    outer = layers.zeros([1], "int64")
    preprocessor = layers.Preprocessor(open_numbers(numbers))
    with pytest.raises(ValueError, match="is not a variable of its block"), preprocessor.block():
        preprocessor.inputs()
        preprocessor.outputs(outer)
    again = layers.Preprocessor(open_numbers(numbers))
    with pytest.raises(TypeError, match="is no variable; outputs takes"), again.block():
        again.outputs(again.inputs())


# ---- Refusals ----


def test_only_readers_are_decorated_and_read() -> None:
    x = layers.data("x", [1])
    for use in (
        lambda: layers.shuffle(x, 3),
        lambda: layers.read_file(x),
        lambda: layers.has_next("reader"),  # type: ignore[arg-type]
        lambda: layers.reset(x),
        lambda: layers.Preprocessor(x),
        lambda: x.reset(),
    ):
        with pytest.raises(TypeError, match="is no reader"):
            use()


def test_a_reader_belongs_to_its_startup_program(numbers: Path) -> None:
    reader = open_numbers(numbers)
    with (
        fluid.program_guard(Program(), Program()),
        pytest.raises(ValueError, match="not created in the startup program that is in use"),
    ):
        layers.batch(reader, 2)


def test_slots_agree_with_one_another(numbers: Path) -> None:
    with pytest.raises(ValueError, match="1 shapes, 2 dtypes and 1 lod_levels"):
        layers.open_files("a.recordio", [[1, 2]], [0], ["int64", "int64"])
    with pytest.raises(ValueError, match="give shapes, too"):
        layers.open_files("a.recordio", dtypes=["int64"])
    assert not fluid.default_startup_program().global_block().vars


def test_names_of_readers_are_their_own(numbers: Path) -> None:
    open_numbers(numbers, name="train")
    with pytest.raises(ValueError, match="there is a variable 'train' already"):
        open_numbers(numbers, name="train")


def test_slots_must_be_known_to_be_read() -> None:
    reader = layers.open_files("text:LICENSE")
    with pytest.raises(ValueError, match="the slots of reader 'open_files_0' are not declared"):
        layers.read_file(reader)


def test_data_have_a_batch_axis_unless_they_say_all(numbers: Path) -> None:
    assert layers.data("a", [3, 4]).shape == (-1, 3, 4)
    assert layers.data("b", [-1, 4]).shape == (-1, 4)
    assert layers.data("c", [None, 4]).shape == (-1, 4)
    d = layers.data("d", [3], append_batch_size=False, dtype="int64", lod_level=1)
    assert (d.shape, d.dtype, d.lod_level) == ((3,), VarType.INT64, 1)
    assert d.is_data
    assert d.stop_gradient
    assert layers.data("a", [3, 4]) is fluid.default_main_program().global_block().var("a")
    with pytest.raises(ValueError, match="declared already"):
        layers.data("a", [3, 5])
