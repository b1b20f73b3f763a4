# SPDX-License-Identifier: Apache-2.0
"""Lanes that nobody asked for: those of files that a shuffle stands on."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.recordio_writer import create_recordio_writer
from number_files import write_number_chunks

RECORDS = 3000
Reader = millhopper.Reader
Make = Callable[[millhopper.Reader], millhopper.Reader]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_number_chunks(tmp_path_factory.mktemp("lanes"), RECORDS)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Text, of which nothing tells how many lines it has."""
    path = tmp_path_factory.mktemp("lines") / "numbers.txt"
    path.write_text("".join(f"{i:09}\n" for i in range(7000)))
    return f"text:{path}"


def epoch(reader: Any, slot: str = "x") -> list[list[int]]:
    return [[int(x) for x in batch[slot].ravel()] for batch in reader]


def stated(reader: millhopper.Reader) -> list[int]:
    """The numbers of lanes that the program states."""
    text = " ".join(reader.to_text().split())
    return [int(part.split()[0]) for part in text.split('name: "lanes" type: INT i: ')[1:]]


def test_files_below_a_shuffle_have_16_and_all_say_so(files: str) -> None:
    in_order = Reader.open_files(files).batch(24)
    assert stated(in_order) == []
    assert "lanes" not in str(in_order)
    shuffled = Reader.open_files(files).shuffle(512)
    assert stated(shuffled) == []  # nothing runs the lanes
    batches = shuffled.batch(32).double_buffer()
    assert stated(batches) == [16]
    assert "lanes of files: 16, which a shuffle stands on" in str(batches)
    assert "lanes of files: 12\n" in f"{Reader.open_files(files, lanes=12).shuffle(512)}\n"


def test_the_order_is_that_of_16_lanes_for_any_threads(files: str) -> None:
    def chain(**attributes: Any) -> millhopper.Reader:
        return Reader.open_files(files, seed=3, **attributes).shuffle(512, seed=1).batch(48)

    orders = []
    for threads in 0, 1, 2, 7:
        millhopper.set_threads(threads)
        orders.append([epoch(chain()), epoch(chain(lanes=16))])
        program = Reader(chain().to_text(), names=["x"], seed=3)
        assert epoch(program) == orders[0][0]
        assert epoch(pickle.loads(pickle.dumps(chain()))) == orders[0][0]
    millhopper.set_threads(1)
    assert all(order == [orders[0][0]] * 2 for order in orders)
    assert sorted(sum(orders[0][0], [])) == list(range(RECORDS))


def test_one_lane_is_the_order_that_there_was(files: str) -> None:
    def chain(**attributes: Any) -> millhopper.Reader:
        return Reader.open_files(files, seed=3, **attributes).shuffle(512, seed=1).batch(48)

    text = chain().to_text()
    begin = text.rindex("attrs {", 0, text.index('"lanes"'))
    end = text.index("}", begin) + 1
    before = Reader(text[:begin] + text[end:], names=["x"], seed=3)  # a program of then
    assert stated(before) == []
    assert epoch(before) == epoch(chain(lanes=1)) != epoch(chain())


def shuffled(reader: millhopper.Reader) -> millhopper.Reader:
    return reader.shuffle(512)


STREAMS: dict[str, tuple[dict[str, Any], Make]] = {
    "in order": ({}, lambda r: r),
    "take below": ({}, lambda r: shuffled(r.take(1000))),
    "skip below": ({}, lambda r: shuffled(r.skip(1000))),
    "take above": ({}, lambda r: shuffled(r).take(1000)),
    "batches below": ({}, lambda r: shuffled(r.batch(8))),
    "a function below": ({}, lambda r: shuffled(r.map(lambda x: x))),
    "a function above": ({}, lambda r: shuffled(r).map(lambda x: x)),
    "resample below": ({}, lambda r: shuffled(r.resample({0: 1}, key=0, others=1))),
    "dedupe above": ({}, lambda r: shuffled(r).dedupe("x")),
    "partners above": ({}, lambda r: shuffled(r).partners(1)),
    "one order for all passes": ({}, lambda r: r.shuffle(512, reshuffle=False)),
    "a small window": ({}, lambda r: r.shuffle(63)),
    "a smaller one above": ({}, lambda r: shuffled(r).shuffle(63)),
    "shard above": ({}, lambda r: shuffled(r).shard(2, 0)),
    "shard below": ({}, lambda r: shuffled(r.shard(2, 0))),
    "zip": ({}, lambda r: shuffled(r).zip(shuffled(r), names=["x", "y"])),
    "mix": ({}, lambda r: shuffled(r).mix(shuffled(r))),
    "threads for files": ({"thread_num": 2}, shuffled),
    "chunks at random": ({"shuffle_chunks": True}, shuffled),
    "lanes of records": ({}, lambda r: shuffled(r.lanes(4))),
}


@pytest.mark.parametrize("why", STREAMS)
def test_what_lanes_would_change_keeps_one_stream(files: str, why: str) -> None:
    attributes, make = STREAMS[why]
    reader = make(Reader.open_files(files, **attributes)).batch(24)
    assert set(stated(reader)) <= {4}
    assert epoch(reader)


LANES: dict[str, tuple[Make, list[int]]] = {
    "steps of one element": (
        lambda r: shuffled(r.filter("x >= 0").apply("scale", scale=1.0)).filter("x >= 0").batch(8),
        [16],
    ),
    "split": (lambda r: shuffled(r.split([0.9, 0.1])[0]).batch(24), [16]),
    "batches that are dealt": (lambda r: shuffled(r).batch(24).shard(2, 0), [16]),
    "a function of batches": (lambda r: shuffled(r).batch(24).map(lambda x: x), [16]),
    "dedupe of their elements": (
        lambda r: shuffled(r).batch(24).unbatch().dedupe("x").batch(8),
        [16],
    ),
    "concat": (lambda r: shuffled(r).batch(9).concat(shuffled(r).batch(8)), [16, 16]),
    "one of two": (lambda r: shuffled(r).batch(9).concat(r.batch(8)), [16]),
}


@pytest.mark.parametrize("how", LANES)
def test_steps_that_lanes_do_not_change_keep_them(files: str, how: str) -> None:
    make, lanes = LANES[how]
    reader = make(Reader.open_files(files))
    assert stated(reader) == lanes
    assert epoch(reader)


def test_few_records_are_shared_alike(lines: str) -> None:
    reader = Reader.open_files(lines, names=["x"]).shuffle(7000).batch(16)
    found = [bytes(line).decode() for batch in reader for line in batch["x"]]
    assert sorted(found) == [f"{i:09}" for i in range(7000)]
    assert {lane.elements for lane in reader.stats().lanes} == {437, 438}


@pytest.mark.parametrize("records, lanes", [(0, 1), (10, 1), (63, 1), (64, 16)])
def test_small_files_stay_one_stream(tmp_path: Path, records: int, lanes: int) -> None:
    """Lanes of a few records have no choice to draw from."""
    np.arange(records, dtype=np.int64).tofile(tmp_path / "numbers.bin")
    source = Reader.open_files(f"fixed:{tmp_path}/numbers.bin", slots={"x": ("int64", [1])})
    reader = source.shuffle(64).batch(4)
    assert stated(reader) == [16] * (lanes > 1)
    assert len(reader) == -(-records // 4)
    assert sorted(sum(epoch(reader), [])) == list(range(records))
    said = Reader.open_files(f"fixed:{tmp_path}/numbers.bin", slots={"x": ("int64", [1])}, lanes=16)
    assert sorted(sum(epoch(said.shuffle(64).batch(4)), [])) == list(range(records))


def test_a_state_of_one_lane_names_the_remedy(files: str) -> None:
    def chain(**attributes: Any) -> millhopper.Reader:
        return Reader.open_files(files, **attributes).shuffle(512, seed=1).batch(48)

    old = chain(lanes=1)
    iterator = iter(old)
    before = [next(iterator) for _ in range(5)]
    state = old.state_dict()
    new = chain()
    new.load_state_dict(state)
    with pytest.raises(millhopper.Error, match=r"without lanes, here are 16.*lanes=1\)"):
        iter(new)
    again = chain(lanes=1)
    again.load_state_dict(state)
    rest = epoch(again)
    assert [x for batch in before for x in batch["x"].ravel()] + sum(rest, []) == sum(
        epoch(chain(lanes=1)), []
    )
    newer = chain()
    next(iter(newer))
    again.load_state_dict(newer.state_dict())
    with pytest.raises(millhopper.Error, match=r"saved with 16 lanes, here are none.*lanes=16\)"):
        iter(again)


def ordered_rows(folder: Path, kind: str, count: int) -> millhopper.Reader:
    """A reader of a slot ``x`` that ascends, or is the number of its half."""
    if kind == "csv":
        (folder / "rows.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(count)))
        return Reader.open_files(folder / "rows.csv")
    if kind == "npy":
        np.save(folder / "rows.npy", np.arange(count))
        return Reader.open_files(folder / "rows.npy", names=["x"])
    if kind == "recordio":
        path = folder / "rows.recordio"
        with create_recordio_writer(path, max_num_records=count // 100, names=["x"]) as writer:
            for number in range(count):
                writer.append_tensor(millhopper.LoDTensor.from_array(np.int64([[number]])))
                writer.complete_append_tensor()
        return Reader.open_files(path)
    for i in range(count):
        image = folder / f"class{2 * i // count}" / f"{i:05}.pgm"
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(b"P5 1 1 255 x")
    return Reader.open_files(f"image_folder:{folder}", names=["image", "x"])


# What is ordered by classes, as a folder of images is, is mixed by a shuffle that holds all of it,
# however small the batches are: the lanes have some of each part of the data.
@pytest.mark.parametrize("kind", ["csv", "npy", "recordio", "image_folder"])
@pytest.mark.parametrize("batch_size", [4, 8, 16, 64])
def test_a_shuffle_mixes_what_is_ordered(tmp_path: Path, kind: str, batch_size: int) -> None:
    rows = ordered_rows(tmp_path, kind, 4096)
    batches = [
        np.asarray(batch["x"]).reshape(-1) // (1 if kind == "image_folder" else 2048)
        for batch in rows.shuffle(4096, seed=1).batch(batch_size)
    ]
    classes = np.stack(batches)
    assert classes.shape == (4096 // batch_size, batch_size)
    # Of as many batches that chance alone makes of two classes, with its deviation.
    pure = np.mean([len(set(row)) == 1 for row in classes.tolist()])
    assert abs(pure - 2.0 ** (1 - batch_size)) < 0.05
    # Neighbours, which mixup mixes, are of one class as often as not; and no place in the batch has
    # more of one of them.
    assert abs(np.mean(classes[:, 1:] == classes[:, :-1]) - 0.5) < 0.05
    deviation = 0.5 / np.sqrt(len(batches))
    assert np.abs(classes.mean(axis=0) - 0.5).max() < 5 * deviation
