# SPDX-License-Identifier: Apache-2.0
"""Executor: what is fed, what is fetched, what fails."""

import contextlib
import gc
import io
import threading
import weakref
from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers


@pytest.fixture
def program() -> fluid.Program:
    """y = x * 2. The default programs are new ones."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = layers.data("x", shape=[3])
        layers.scale(x, scale=2.0, out=main.global_block().create_var("y"))
    return main


@pytest.fixture
def executor() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def tensor_of(values: object) -> fluid.LoDTensor:
    tensor = fluid.LoDTensor()
    tensor.set(values)
    return tensor


ROW = np.array([[1, 2, 3]], np.float32)


@pytest.mark.parametrize(
    "fed",
    [ROW, ROW.tolist(), tensor_of(ROW), memoryview(ROW), np.asfortranarray(ROW)],
    ids=["array", "list", "LoDTensor", "memoryview", "fortran"],
)
def test_feed_takes_what_holds_values(
    fed: object, program: fluid.Program, executor: fluid.Executor
) -> None:
    (y,) = executor.run(program, feed={"x": fed}, fetch_list=["y"])
    np.testing.assert_array_equal(y, ROW * 2)
    assert y.dtype == np.float32


def test_fetch_by_variable_by_name_and_as_tensors(
    program: fluid.Program, executor: fluid.Executor
) -> None:
    y = program.global_block().var("y")
    for fetch in (y, "y", [y], ["y"]):
        (array,) = executor.run(program, {"x": ROW}, fetch)
        np.testing.assert_array_equal(array, ROW * 2)
    (tensor,) = executor.run(program, {"x": ROW}, [y], return_numpy=False)
    assert isinstance(tensor, fluid.LoDTensor)
    assert executor.run(program, {"x": ROW}) == []


def test_what_was_fetched_stays(program: fluid.Program, executor: fluid.Executor) -> None:
    fetched = [executor.run(program, {"x": ROW + i}, ["x", "y"]) for i in range(5)]
    del program, executor
    gc.collect()
    for i, (x, y) in enumerate(fetched):
        np.testing.assert_array_equal(x, ROW + i)
        np.testing.assert_array_equal(y, (ROW + i) * 2)


def test_what_was_fed_may_be_written_afterwards(executor: fluid.Executor) -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = layers.data("x", shape=[3])
        kept = layers.create_global_var([1, 3], 0.0, "float32", persistable=True, name="kept")
        layers.assign(x, kept)
    values = ROW.copy()
    scope = fluid.Scope()
    executor.run(startup, scope=scope)
    executor.run(main, {"x": values}, scope=scope)
    values[:] = 0
    variable = scope.find_var("kept")
    assert variable is not None
    np.testing.assert_array_equal(np.asarray(variable.get_tensor()), ROW)


def test_sequences_go_in_and_come_out(executor: fluid.Executor) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        layers.data("words", shape=[1], dtype="int64", lod_level=1)
    words = fluid.create_lod_tensor(np.arange(5).reshape(5, 1), [[2, 3]])
    (ragged,) = executor.run(main, {"words": words}, ["words"])
    assert isinstance(ragged, fluid.Ragged)
    assert [part.ravel().tolist() for part in ragged] == [[0, 1], [2, 3, 4]]
    (again,) = executor.run(main, {"words": ragged}, ["words"], return_numpy=False)
    assert again.recursive_sequence_lengths() == [[2, 3]]


def test_wrong_levels_are_refused(executor: fluid.Executor) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        layers.data("words", shape=[1], dtype="int64", lod_level=1)
    words = tensor_of(np.zeros([5, 1], np.int64))
    words.set_recursive_sequence_lengths([[2, 9]])
    with pytest.raises(fluid.Error):
        executor.run(main, {"words": words}, ["words"])


def test_misuse_is_named(program: fluid.Program, executor: fluid.Executor) -> None:
    with pytest.raises(fluid.Error, match="'z' to feed"):
        executor.run(program, {"x": ROW, "z": ROW})
    with pytest.raises(fluid.Error, match="'X' to feed; did you mean 'x'"):
        executor.run(program, {"X": ROW})
    with pytest.raises(fluid.Error, match="'z' to fetch"):
        executor.run(program, {"x": ROW}, ["z"])
    with pytest.raises(fluid.Error, match="'x'"):
        executor.run(program, fetch_list=["y"])
    with pytest.raises(fluid.Error, match="no values"):
        executor.run(program, {"x": fluid.LoDTensor()})
    with pytest.raises(TypeError, match="a dict"):
        executor.run(program, feed=[{"x": ROW}] * 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Program"):
        executor.run("program")  # type: ignore[arg-type]
    with pytest.raises(fluid.Error, match="no place 'cuda:99'"):
        fluid.Executor(fluid.CUDAPlace(99)).run(program, {"x": ROW})


def test_a_changed_program_is_prepared_anew(
    program: fluid.Program, executor: fluid.Executor
) -> None:
    assert len(executor.run(program, {"x": ROW}, ["y"])) == 1
    with fluid.program_guard(program, fluid.Program()):
        z = layers.scale(program.global_block().var("y"), scale=10.0)
    y, z_value = executor.run(program, {"x": ROW}, ["y", z])
    np.testing.assert_array_equal(z_value, y * 10)


def test_programs_and_scopes_go_when_nobody_needs_them(executor: fluid.Executor) -> None:
    def run() -> "weakref.ref[fluid.Program]":
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()):
            layers.data("x", shape=[3])
        executor.run(main, {"x": ROW})
        return weakref.ref(main)

    program = run()
    gc.collect()
    assert program() is None


def test_a_program_stays_prepared_for_several_scopes(
    program: fluid.Program, executor: fluid.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = []
    prepare = fluid._core.prepare

    def counted(core: object, scope: fluid.Scope, *rest: object) -> object:
        prepared.append(id(scope))
        return prepare(core, scope, *rest)

    monkeypatch.setattr(fluid._core, "prepare", counted)
    scopes = [fluid.Scope() for _ in range(8)]
    for scope in scopes * 2:
        (y,) = executor.run(program, {"x": ROW}, ["y"], scope=scope)
        np.testing.assert_array_equal(y, ROW * 2)
    assert prepared == [id(scope) for scope in scopes]
    program.random_seed = 1
    executor.run(program, {"x": ROW}, scope=scopes[0])
    assert len(prepared) == 9
    many = [fluid.Scope() for _ in range(8)]
    for scope in (*many, scopes[0]):
        executor.run(program, {"x": ROW}, scope=scope)
    assert len(prepared) == 18  # the first was forgotten


def test_a_scope_that_goes_is_not_kept(program: fluid.Program, executor: fluid.Executor) -> None:
    scope = fluid.Scope()
    executor.run(program, {"x": ROW}, scope=scope)
    (preparations,) = executor._prepared.values()
    assert len(preparations._by_scope) == 1
    del scope
    gc.collect()
    assert len(preparations._by_scope) == 0


def test_what_was_fetched_may_be_written(executor: fluid.Executor) -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        kept = layers.create_global_var([2], 3.0, "float32", persistable=True)
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
    feed = {"words": fluid.create_lod_tensor(np.arange(5).reshape(5, 1), [[2, 3]])}
    executor.run(startup, scope=(scope := fluid.Scope()))
    for _ in range(2):
        value, ragged, twice = executor.run(main, feed, [kept, words, kept], scope=scope)
        assert value.tolist() == twice.tolist() == [3, 3]
        assert ragged.values.ravel().tolist() == [0, 1, 2, 3, 4]
        value += 1
        ragged.values[:] = 9
        assert twice.tolist() == [3, 3]


def test_places_are_names_too(program: fluid.Program) -> None:
    for place in ("cpu", fluid.CPUPlace(), None):
        assert fluid.Executor(place).place == fluid.CPUPlace()
    assert fluid.Executor("cuda:3").place == fluid.CUDAPlace(3)
    for text in ("gpu", "cuda", "cuda:x"):
        with pytest.raises(ValueError, match=f"no place '{text}'"):
            fluid.Executor(text)
    with pytest.raises(TypeError, match="not 3"):
        fluid.Executor(3)  # type: ignore[arg-type]


def test_a_fetch_list_holds_variables_or_names(
    program: fluid.Program, executor: fluid.Executor
) -> None:
    for wrong in (3, [3], ["y", None]):
        with pytest.raises(TypeError, match="fetch_list .*(3|None)"):
            executor.run(program, {"x": ROW}, wrong)  # type: ignore[arg-type]


def reading(path: Path) -> tuple[fluid.Program, fluid.Program, fluid.Variable]:
    path.write_text("first\nsecond\n")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        reader = layers.open_files(f"text:{path}", shapes=[[-1]], lod_levels=[1], dtypes=["uint8"])
        line = layers.read_file(reader)
    return startup, main, line


def test_the_end_of_data_ends_a_loop(executor: fluid.Executor, tmp_path: Path) -> None:
    startup, main, line = reading(tmp_path / "lines")
    with fluid.scope_guard(fluid.Scope()):
        executor.run(startup)
        for _ in range(2):
            lines = []
            with pytest.raises(fluid.EndOfData) as ended:
                while True:
                    lines += executor.run(main, fetch_list=[line])[0].to_bytes()
            assert lines == [b"first", b"second"]
            assert ended.value.operator == "read"
            variable = fluid.global_scope().find_var(main.global_block().ops[0].input("Reader")[0])
            assert variable is not None
            assert isinstance(variable.get_reader(), fluid.core.Reader)
            variable.get_reader().reset()


def test_errors_say_file_operator_and_line(executor: fluid.Executor, tmp_path: Path) -> None:
    startup, main, line = reading(tmp_path / "lines")
    executor.run(startup, scope=(scope := fluid.Scope()))
    (tmp_path / "lines").unlink()
    with pytest.raises(fluid.Error) as failed:
        executor.run(main, fetch_list=[line], scope=scope)
    error = failed.value
    assert error.code == "input/output error"
    assert error.file == str(tmp_path / "lines")
    assert error.operator == "open_files"
    number = 1 + main.to_text().split("\n").index("  ops {")
    assert f"while running operator 'read' (program:{number}, block 0)" in error.context


def test_the_interpreter_is_free_while_a_program_runs(executor: fluid.Executor) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        count = layers.fill_constant([1], "int64", 0)
        limit = layers.data("limit", shape=[1], dtype="int64", append_batch_size=False)
        more = layers.less_than(count, limit)
        loop = layers.While(more)
        with loop.block():
            layers.increment(count, value=1.0, in_place=True)
            layers.less_than(count, limit, cond=more)
    seen = 0
    done = threading.Event()

    def run() -> None:
        executor.run(main, {"limit": np.array([300_000])}, scope=fluid.Scope())
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        seen += 1  # this thread would stand still
    thread.join()
    assert seen > 100


def test_seeds_of_programs_count(executor: fluid.Executor) -> None:
    def numbers(seed: int) -> list[float]:
        main = fluid.Program()
        main.random_seed = seed
        with fluid.program_guard(main, fluid.Program()):
            out = main.global_block().create_var("numbers")
            layers.uniform_random([4], out=out)
        return executor.run(main, fetch_list=[out], scope=fluid.Scope())[0].tolist()

    assert numbers(1) == numbers(1) != numbers(2)


def test_what_is_printed_goes_to_pythons_standard_output() -> None:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        fluid.layers.Print(fluid.layers.fill_constant([1], "float32", 7), message="seven")
    executor = fluid.Executor(fluid.CPUPlace())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print("before")
        executor.run(program)
        print("behind")
    before, line, behind = printed.getvalue().splitlines()
    assert (before, behind) == ("before", "behind")
    assert line.startswith("seven ")
    assert line.endswith("= {7}")

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left")

    for _ in range(2):
        with (
            contextlib.redirect_stdout(Full()),
            pytest.raises(fluid.Error, match="no space left") as caught,
        ):
            executor.run(program)
        assert caught.value.code == "input/output error"
        assert isinstance(caught.value.__cause__, OSError)
    with contextlib.redirect_stdout(None):
        executor.run(program)
