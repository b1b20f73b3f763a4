# SPDX-License-Identifier: Apache-2.0
"""Reader: the batches that Python sees, their cost, and that nothing is left behind."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

RECORDS = 1000


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """RECORDS records: int64 [1, 4], of which record i holds 4 * i up to 4 * i + 3."""
    path = tmp_path / "numbers.bin"
    np.arange(4 * RECORDS, dtype=np.int64).tofile(path)
    return path


def open_numbers(path: Path, **attributes: object) -> millhopper.Reader:
    return millhopper.Reader.open_files(
        f"fixed:{path}", slots={"row": ("int64", [1, 4])}, **attributes
    )


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_version_is_the_projects() -> None:
    assert millhopper.__version__ == "0.2.0"


def test_batches_are_dicts_of_arrays_in_order(numbers: Path) -> None:
    batches = list(open_numbers(numbers).batch(128))
    assert [batch["row"].shape for batch in batches] == [(128, 4)] * 7 + [(104, 4)]
    rows = np.concatenate([batch["row"] for batch in batches])
    assert rows.dtype == np.int64
    np.testing.assert_array_equal(rows.ravel(), np.arange(4 * RECORDS))


def test_options_reach_the_operators(numbers: Path) -> None:
    assert len(list(open_numbers(numbers).batch(128, drop_last=True))) == 7
    stacked = next(iter(open_numbers(numbers).batch(10, mode="stack")))["row"]
    assert stacked.shape == (10, 1, 4)
    assert len(list(open_numbers(numbers).multi_pass(3).batch(100).double_buffer())) == 30


@pytest.mark.parametrize(
    ("slots", "error", "text"),
    [
        ([("float32", [1])], TypeError, "slots is .* it must be a dict"),
        ({3: ("float32", [1])}, TypeError, "slot 3: a slot's name is a text"),
        ({"row": "float32"}, TypeError, "slot 'row' is 'float32'; it must be .dtype, dims."),
        ({"row": ("int64",)}, TypeError, "slot 'row' is .* it must be .dtype, dims."),
        ({"row": ("int64", 4)}, TypeError, "slot 'row' is .* list of integers"),
        ({"row": ("int64", [1.5])}, TypeError, "slot 'row' is .* list of integers"),
        ({"row": ("int63", [1])}, ValueError, "slot 'row': values cannot be of type 'int63'"),
        ({"row": (None, [1])}, ValueError, "slot 'row': values cannot be of type None"),
    ],
)
def test_slots_that_are_none_are_named(
    numbers: Path, slots: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        millhopper.Reader.open_files(f"fixed:{numbers}", slots=slots)  # type: ignore[arg-type]
    with pytest.raises(error, match=text):
        open_numbers(numbers).map(lambda element: element, slots=slots)  # type: ignore[arg-type]


def test_slots_that_are_missing_are_asked_for(numbers: Path) -> None:
    reader = millhopper.Reader.open_files(f"fixed:{numbers}").batch(2)
    with pytest.raises(millhopper.Error, match=r'slots=\{"name": \(dtype, dims\)') as failed:
        next(iter(reader))
    assert failed.value.operator == "open_files"
    assert str(failed.value).count("while running operator") == 1


def test_epochs_are_whole_numbers(numbers: Path) -> None:
    reader = open_numbers(numbers)
    reader.set_epoch(np.int64(3))
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError, match=f"epoch is {wrong!r}; it must be an integer"):
            reader.set_epoch(wrong)  # type: ignore[arg-type]
    for wrong in (2**63, 2**64 - 1, 2**64):
        with pytest.raises(ValueError, match=f"epoch {wrong} is not 0 to 9223372036854775807"):
            reader.set_epoch(wrong)
    reader.set_epoch(2**63 - 1)
    for _ in range(2):
        assert len(list(reader)) == RECORDS


def test_seeds_are_whole_numbers(numbers: Path) -> None:
    open_numbers(numbers, seed=np.uint64(2**64 - 1))
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError, match=f"seed is {wrong!r}; it must be an integer"):
            open_numbers(numbers, seed=wrong)
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match=f"seed {wrong} is not 0 to 18446744073709551615"):
            open_numbers(numbers, seed=wrong)


def test_two_loops_are_two_passes_each_in_its_own_order(numbers: Path) -> None:
    reader = open_numbers(numbers).shuffle(100, seed=7).batch(50)
    first = np.concatenate([batch["row"] for batch in reader])
    second = np.concatenate([batch["row"] for batch in reader])
    assert not np.array_equal(first, second)
    for rows in (first, second):
        np.testing.assert_array_equal(np.sort(rows[:, 0]), np.arange(0, 4 * RECORDS, 4))
    reader.set_epoch(0)
    np.testing.assert_array_equal(first, np.concatenate([batch["row"] for batch in reader]))
    other = open_numbers(numbers).shuffle(100, seed=7).batch(50)
    other.set_epoch(1)
    np.testing.assert_array_equal(second, np.concatenate([batch["row"] for batch in other]))
    with pytest.raises(ValueError, match="epoch -1"):
        reader.set_epoch(-1)


def test_shards_are_disjoint_and_together_everything(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffled = open_numbers(numbers).shuffle(100, seed=1)
    parts = [shuffled.shard(3, index) for index in range(3)]
    for _ in range(2):
        seen = [[int(record["row"][0, 0]) for record in part] for part in parts]
        assert [len(part) for part in seen] == [334, 333, 333]
        assert sorted(sum(seen, [])) == list(range(0, 4 * RECORDS, 4))
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    assert [int(record["row"][0, 0]) for record in shuffled.shard()][:5] != seen[2][:5]
    again = shuffled.shard()
    again.set_epoch(1)
    assert [int(record["row"][0, 0]) for record in again] == seen[2]


def test_the_environment_says_which_shard_only_where_nobody_does(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    files = open_numbers(numbers)
    given: list[tuple[int | None, int | None, str]] = [
        (3, -1, "index is -1; of 3 parts it is 0 to 2"),
        (3, 3, "'index' is 3; it must be below 'num_shards', 3"),
        (0, 0, "num_shards is 0; it must be at least 1"),
        (0, -1, "num_shards is 0; it must be at least 1"),
        (-1, 0, "attribute 'num_shards' is -1"),
        (3, -2, "attribute 'index' is -2"),
        (3, None, "num_shards is 3, but index is not given"),
        (None, 1, "index is 1, but num_shards is not given"),
        (None, -1, "index is -1, but num_shards is not given"),
    ]
    for num_shards, index, problem in given:
        with pytest.raises(millhopper.Error, match=problem):
            files.shard(num_shards, index)
    assert len(list(files.shard())) == 333
    assert len(list(files.shard(1))) == RECORDS
    assert len(list(files.shard(np.int64(4), np.int64(3)))) == 250
    # The attributes of the operator are as its schema says.
    assert len(list(files.decorate("create_shard_reader", num_shards=0, index=-1))) == 333


def test_shards_by_chunk_read_chunks_of_their_own(tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.bin" for index in range(4)]
    for index, path in enumerate(paths):
        np.arange(100 * index, 100 * (index + 1), dtype=np.int64).tofile(path)
    files = millhopper.Reader.open_files(
        [f"fixed:{path}" for path in paths], slots={"n": ("int64", [1])}
    )
    parts = [
        {int(record["n"][0]) for record in files.shard(2, index, by="chunk")} for index in range(2)
    ]
    assert parts[0] == {*range(100), *range(200, 300)}
    assert parts[1] == {*range(100, 200), *range(300, 400)}
    with pytest.raises(millhopper.Error, match="is no reader of files"):
        list(files.shuffle(10).shard(2, 0, by="chunk"))


def test_unbatch_takes_batches_apart(numbers: Path) -> None:
    rows = [record["row"] for record in open_numbers(numbers).batch(7).unbatch()]
    assert {row.shape for row in rows} == {(1, 4)}
    np.testing.assert_array_equal(np.concatenate(rows).ravel(), np.arange(4 * RECORDS))


def test_a_reader_is_left_as_it_was_by_what_stands_on_it(numbers: Path) -> None:
    files = open_numbers(numbers)
    batches = files.batch(500)
    assert (len(list(files)), len(list(batches)), len(list(files))) == (RECORDS, 2, RECORDS)


def test_arrays_are_the_cores_own_memory_for_as_long_as_they_live(numbers: Path) -> None:
    reader = open_numbers(numbers).batch(100)
    kept = [batch["row"] for batch in reader]
    addresses = [array.ctypes.data for array in kept]
    assert len(set(addresses)) == len(kept)
    assert not any(array.flags.owndata for array in kept)
    assert all(array.flags.writeable and array.flags.c_contiguous for array in kept)
    view = kept[3][10:12]
    expected = [array.copy() for array in kept]
    for _ in range(5):  # other batches must not take memory that is in use
        list(reader)
    del reader
    gc.collect()
    for array, copy in zip_strict(kept, expected):
        np.testing.assert_array_equal(array, copy)
    del kept, array
    gc.collect()
    list(open_numbers(numbers).batch(100))
    np.testing.assert_array_equal(view, expected[3][10:12])


def test_memory_is_used_again(numbers: Path) -> None:
    reader = open_numbers(numbers).batch(100)
    addresses = {batch["row"].ctypes.data for _ in range(20) for batch in reader}
    assert len(addresses) <= 4


def test_arrays_go_through_dlpack(numbers: Path) -> None:
    array = next(iter(open_numbers(numbers).batch(8)))["row"]
    shared = np.from_dlpack(array)
    assert shared.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(shared, array)


def test_lines_are_ragged_bytes(tmp_path: Path) -> None:
    lines = [b"one", b"", "zwölf".encode(), b"no newline at the end"]
    path = tmp_path / "notes.txt"
    path.write_bytes(b"\n".join(lines))
    (batch,) = millhopper.Reader.open_files(f"text:{path}", names=["line"]).batch(10)
    line = batch["line"]
    assert isinstance(line, millhopper.Ragged)
    assert line.to_bytes() == lines
    assert [bytes(sequence) for sequence in line] == lines
    assert line.lengths().tolist() == [len(text) for text in lines]
    assert bytes(line[-2]) == lines[-2]
    with pytest.raises(IndexError):
        line[4]
    with pytest.raises(ValueError, match="is not one text; to_numpy"):
        line.decode()


def test_the_line_of_an_element_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one\n\nzwölf\n")
    lines = millhopper.Reader.open_files(f"text:{path}", names=["line"])
    assert [element["line"].decode() for element in lines] == ["one", "", "zwölf"]
    first, *_, last = lines
    assert last["line"].decode("latin-1") == "zwÃ¶lf"
    with pytest.raises(AttributeError, match=r"attribute 'split'; decode\(\) makes a text of it"):
        first["line"].split()
    with pytest.raises(AttributeError, match="attribute 'tokens'$"):
        first["line"].tokens()
    assert pickle.loads(pickle.dumps(last["line"])).decode() == "zwölf"


def test_ragged_of_two_levels() -> None:
    values = np.arange(9, dtype=np.int64).reshape(9, 1)
    offsets = (np.array([0, 2, 3]), np.array([0, 3, 5, 9]))
    ragged = millhopper.Ragged(values, offsets)
    assert len(ragged) == 2
    first, second = ragged
    assert [sequence.ravel().tolist() for sequence in first] == [[0, 1, 2], [3, 4]]
    assert [sequence.ravel().tolist() for sequence in second] == [[5, 6, 7, 8]]
    with pytest.raises(TypeError, match="is no text"):
        ragged.to_bytes()


def test_slots_without_names_are_numbered(numbers: Path) -> None:
    reader = millhopper.Reader.open_files(
        f"fixed:{numbers}", ranks=[2, 2], shape_concat=[1, 2, 1, 2], dtypes=[3, 3]
    )
    assert list(next(iter(reader))) == ["slot0", "slot1"]
    assert reader.slots() == [("int64", [1, 2], 0), ("int64", [1, 2], 0)]
    named = millhopper.Reader.open_files(
        f"fixed:{numbers}", slots={"row": ("int64", [1, 4])}, names=["a", "b"]
    )
    with pytest.raises(millhopper.Error, match="2 names for a reader of 1 slots"):
        next(iter(named))
    with pytest.raises(ValueError, match="two slots have one name"):
        millhopper.Reader.open_files(f"text:{numbers}", names=["a", "a"])


def test_a_program_is_read_as_it_is(numbers: Path) -> None:
    program = open_numbers(numbers, lanes=1).shuffle(64, seed=3).batch(10)
    text = program.to_text().replace(str(numbers), "${data}")
    again = millhopper.Reader(
        text, names=["row"], settings={"data": str(numbers)}, name="startup.pbtxt"
    )
    for batch, wanted in zip_strict(again, program):
        np.testing.assert_array_equal(batch["row"], wanted["row"])
    files = millhopper.Reader(text, variable="files", settings={"data": str(numbers)})
    assert len(list(files)) == RECORDS
    assert len(list(again.batch(10))) == RECORDS // 100


def test_wrong_programs_are_refused_with_all_problems() -> None:
    with pytest.raises(millhopper.Error) as caught:
        millhopper.Reader("blocks { idx: 0 parent_idx: -1 ops { type: 'raed' } }", name="s.pbtxt")
    assert caught.value.code == "invalid argument"
    assert "s.pbtxt:1:" in str(caught.value)
    assert "did you mean" in str(caught.value)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"bufer_size": 3}, "no attribute 'bufer_size'; did you mean 'buffer_size'?"),
        ({"buffer_size": "many"}, "'buffer_size' is of type INT, not 'many'"),
        ({"buffer_size": 2**40}, "'buffer_size' is of type INT, not 1099511627776"),
        ({"buffer_size": 0}, "it must be at least 1"),
    ],
)
def test_wrong_attributes_are_named(
    numbers: Path, attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(millhopper.Error, match=message.replace("?", r"\?")):
        open_numbers(numbers, **attributes)


def test_no_files_are_an_error() -> None:
    with pytest.raises(millhopper.Error, match="no files are given") as caught:
        millhopper.Reader.open_files([])
    assert caught.value.code == "invalid argument"


def test_a_missing_file_is_an_error_when_the_pass_begins(tmp_path: Path) -> None:
    reader = open_numbers(tmp_path / "nothing")
    with pytest.raises(millhopper.Error) as caught:
        iter(reader)
    assert caught.value.code == "input/output error"
    assert "nothing: No such file or directory" in caught.value.message


def test_a_damaged_file_gives_what_is_right_and_then_an_error(numbers: Path) -> None:
    with open(numbers, "ab") as file:
        file.write(b"tail")
    reader = open_numbers(numbers)
    seen = []
    with pytest.raises(millhopper.Error) as caught:
        for batch in reader:
            seen.append(batch)
    error = caught.value
    assert len(seen) == RECORDS
    assert (error.code, error.file, error.offset) == ("data loss", str(numbers), RECORDS * 32 + 4)
    assert "reader 'files'" in error.context[0]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.offset) == (str(error), error.code, error.offset)
    assert len(list(islice(reader, 10))) == 10  # a new pass, after the error


def test_leaving_a_loop_gives_everything_back(tmp_path: Path) -> None:
    for i in range(20):
        np.zeros(4 << 20, dtype=np.uint8).tofile(tmp_path / f"{i}.bin")
    before = descriptors()
    reader = millhopper.Reader.open_files(
        f"fixed:{tmp_path}/*.bin", slots={"row": ("uint8", [1, 1024])}
    ).batch(10)
    for _ in reader:
        assert descriptors() > before
        break
    gc.collect()
    assert descriptors() == before
    loop = iter(reader)
    next(loop)
    loop.close()
    assert descriptors() == before
    assert list(loop) == []
    with pytest.raises(ZeroDivisionError):
        for _ in reader:
            raise ZeroDivisionError
    gc.collect()
    assert descriptors() == before
    assert sum(batch["row"].shape[0] for batch in reader) == 20 * 4096


def test_threads_share_a_reader_without_losing_anything(numbers: Path) -> None:
    loop = iter(open_numbers(numbers).batch(1))
    taken: list[list[int]] = [[] for _ in range(4)]

    def take(mine: list[int]) -> None:
        mine.extend(int(batch["row"][0, 0]) for batch in loop)

    threads = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(taken, [])) == list(range(0, 4 * RECORDS, 4))


def test_a_forked_process_is_refused_and_makes_its_own(numbers: Path) -> None:
    script = f"""
import os, sys, millhopper
open_numbers = lambda: millhopper.Reader.open_files(
    "fixed:{numbers}", slots={{"row": ("int64", [1, 4])}}).batch(10).double_buffer()
reader = open_numbers()
loop = iter(reader)
next(loop)
child = os.fork()
if child == 0:
    try:
        next(loop)
    except millhopper.Error as error:
        refused = "was created before this process was forked" in str(error)
        os._exit(0 if refused and len(list(open_numbers())) == 100 else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert len(list(loop)) == 99
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_interpreter_ends_in_the_middle_of_a_loop(numbers: Path) -> None:
    script = f"""
import millhopper
reader = millhopper.Reader.open_files(
    "fixed:{numbers}", slots={{"row": ("int64", [1, 4])}}).shuffle(50).batch(10).double_buffer()
loop = iter(reader)
kept = [next(loop), next(loop)]
"""
    for _ in range(10):
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_any_number_of_threads_reads_the_same(numbers: Path, pool: None) -> None:
    reader = open_numbers(numbers).shuffle(64, seed=1).batch(7).double_buffer()
    streams = []
    for threads in (0, 1, 4):
        millhopper.set_threads(threads)
        reader.set_epoch(0)
        streams.append(np.concatenate([batch["row"] for batch in reader]).tobytes())
    assert streams[0] == streams[1] == streams[2]
    with pytest.raises(millhopper.Error, match="there can be 0 to 1024"):
        millhopper.set_threads(-1)
    with pytest.raises(TypeError, match=r"threads is 2\.5; it must be an integer"):
        millhopper.set_threads(2.5)  # type: ignore[arg-type]


def test_a_plugin_that_is_refused_is_named(tmp_path: Path) -> None:
    with pytest.raises(millhopper.Error, match="absolute path") as caught:
        millhopper.load_plugin("libmine.so")
    assert caught.value.code == "plugin error"
    library = tmp_path / "libmine.so"
    library.write_bytes(b"no library")
    with pytest.raises(millhopper.Error, match="no plugin of Millhopper") as caught:
        millhopper.load_plugin(library)
    assert caught.value.file == str(library)


def test_memory_stays_flat_over_a_million_batches(tmp_path: Path) -> None:
    path = tmp_path / "bytes.bin"
    path.write_bytes(bytes(1_000_000))
    reader = millhopper.Reader.open_files(f"fixed:{path}", slots={"byte": ("uint8", [1, 1])})
    loop = iter(reader.batch(1))

    def resident() -> int:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")

    for _ in islice(loop, 10_000):
        pass
    before = resident()
    assert sum(1 for _ in loop) == 990_000
    assert resident() - before < 2 << 20


def test_mapped_files_yield_the_same_and_may_not_change(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(12000, dtype=np.int64).tofile(path)
    plain, mapped = (
        open_numbers(path, buffer_type=buffer_type).shuffle(100).batch(7)
        for buffer_type in ("memory", "mmap")
    )
    wanted = [batch["row"].tolist() for batch in plain]
    assert [batch["row"].tolist() for batch in mapped] == wanted
    read = []
    with pytest.raises(millhopper.Error, match=r"is shorter than .*4100") as caught:
        for batch in open_numbers(path, buffer_type="mmap").batch(7):
            read.append(batch["row"].tolist())
            if len(read) == 2:
                os.truncate(path, 4100)
    assert caught.value.file == str(path)
    del caught  # its frames hold the reader, which holds the mapping
    assert sum(read, []) == np.arange(12000).reshape(-1, 4)[: 7 * len(read)].tolist()
    with pytest.raises(millhopper.Error, match="buffer_type"):
        list(open_numbers(path, buffer_type="disk"))
