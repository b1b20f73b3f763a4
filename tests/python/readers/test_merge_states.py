# SPDX-License-Identifier: Apache-2.0
"""States of ranks that share lanes, put together, are a state of any number of ranks."""

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import millhopper
import pytest
from number_files import write_number_chunks

RECORDS = 3000
BATCH = 24
DIVISORS = (1, 2, 3, 4, 6, 12)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_number_chunks(tmp_path_factory.mktemp("ranks"), RECORDS)


def of_rank(files: str, rank: int, ranks: int) -> millhopper.Reader:
    reader = millhopper.Reader.open_files(files, lanes=12, seed=3).shuffle(96)
    return reader.shard(ranks, rank).batch(BATCH).double_buffer()


class Ranks:
    """The readers of all ranks, and their loops."""

    def __init__(self, files: str, ranks: int, state: dict[str, Any] | None = None) -> None:
        self.readers = [of_rank(files, rank, ranks) for rank in range(ranks)]
        if state is not None:
            for reader in self.readers:
                reader.load_state_dict(state)
        self.loops: list[Iterator[Any]] = [iter(reader) for reader in self.readers]

    def step(self) -> list[int]:
        batches = [next(loop, None) for loop in self.loops]
        return sorted(int(x) for batch in batches if batch for x in batch["x"].ravel())

    def states(self) -> list[dict[str, Any]]:
        return [reader.state_dict() for reader in self.readers]


@pytest.mark.parametrize("seed", range(10))
def test_any_number_of_ranks_goes_on(files: str, seed: int) -> None:
    draw = random.Random(seed)
    undisturbed, run = Ranks(files, 1), Ranks(files, draw.choice(DIVISORS))
    seen: list[int] = []
    for step in range(RECORDS // BATCH + 40):
        if draw.random() < 0.1 and step < RECORDS // BATCH - 20:
            states = run.states()
            draw.shuffle(states)
            run = Ranks(files, draw.choice(DIVISORS), millhopper.merge_states(states))
        expected, records = undisturbed.step(), run.step()
        # Lanes differ by a chunk of 20 records, so that some end before the others.
        if step < RECORDS // BATCH - 20:
            assert records == expected, step
        seen += records
    assert sorted(seen) == list(range(RECORDS))


def test_a_state_goes_through_json_and_back(files: str) -> None:
    two = Ranks(files, 2)
    two.step()
    merged = millhopper.merge_states(two.states())
    reader = of_rank(files, 0, 1)
    reader.load_state_dict(merged)
    state = reader.get_state()
    rest = [b["x"].tolist() for b in reader]
    for form in (state, state.decode(), json.loads(state), merged):
        again = of_rank(files, 0, 1)
        again.set_state(form)
        assert [b["x"].tolist() for b in again] == rest


def test_only_all_ranks_at_one_step_make_a_state(files: str) -> None:
    two = Ranks(files, 2)
    two.step()
    first = two.states()
    two.step()
    second = two.states()
    for states, message in [
        ([], "there is no state to merge"),
        (first[:1], "these are 1 positions, one of rank 0 of 2"),
        ([first[0], second[1]], "one rank has read 1 elements of the pass, another one 2"),
        ([first[0], of_rank(files, 1, 2).state_dict()], "within one"),
    ]:
        with pytest.raises(millhopper.Error, match=message):
            millhopper.merge_states(states)
    with pytest.raises(TypeError, match="must be the dict"):
        millhopper.merge_states([1, 2])  # type: ignore[list-item]
    reader = of_rank(files, 0, 3)
    reader.load_state_dict(first[0])
    with pytest.raises(millhopper.Error, match="saved by rank 0 of 2, this is rank 0 of 3"):
        next(iter(reader))


def test_ranks_that_were_restored_and_have_not_read_are_saved_again(files: str) -> None:
    two = Ranks(files, 2)
    two.step()
    merged = millhopper.merge_states(two.states())
    again = Ranks(files, 3, merged)
    before = [of_rank(files, rank, 3) for rank in range(3)]
    for reader in before:
        reader.load_state_dict(merged)
    assert millhopper.merge_states([reader.state_dict() for reader in before]) == merged
    assert again.step() == two.step()


def test_one_process_alone_needs_no_others(files: str) -> None:
    alone = Ranks(files, 1)
    alone.step()
    state = millhopper.merge_states(alone.states()[0])
    rest = of_rank(files, 0, 1)
    rest.load_state_dict(state)
    assert [b["x"].tolist() for b in rest] == [b["x"].tolist() for b in alone.loops[0]]


def test_a_stream_of_one_lane_stays_with_its_ranks(files: str) -> None:
    def sharded(rank: int, ranks: int) -> millhopper.Reader:
        return millhopper.Reader.open_files(files).shard(ranks, rank).batch(8)

    readers = [sharded(rank, 2) for rank in range(2)]
    for reader in readers:
        next(iter(reader))
    states = [reader.state_dict() for reader in readers]
    with pytest.raises(millhopper.Error, match="which must share lanes"):
        millhopper.merge_states(states)
    other = sharded(0, 3)
    other.load_state_dict(states[0])
    with pytest.raises(millhopper.Error, match="num_shards was 2, now it is 3.*lanes"):
        next(iter(other))


def test_lanes_tell_how_many_there_are(files: str) -> None:
    source = millhopper.Reader.open_files(files, lanes=12)
    assert source.num_lanes == 12
    assert source.shuffle(24).shard(3, 1).num_lanes == 12
    assert source.batch(4).num_lanes == 1
    assert millhopper.Reader.open_files(files).num_lanes == 1


def test_jax_gathers_the_states(files: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program = f"""
import sys
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(sys.argv[1])
jax.distributed.initialize({address!r}, 2, rank)
import millhopper
def reader(rank, ranks):
    source = millhopper.Reader.open_files({files!r}, lanes=12, seed=3).shuffle(96)
    return source.shard(ranks, rank).batch({BATCH})
own = reader(rank, 2)
loop = iter(own)
for _ in range(5):
    next(loop)
rest = reader(0, 1)
rest.load_state_dict(millhopper.merge_states(own.state_dict()))
print(sum(batch["x"].size for batch in rest))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    for process in ranks:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error[-2000:]
        assert int(out.split()[-1]) == RECORDS - 5 * BATCH
