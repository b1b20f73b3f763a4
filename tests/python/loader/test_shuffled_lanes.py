# SPDX-License-Identifier: Apache-2.0
"""DataLoader(shuffle=True) on files of which nobody has said how many lanes they have."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from number_files import open_numbers, write_numbers

pytestmark = pytest.mark.usefixtures("torch_or_stand_in")

RECORDS = 3001
ALL = list(range(0, 4 * RECORDS, 4))


@pytest.fixture
def dataset(tmp_path: Path) -> millhopper.Reader:
    return open_numbers(write_numbers(tmp_path / "numbers.bin", RECORDS))


def of_rank(dataset: millhopper.Reader, ranks: int, rank: int, **more: Any) -> Any:
    keywords = {"global_batch": 48, "shuffle": True, "seed": 5, "shuffle_buffer": 512, **more}
    return millhopper.DataLoader(dataset, num_shards=ranks, index=rank, **keywords)


def steps(loader: Any) -> list[list[int]]:
    return [batch["row"][:, 0].tolist() for batch in loader]


def together(parts: list[Any]) -> list[list[int]]:
    """What all ranks have at each step."""
    return [sorted(sum(step, [])) for step in zip_strict(*map(steps, parts))]


@pytest.mark.parametrize("even", ["pad", "drop", "none"])
def test_ranks_share_16_lanes_and_each_step(dataset: millhopper.Reader, even: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = together([of_rank(dataset, 1, 0, even=even)])
        read = sum(whole, [])
        assert set(read) <= set(ALL)
        assert len(read) == {"pad": 3008, "drop": 2992, "none": RECORDS}[even]
        for ranks in 2, 4, 8, 16:
            parts = [of_rank(dataset, ranks, rank, even=even) for rank in range(ranks)]
            if even == "none":  # the tail may have a step more on some ranks
                found = [step for part in parts for batch in steps(part) for step in batch]
                assert sorted(found) == ALL
            else:
                assert together(parts) == whole, ranks


def test_other_numbers_of_ranks_have_a_multiple_of_lanes(dataset: millhopper.Reader) -> None:
    parts = [of_rank(dataset, 3, rank, even="drop") for rank in range(3)]
    read = sum(together(parts), [])
    assert len(set(read)) == len(read) == RECORDS // 48 * 48
    assert parts[0].state_dict()["lanes"] == 48
    shuffled = dataset.shuffle(512)  # by the reader, which knows of no ranks
    other = [of_rank(shuffled, 3, rank, even="drop", shuffle=False) for rank in range(3)]
    assert len(set(sum(together(other), []))) == RECORDS // 48 * 48


def test_a_state_brings_its_number_of_lanes(dataset: millhopper.Reader) -> None:
    """3 ranks have 48 lanes, which 4 go on with, although they would have begun with 16."""

    def parts(ranks: int) -> list[Any]:
        return [of_rank(dataset, ranks, rank) for rank in range(ranks)]

    whole = together(parts(3))
    first = parts(3)
    read = []
    for part in first:
        iterator = iter(part)
        read.append([next(iterator)["row"][:, 0].tolist() for _ in range(10)])
    assert [sorted(sum(step, [])) for step in zip_strict(*read)] == whole[:10]
    state = millhopper.merge_states([part.state_dict() for part in first])
    second = parts(4)
    for part in second:
        part.load_state_dict(state)
    assert together(second) == whole[10:]
    # The passes that follow are those of as many lanes, too.
    for part in (*first, *second):
        part.set_epoch(1)
    assert together(second) == together(first)


def test_a_state_from_before_lanes_goes_on_in_one(dataset: millhopper.Reader) -> None:
    def alone(**more: Any) -> Any:
        return of_rank(dataset, 1, 0, **more)

    one_lane = open_numbers(Path(str(dataset_path(dataset))), lanes=1)
    before = of_rank(one_lane, 1, 0)
    iterator = iter(before)
    read = [next(iterator)["row"][:, 0].tolist() for _ in range(7)]
    state = before.state_dict()
    assert state.pop("lanes") == 1
    assert "even" not in state
    later = alone()
    later.load_state_dict(state)
    whole = steps(of_rank(one_lane, 1, 0))
    assert read + steps(later) == whole != steps(alone())


def dataset_path(reader: millhopper.Reader) -> str:
    return reader.to_text().split('strings: "fixed:')[1].split('"')[0]


def test_lanes_that_cannot_be_even_are_none(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{i:0119}\n" for i in range(600)))
    lines = millhopper.Reader.open_files(f"text:{tmp_path}/lines", names=["x"])

    def texts(loader: Any) -> list[bytes]:
        read = b"".join(bytes(np.asarray(batch["x"].values)) for batch in loader)
        return [read[at : at + 119] for at in range(0, len(read), 119)]

    def parts(even: str) -> list[Any]:
        return [of_rank(lines, 2, rank, even=even) for rank in range(2)]

    with pytest.warns(UserWarning, match="cannot be made even.*not known before"):
        padded = [texts(part) for part in parts("pad")]
    assert [len(own) for own in padded] == [300, 300]
    assert len(set(padded[0] + padded[1])) == 600
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shared = [texts(part) for part in parts("none")]
        assert len(set(shared[0] + shared[1])) == 600
        assert parts("none")[0].state_dict()["lanes"] == 16
        assert len(texts(of_rank(lines, 1, 0, even="pad"))) == 600
    # A few records: none is repeated more often than the number of ranks asks for.
    np.arange(101 * 100, dtype=np.int64).tofile(tmp_path / "few.bin")
    slots: dict[str, Any] = {"row": ("int64", [1, 100])}
    few = millhopper.Reader.open_files(f"fixed:{tmp_path}/few.bin", slots=slots)
    with pytest.warns(UserWarning, match="cannot be made even.*or they have few"):
        sizes = [sum(map(len, steps(of_rank(few, 4, rank)))) for rank in range(4)]
    assert sizes == [26] * 4


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_of_torch_share_the_stream(dataset: millhopper.Reader, workers: int) -> None:
    from torch.utils.data import DataLoader

    reader = dataset.shuffle(512, seed=2)
    whole = [row["row"][0, 0].item() for row in reader.torch()]
    assert sorted(whole) == ALL
    for shared in (reader, reader.batch(1)):
        shared.set_epoch(0)
        loader = DataLoader(shared.torch(), batch_size=None, num_workers=workers)
        found = [row["row"][0, 0].item() for row in loader]
        if shared is reader:
            assert found == whole
        assert sorted(found) == ALL


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_reader_that_makes_batches_goes_on(dataset: millhopper.Reader, ranks: int) -> None:
    """It has chosen lanes, which the ranks do not share."""

    def loader() -> Any:
        batches = dataset.shuffle(512).batch(32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return millhopper.DataLoader(
                batches, batch_size=None, num_shards=ranks, index=ranks - 1, seed=5
            )

    whole = steps(loader())
    begun = loader()
    next(iter(begun))
    state = begun.state_dict()
    assert "even" not in state
    later = loader()
    later.load_state_dict(state)
    assert steps(later) == whole[1:]
    if ranks > 1:
        with pytest.raises(millhopper.Error, match="there must be as many as before"):
            millhopper.DataLoader(
                dataset.shuffle(512).batch(32), batch_size=None, num_shards=2, index=0, seed=5
            ).load_state_dict(state)
