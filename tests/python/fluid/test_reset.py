# SPDX-License-Identifier: Apache-2.0
"""Resetting a reader by the handle of any reader below it: all elements again, once each.

The lineage's programs keep the handle of their files (lineage.md, 4.1 and 6, reader reset).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.programs.reader_creation import share_reader

RECORDS = 50
BATCH = 8

Decorate = Callable[[fluid.Variable], fluid.Variable]
CHAINS: dict[str, Decorate] = {
    "batch": lambda files: layers.batch(files, BATCH),
    "double_buffer": lambda files: layers.double_buffer(layers.batch(files, BATCH)),
    "shuffle": lambda files: layers.batch(layers.shuffle(files, 16), BATCH),
    "all": lambda files: layers.double_buffer(
        layers.batch(layers.shuffle(layers.double_buffer(files, depth=4), 16), BATCH)
    ),
}


pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def files(tmp_path: Path) -> fluid.Variable:
    """A reader of RECORDS numbers, in RecordIO files of 10."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        number = layers.data("number", [1], dtype="int64")
        feeder = fluid.DataFeeder([number], fluid.CPUPlace())
    fluid.recordio_writer.convert_reader_to_recordio_files(
        tmp_path / "numbers.recordio",
        10,
        fluid.batch(lambda: ((i,) for i in range(RECORDS)), 1),
        feeder,
    )
    names = sorted(map(str, tmp_path.glob("*.recordio")))
    return layers.open_files(names, shapes=[[-1, 1]], lod_levels=[0], dtypes=["int64"])


class Running:
    """The numbers that the main program reads, of a chain whose startup program has been run."""

    def __init__(self, *tops: fluid.Variable) -> None:
        self.outs = [layers.read_file(top) for top in tops]
        self.executor = fluid.Executor(fluid.CPUPlace())
        self.executor.run(fluid.default_startup_program())

    def read(self, most: int = RECORDS) -> list[int]:
        numbers: list[int] = []
        try:
            while len(numbers) < most:
                for batch in self.executor.run(fetch_list=self.outs):
                    numbers += batch.ravel().tolist()
        except fluid.core.EOFException:
            pass
        return numbers


@pytest.mark.parametrize("chain", CHAINS)
def test_a_hundred_passes_by_the_handle_of_the_files(files: fluid.Variable, chain: str) -> None:
    running = Running(CHAINS[chain](files))
    orders = set()
    for _ in range(100):
        numbers = running.read(RECORDS + 1)  # to the end
        assert sorted(numbers) == list(range(RECORDS))
        orders.add(tuple(numbers))
        files.reset()
    assert (len(orders) > 90) == (chain in ("shuffle", "all"))


@pytest.mark.parametrize("chain", CHAINS)
def test_nothing_is_lost_or_doubled_by_a_reset_in_the_middle(
    files: fluid.Variable, chain: str
) -> None:
    running = Running(CHAINS[chain](files))
    for most in (0, 1, BATCH + 1, RECORDS):
        assert len(set(running.read(most))) >= most
        files.reset()
        assert sorted(running.read(RECORDS + 1)) == list(range(RECORDS))
        files.reset()


def test_the_order_is_that_of_a_reset_from_the_top(files: fluid.Variable) -> None:
    top = CHAINS["all"](files)
    orders = []
    for handle in (files, top):
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(fluid.Program()):
            share_reader(top)
            running = Running(top)
            orders.append([])
            for _ in range(3):
                orders[-1].append(running.read(RECORDS + 1))
                handle.reset()
    assert orders[0] == orders[1]


def test_readers_that_share_the_files_begin_one_pass(files: fluid.Variable) -> None:
    shuffled = layers.shuffle(files, 5)
    left, right = layers.batch(shuffled, 5), layers.batch(shuffled, 5)
    running = Running(left, right)
    for alone in (left, right):
        for handle in (files, shuffled):
            alone.reset()  # leaves the other one at the end of its pass
            assert not running.read()
            handle.reset()
            assert sorted(running.read(RECORDS + 1)) == list(range(RECORDS))


def test_the_operator_reaches_as_far(files: fluid.Variable) -> None:
    top = CHAINS["all"](files)
    passes, total = layers.zeros([1], "int64"), layers.zeros([1], "int64")
    three = layers.fill_constant([1], "int64", 3)
    more = layers.less_than(passes, three)
    with layers.While(more).block():
        branch = layers.IfElse(layers.has_next(top))
        with branch.true_block():
            rows = layers.read_file(top)
            layers.sums([total, layers.cast(layers.mean(layers.cast(rows, "float32")), "int64")])
            layers.increment(total)
        with branch.false_block():
            layers.increment(passes)
            files.reset()
            layers.less_than(passes, three, cond=more)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    (batches,) = executor.run(fetch_list=[total])
    assert batches.tolist() == [3 * -(-RECORDS // BATCH)]


def test_a_reader_that_fails_is_restarted_by_the_handle_below(tmp_path: Path) -> None:
    path = tmp_path / "numbers.bin"
    np.arange(20, dtype=np.int64).tofile(path)
    files = layers.open_files(f"fixed:{path}", [[1, 1]], [0], ["int64"])
    preprocessor = layers.Preprocessor(files)
    with preprocessor.block():
        (number,) = preprocessor.inputs()
        preprocessor.outputs(
            layers.elementwise_div(layers.fill_constant([1, 1], "int64", 6), number)
        )
    running = Running(preprocessor())
    for _ in range(2):
        with pytest.raises(fluid.Error, match="divi|zero"):
            running.read()
        files.reset()
