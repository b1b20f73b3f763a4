# SPDX-License-Identifier: Apache-2.0
"""Reader.torch() as a data set of torch's own DataLoader, with and without worker processes."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from conftest import run_python

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # more workers than cores
    pytest.mark.usefixtures("alone"),
]


@pytest.fixture(autouse=True)
def no_pipes_left(leaves_nothing_behind: None) -> Iterator[None]:
    yield
    gc.collect()  # the traceback of a worker's error holds the loop


@pytest.fixture
def lines(tmp_path: Path) -> str:
    path = tmp_path / "numbers.csv"
    path.write_text("".join(f"{i}\n" for i in range(103)))
    return f"csv:{path}"


def of_file(lines: str, **options: Any) -> millhopper.Reader:
    fields = ["#0 int64[]"]
    return millhopper.Reader.open_files(lines, fields=fields, names=["x"], **options)


def rows() -> Iterator[dict[str, int]]:
    return ({"x": i} for i in range(103))


READERS: dict[str, Callable[[str], millhopper.Reader]] = {
    "file": lambda lines: of_file(lines).shuffle(10),
    "arrays": lambda lines: millhopper.Reader.from_arrays({"x": np.arange(103)}, shuffle=True),
    "dataset": lambda lines: millhopper.Reader.from_dataset(list(rows())),
    "iterable": lambda lines: millhopper.Reader.from_iterable(list(rows())),
    "function": lambda lines: millhopper.Reader.from_iterable(rows),
    "map": lambda lines: of_file(lines).map(lambda row: {"x": row["x"] + 1}),
}


def numbers(batches: Iterable[Any]) -> list[list[int]]:
    return [batch["x"].tolist() for batch in batches]


def error_of(loader: Any) -> str:
    """The error that workers raise, which ends them."""
    loop = iter(loader)
    with pytest.raises(millhopper.Error) as caught:
        next(loop)
    loop._shutdown_workers()  # it takes torch 5 s for each if the garbage collector does it
    return str(caught.value)


def loader(reader: millhopper.Reader, workers: int, **options: Any) -> Any:
    return DataLoader(reader.torch(), batch_size=None, num_workers=workers, **options)


@pytest.mark.parametrize("make", READERS.values(), ids=READERS)
def test_batches_are_the_same_with_any_number_of_workers(
    lines: str, make: Callable[[str], millhopper.Reader]
) -> None:
    expected = make(lines).batch(10)
    passes = [numbers(expected) for _ in range(2)]
    assert isinstance(expected.torch(), IterableDataset)
    for workers in 0, 1, 3:
        reader = make(lines).batch(10).torch()
        for number, batches in enumerate(passes):
            reader.set_epoch(number)
            found = DataLoader(reader, batch_size=None, num_workers=workers)
            assert numbers(found) == batches


def test_workers_that_stay_count_the_passes(lines: str) -> None:
    expected = of_file(lines).shuffle(50).batch(10)
    stays = loader(of_file(lines).shuffle(50).batch(10), 2, persistent_workers=True)
    passes = [numbers(expected) for _ in range(3)]
    assert passes[0] != passes[1]
    assert [numbers(stays) for _ in range(3)] == passes


def test_workers_begin_with_the_pass_that_is_next(lines: str) -> None:
    reader = of_file(lines).shuffle(50).batch(10)
    first, second = numbers(reader), numbers(reader)
    again = of_file(lines).shuffle(50).batch(10)
    assert numbers(again) == first
    assert numbers(loader(again, 2)) == second


def test_loops_of_workers_that_repeat_a_pass_are_told_so() -> None:
    program = """
        import millhopper
        from torch.utils.data import DataLoader

        reader = millhopper.Reader.from_arrays({"x": [1, 2]}).torch()
        loader = DataLoader(reader, batch_size=None, num_workers=1)
        for epoch in (0, 1, 0, 0):  # as whoever says so wants it
            reader.set_epoch(epoch)
            list(loader)
        print("again", flush=True)
        list(loader)
        """
    done = run_python(program, PYTHONWARNINGS="default")
    assert done.stdout == "again\n"
    assert done.stderr.count("read pass 0, too: call set_epoch before each loop") == 1


def test_length_where_it_is_known(lines: str) -> None:
    reader = millhopper.Reader.from_arrays({"x": np.arange(103)}).batch(10)
    assert len(loader(reader, 0)) == len(loader(reader, 2)) == 11
    with pytest.raises(TypeError, match="is not known without reading it"):
        len(loader(millhopper.Reader.from_iterable([1, 2]).batch(2), 0))


def test_torch_makes_batches_of_elements(lines: str) -> None:
    reader = millhopper.Reader.from_arrays({"x": np.arange(12).reshape(6, 2)})
    for workers in 0, 2:
        (first, *_) = DataLoader(reader.torch(), batch_size=3, num_workers=workers)
        assert first["x"].shape == (3, 1, 2)
        reader.set_epoch(0)


def test_ragged_slots_travel_between_processes(lines: str) -> None:
    items = [{"t": b"a" * i, "s": "b" * i} for i in range(20)]
    for batches in (loader(millhopper.Reader.from_iterable(items).batch(4), n) for n in (0, 2)):
        found = list(batches)
        lengths = [torch.diff(batch["t"].offsets[0]).tolist() for batch in found]
        assert sum(lengths, []) == list(range(20))
        assert sum((batch["s"] for batch in found), []) == [item["s"] for item in items]


@pytest.mark.parametrize("stripe", [1, 8])
def test_each_worker_reads_its_lanes(lines: str, stripe: int) -> None:
    reader = of_file(lines, lanes=4, stripe=stripe).shuffle(16)
    expected = numbers(reader)
    assert sorted(sum(expected, [])) == list(range(103))
    for workers in 1, 2, 4:
        reader.set_epoch(0)
        assert sorted(numbers(loader(reader, workers))) == sorted(expected)
    assert "4 lanes cannot be shared by 3 ranks" in error_of(loader(reader, 3))
    reader.set_epoch(0)
    batches = reader.batch(8)
    expected = numbers(batches)
    batches.set_epoch(0)
    assert numbers(loader(batches, 3)) == expected


def test_ranks_of_workers_share_all_records(lines: str) -> None:
    found: list[int] = []
    for rank in range(2):
        found += sum(numbers(loader(of_file(lines).shard(2, rank).batch(5), 2)), [])
    assert sorted(found) == list(range(103))


def test_what_can_be_read_once_only_is_not_shared(lines: str) -> None:
    once = millhopper.Reader.from_iterable(iter([{"x": i} for i in range(10)]))
    assert "can be read once only, and belongs to process" in error_of(loader(once, 2))
    assert numbers(loader(once, 0)) == [[i] for i in range(10)]
    millhopper.allow_exec()
    try:
        pipe = of_file(lines.replace("csv:", "csv:pipe:cat "))
        error = error_of(loader(pipe, 2))
        assert "worker processes cannot share this reader" in error
        assert "can be read once only" in error
    finally:
        millhopper.allow_exec(False)


def test_what_divides_itself_among_workers_is_not_shared() -> None:
    class Divided(IterableDataset[Any]):
        def __iter__(self) -> Iterator[dict[str, int]]:
            worker = torch.utils.data.get_worker_info()
            first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
            return ({"x": i} for i in range(first, 100, step))

    for source in Divided(), Divided:
        reader = millhopper.Reader.from_iterable(source)
        assert sum(numbers(loader(reader, 0)), []) == list(range(100))
        assert "yields each worker a part of what it has" in error_of(loader(reader, 2))


def test_workers_share_no_iteration_that_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{i}\n" for i in range(20_000)))

    def rows_of_file() -> Iterator[dict[str, int]]:
        with path.open() as file:
            for line in file:
                yield {"x": int(line)}

    reader = millhopper.Reader.from_iterable(rows_of_file)
    reader.slots()  # takes the first item
    assert sum(numbers(loader(reader, 2)), []) == list(range(20_000))


def test_spawned_workers_make_the_reader_again(lines: str) -> None:
    program = """
        import sys
        import millhopper
        from torch.utils.data import DataLoader

        files = millhopper.Reader.open_files(sys.argv[1], fields=["#0 int64[]"], names=["x"])
        options = dict(batch_size=None, num_workers=1, multiprocessing_context="spawn")
        reader = files.shuffle(20).batch(10).torch()
        print([batch["x"].tolist() for batch in DataLoader(reader, **options)])
        """
    done = run_python(program, lines)
    expected = numbers(of_file(lines).shuffle(20).batch(10))
    assert (done.stdout.strip(), done.returncode) == (str(expected), 0), done.stderr


def test_a_pickle_holds_the_place(lines: str) -> None:
    reader = of_file(lines).batch(10)
    loop = iter(reader)
    next(loop)
    reader.load_state_dict(reader.state_dict())
    again = pickle.loads(pickle.dumps(reader))
    assert numbers(again) == numbers(reader)
    assert len(numbers(again)) == 11, "the next pass is a whole one"


def test_a_pickle_holds_the_reader(lines: str) -> None:
    reader = of_file(lines).shuffle(20).batch(10)
    assert numbers(pickle.loads(pickle.dumps(reader.torch()))) == numbers(reader)
    arrays = millhopper.Reader.from_arrays({"x": np.arange(3)}).torch()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(arrays)


def test_a_state_of_the_whole_is_none_of_workers(lines: str) -> None:
    reader = of_file(lines).batch(10)
    loop = iter(reader)
    next(loop)
    reader.load_state_dict(reader.state_dict())
    assert "StatefulDataLoader, which saves the states of" in error_of(loader(reader, 2))
    loop.close()


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("kind", ["file", "dataset", "function"])
def test_torchdata_saves_and_resumes(lines: str, kind: str) -> None:
    make = READERS[kind]
    stateful = pytest.importorskip(
        "torchdata.stateful_dataloader", reason="torchdata is not installed"
    ).StatefulDataLoader
    for workers in 0, 2:
        for taken in 0, 7:
            loops = stateful(make(lines).batch(10).torch(), batch_size=None, num_workers=workers)
            loop: Iterator[Any] = iter(loops)
            for _ in range(taken):
                next(loop)
            state = pickle.loads(pickle.dumps(loops.state_dict()))
            rest = numbers(loop)
            assert len(rest) == 11 - taken
            again = stateful(make(lines).batch(10).torch(), batch_size=None, num_workers=workers)
            again.load_state_dict(state)
            assert numbers(again) == rest
