# SPDX-License-Identifier: Apache-2.0
"""Batches that are tuples: what ``to_tuple`` of readers, their views and loaders yields."""

from __future__ import annotations

import pickle

import millhopper
import numpy as np
import pytest

READER = millhopper.Reader.from_arrays(
    {"x": np.arange(10), "y": np.arange(10) % 3, "t": ["a"] * 10}
)


def test_a_batch_is_a_tuple_of_slots() -> None:
    batches = READER.batch(4).to_tuple("y", "x")
    assert len(batches) == 3 and batches
    numbers = [(y.tolist(), x.tolist()) for y, x in batches]
    assert numbers[0] == ([0, 1, 2, 0], [0, 1, 2, 3]) and len(numbers) == 3
    ((x, y, t),) = READER.batch(10).to_tuple()
    assert x.tolist() == list(range(10)) and y.tolist() == [n % 3 for n in range(10)]
    assert t == ["a"] * 10
    ((x,),) = READER.batch(10).to_tuple("x")
    assert x.shape == (10,)
    assert [type(element) for element in READER.map(lambda e: (e["x"], 1)).to_tuple()] == [
        tuple
    ] * 10


def test_a_tuple_of_a_slot_that_there_is_not() -> None:
    with pytest.raises(
        ValueError, match=r"to_tuple: there is no slot 'z'; there are \['x', 'y', 't'\]"
    ):
        next(iter(READER.to_tuple("x", "z")))
    with pytest.raises(TypeError, match="to_tuple: a slot's name"):
        READER.to_tuple(3)  # type: ignore[arg-type]
    with pytest.raises(
        AttributeError, match=r'as_supervised.; to_tuple\("image", "label"\) yields'
    ):
        READER.as_supervised  # noqa: B018


def test_other_steps_come_before() -> None:
    tuples = READER.batch(2).to_tuple("x")
    with pytest.raises(AttributeError) as error:
        tuples.shuffle(3)  # type: ignore[attr-defined]
    assert str(error.value) == (
        "'Tuples' object has no attribute 'shuffle'; shuffle comes before to_tuple: "
        "reader.shuffle(...).to_tuple(...)"
    )
    with pytest.raises(AttributeError, match="^'Tuples' object has no attribute 'shufle'$"):
        tuples.shufle  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="; what it is made of has it: reader.num_lanes$"):
        tuples.num_lanes  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="a Tuples is no array: a loop over it yields tuples"):
        tuples.shape  # noqa: B018
    torch = pytest.importorskip("torch")
    del torch
    with pytest.raises(AttributeError, match=r"batch comes before torch: reader.batch\(...\)"):
        READER.torch().batch(2)  # type: ignore[attr-defined]


def test_tuples_are_resumed() -> None:
    batches = READER.shuffle(10, seed=2).batch(2).to_tuple("x")
    loop = iter(batches)
    next(loop)
    state = batches.get_state()
    again = READER.shuffle(10, seed=2).batch(2).to_tuple("x")
    again.set_state(state)
    assert [x.tolist() for (x,) in again] == [x.tolist() for (x,) in loop]
    batches.set_epoch(0)
    again.set_epoch(0)
    assert [x.tolist() for (x,) in again] == [x.tolist() for (x,) in batches]


@pytest.mark.parametrize("workers", [0, 2])
def test_tuples_of_tensors(workers: int) -> None:
    torch = pytest.importorskip("torch")
    files = millhopper.Reader.create("create_range_reader", count=10, names=["x"])
    batches = files.map(lambda e: {"x": e["x"], "y": e["x"] * 2}).batch(4).torch()
    tuples = batches.to_tuple("x", "y")
    assert isinstance(tuples, torch.utils.data.IterableDataset)
    loader = torch.utils.data.DataLoader(tuples, batch_size=None, num_workers=workers)
    found = [(x, y) for x, y in loader]
    assert torch.cat([x for x, _ in found]).tolist() == list(range(10))
    assert all(torch.equal(2 * x, y) for x, y in found)
    again = pickle.loads(pickle.dumps(files.batch(4).torch().to_tuple("x")))
    assert [x.tolist() for (x,) in again] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_tuples_of_a_loader() -> None:
    torch = pytest.importorskip("torch")
    loader = millhopper.DataLoader(READER, batch_size=5, shuffle=True, seed=1)
    batches = loader.to_tuple("x", "y")
    batches.set_epoch(3)
    found = [(x, y) for x, y in batches]
    assert sorted(torch.cat([x for x, _ in found]).tolist()) == list(range(10))
    assert all(torch.equal(x % 3, y) for x, y in found)
    samples = millhopper.DataLoader([(1, 2), (3, 4)], batch_size=2)
    with pytest.raises(TypeError, match="to_tuple is for a loader of a Reader without"):
        samples.to_tuple("x")


def test_tuples_of_jax() -> None:
    jax = pytest.importorskip("jax")
    for x, y in READER.batch(5).jax().to_tuple("x", "y"):
        assert isinstance(x, jax.Array) and (x % 3 == y).all()
