# SPDX-License-Identifier: Apache-2.0
"""Readers that are pickled, as multiprocessing does for a process that it spawns."""

from __future__ import annotations

import multiprocessing
import pickle
from itertools import islice
from pathlib import Path

import millhopper
import numpy as np
import pytest
from conftest import until
from number_files import open_numbers, write_numbers


@pytest.fixture
def reader(tmp_path: Path) -> millhopper.Reader:
    numbers = open_numbers(write_numbers(tmp_path / "numbers.bin", 1000))
    return numbers.shuffle(100, seed=7).batch(64)


def rows(batches: object) -> bytes:
    return np.concatenate([batch["row"] for batch in batches]).tobytes()  # type: ignore[attr-defined]


def test_it_makes_the_same_passes(reader: millhopper.Reader) -> None:
    again = pickle.loads(pickle.dumps(reader))
    assert rows(again) == rows(reader)
    assert rows(again) == rows(reader)
    assert again.to_text() == reader.to_text()
    assert rows(pickle.loads(pickle.dumps(reader))) == rows(reader)  # both pass number 2


def test_names_and_settings_go_with_it(reader: millhopper.Reader, tmp_path: Path) -> None:
    text = reader.to_text().replace(str(tmp_path), "${folder}")
    from_text = millhopper.Reader(
        text, names=["row"], settings={"folder": str(tmp_path)}, name="startup.pbtxt", seed=3
    )
    again = pickle.loads(pickle.dumps(from_text))
    assert rows(again) == rows(from_text)
    with pytest.raises(millhopper.Error, match="startup.pbtxt: .* variable 'files"):
        again.batch(3, name=again._variable)


class Scaled(millhopper.Reader):
    """A subclass with an ``__init__`` of its own."""

    def __init__(self, reader: millhopper.Reader, scale: int) -> None:
        super().__init__(reader.to_text(), names=["row"])
        self.scale = scale

    def total(self) -> int:
        return sum(int(batch["row"].sum()) for batch in self)


def test_a_subclass_may_have_an_init_of_its_own(reader: millhopper.Reader) -> None:
    scaled = Scaled(reader, 3)
    total = sum(range(4000))
    for made in (scaled, scaled.double_buffer(), pickle.loads(pickle.dumps(scaled))):
        assert isinstance(made, Scaled)
        assert made.total() == total
        assert made is scaled or not hasattr(made, "scale")  # as the docstring of Reader says


def test_an_older_pickle_has_the_lanes_as_a_tuple(reader: millhopper.Reader) -> None:
    make, (*fields, lanes) = reader.__reduce__()
    assert make(*fields, tuple(lanes)).to_text() == reader.to_text()


def test_a_running_loop_stays_where_it_is(reader: millhopper.Reader) -> None:
    loop = iter(reader)
    first = rows(islice(loop, 3))
    again = pickle.loads(pickle.dumps(reader))
    rest = rows(loop)
    again.set_epoch(0)
    assert rows(again) == first + rest
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(loop)


def read_all(reader: millhopper.Reader, connection: multiprocessing.connection.Connection) -> None:
    connection.send_bytes(rows(reader))


def test_a_spawned_process_reads_with_one_of_its_own(reader: millhopper.Reader) -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    loop = iter(reader)
    next(loop)
    process = context.Process(target=read_all, args=(reader, there))
    process.start()
    there.close()
    assert here.poll(30)
    received = here.recv_bytes()
    process.join()
    assert process.exitcode == 0
    process.close()
    here.close()
    del loop
    reader.set_epoch(1)
    assert received == rows(reader)
    tracker = multiprocessing.resource_tracker._resource_tracker
    tracker._stop()
    until(lambda: tracker._pid is None)
