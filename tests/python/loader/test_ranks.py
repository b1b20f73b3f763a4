# SPDX-License-Identifier: Apache-2.0
"""Which of the processes that train together this one is, as the launchers say it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import millhopper
import pytest
from millhopper.base.ranks import LAUNCHERS, NotKnownYet, Ranks, find_ranks
from number_files import open_numbers, write_numbers


@pytest.fixture(autouse=True)
def no_libraries(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No library says that there are other processes, either."""
    for library in "torch", "jax":
        monkeypatch.delitem(sys.modules, library, raising=False)


def test_alone() -> None:
    assert find_ranks() is None


@pytest.mark.parametrize(("size", "rank"), LAUNCHERS)
def test_launchers_say_it_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: str, rank: str
) -> None:
    monkeypatch.setenv(size, "4")
    monkeypatch.setenv(rank, "2")
    assert find_ranks() == Ranks(4, 2, f"{size} and {rank}")
    # The core finds the same.
    reader = open_numbers(write_numbers(tmp_path / "numbers.bin", 10)).shard()
    assert [int(batch["row"][0, 0]) // 4 for batch in reader] == [2, 6]


@pytest.mark.parametrize(("size", "rank"), LAUNCHERS[:2])
def test_what_runs_within_a_job_of_slurms_counts(
    monkeypatch: pytest.MonkeyPatch, size: str, rank: str
) -> None:
    slurm = {"SLURM_NTASKS": "6", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}
    for name, value in {**slurm, size: "8", rank: "3"}.items():
        monkeypatch.setenv(name, value)
    assert find_ranks() == Ranks(8, 3, f"{size} and {rank}")


def test_an_allocation_of_slurms_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """salloc's shell has the number of tasks; a batch script has SLURM_PROCID, too."""
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert find_ranks() is None
    monkeypatch.setenv("SLURM_PROCID", "0")
    assert find_ranks() is None


def test_libraries_that_are_in_use_count_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    jax = ModuleType("jax")
    jax.distributed = SimpleNamespace(is_initialized=lambda: True)  # type: ignore[attr-defined]
    jax.process_count, jax.process_index = lambda: 3, lambda: 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jax", jax)
    assert find_ranks() == Ranks(3, 1, "jax.distributed")
    torch = ModuleType("torch")
    torch.distributed = SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_world_size=lambda: 2,
        get_rank=lambda: 0,
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert find_ranks() == Ranks(2, 0, "torch.distributed")
    torch.distributed.is_initialized = lambda: False  # type: ignore[attr-defined]
    jax.distributed.is_initialized = lambda: False  # type: ignore[attr-defined]
    assert find_ranks() == Ranks(4, 2, "WORLD_SIZE and RANK")


@pytest.mark.parametrize(
    ("size", "rank", "message"),
    [
        ("2", None, "the environment has WORLD_SIZE, but no RANK"),
        ("two", "0", "the environment's WORLD_SIZE is 'two', which is not a number"),
        ("2", "x", "the environment's RANK is 'x', which is not a number"),
        ("2", "2", "the environment's RANK is 2 and WORLD_SIZE is 2; ranks are numbered from 0"),
    ],
)
def test_what_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, size: str, rank: str | None, message: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", size)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    with pytest.raises(ValueError) as caught:
        find_ranks()
    assert str(caught.value) == message


def test_the_rank_comes_later_where_lightning_has_started_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"WORLD_SIZE": "2", "NODE_RANK": "0", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NotKnownYet, match="tells its rank when the trainer begins"):
        find_ranks()
    torch = pytest.importorskip("torch")
    loader = millhopper.DataLoader([1, 2, 3, 4])
    assert "among the ranks of Lightning's trainer" in repr(loader)
    with pytest.raises(NotKnownYet):
        next(iter(loader))
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert [int(batch) for batch in loader] == [2, 4]


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_parts_that_end_together(tmp_path: Path, shards: int) -> None:
    """torch.utils.data.DistributedSampler's rule, for all sizes of a source."""
    for records in range(131):
        source = millhopper.Reader.create("create_range_reader", count=records, names=["n"])
        rounds = -(-records // shards)
        padded = [i % records for i in range(rounds * shards)]
        dropped = list(range(records // shards * shards))
        for even, expected in ("pad", padded), ("drop", dropped), ("none", list(range(records))):
            for index in range(shards):
                part = source.shard(shards, index, even=even)
                numbers = [int(element["n"][0]) for element in part]
                assert numbers == expected[index::shards], (records, even, index)
                assert len(part) == len(numbers)


def test_a_length_that_is_not_known_beforehand(tmp_path: Path) -> None:
    for lines in range(8):
        (tmp_path / "lines.txt").write_text("".join(f"{i}\n" for i in range(lines)))
        source = millhopper.Reader.open_files(tmp_path / "lines.txt", names=["line"])
        for even, rounds in ("pad", -(-lines // 3)), ("drop", lines // 3):
            parts = [list(source.shard(3, index, even=even)) for index in range(3)]
            assert [len(part) for part in parts] == [rounds] * 3


def test_batches_in_front_of_shards_are_dealt_as_they_are() -> None:
    source = millhopper.Reader.create("create_range_reader", count=11, names=["n"])
    below = [list(source.shard(2, i, even="pad").batch(3)) for i in range(2)]
    assert [[len(batch["n"]) for batch in part] for part in below] == [[3, 3]] * 2
    above = [list(source.batch(3).shard(2, i, even="pad")) for i in range(2)]
    assert [[len(batch["n"]) for batch in part] for part in above] == [[3, 3], [3, 2]]


def test_what_cannot_be_even_is_refused() -> None:
    source = millhopper.Reader.create("create_range_reader", count=11)
    with pytest.raises(millhopper.Error, match="attribute 'even' is 'fair'"):
        source.shard(2, 0, even="fair")
    with pytest.raises(millhopper.Error, match='they cannot be made even: use by: "record"'):
        source.shard(2, 0, by="chunk", even="pad")
