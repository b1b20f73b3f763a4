# SPDX-License-Identifier: Apache-2.0
"""Random chains of steps on images with masks, boxes, labels and points.

Each yields the same bytes for any threads and from any place on after a resume, with 1, 3 and 16
lanes; an image becomes the same whatever the lanes are. Another seed, or more chains::

    MILLHOPPER_IMAGE_CHAINS=200 MILLHOPPER_IMAGE_CHAIN_SEED=7 pytest -s test_random_chains.py
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import millhopper
import pytest
from millhopper import Ragged, Reader, vision
from test_moved_slots import ALL, COUNT, SLOTS, records

CHAINS = int(os.environ.get("MILLHOPPER_IMAGE_CHAINS", "12"))
FIRST = int(os.environ.get("MILLHOPPER_IMAGE_CHAIN_SEED", "1"))
SIZE = 24  # of all images at the end, so that they can be batched

# What may come in any order: each makes images of any size of images of any size.
STEPS: list[Callable[[], Any]] = [
    lambda: vision.RandomResizedCrop(30),
    lambda: vision.RandomHorizontalFlip(),
    lambda: vision.RandomVerticalFlip(0.3),
    lambda: vision.RandomCrop(26, pad_if_needed=True, mask_fill=255),
    lambda: vision.Resize(28, max_size=60),
    lambda: vision.ScaleJitter(40, (0.5, 1.5)),
    lambda: vision.RandomShortestSize([20, 33], 70),
    lambda: vision.ResizeKeepRatio(40, 0.5, scale_p=0.5, aspect_p=0.5),
    lambda: vision.Pad([1, 2, 3, 4], fill=7),
    lambda: vision.RandomZoomOut(side_range=(1.0, 1.5), mask_fill=255),
    lambda: vision.RandomRotation(30),
    lambda: vision.RandomAffine(20, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5),
    lambda: vision.RandomPerspective(0.3, 0.5),
    lambda: vision.ElasticTransform(20, 3),
    lambda: vision.ColorJitter(0.4, 0.4, 0.4, 0.1),
    lambda: vision.RandomPhotometricDistort(),
    lambda: vision.RandAugment(),
    lambda: vision.GaussianNoise(),
    lambda: vision.GaussianBlur(3),
    lambda: vision.JPEG((30, 90)),
]


def drawn_step(draw: random.Random, depth: int = 0) -> Any:
    """A step, or a choice of some."""
    kind = draw.randrange(8)
    if depth == 2 or kind > 2:
        return draw.choice(STEPS)()
    inner = [drawn_step(draw, depth + 1) for _ in range(draw.randint(1, 3))]
    if kind == 0:
        return vision.RandomApply(inner, p=draw.choice([0.2, 0.5, 0.8]))
    if kind == 1:
        return vision.RandomChoice(inner)
    return vision.RandomOrder(inner[:2])


def drawn_chain(draw: random.Random) -> vision.Compose:
    steps = [vision.DecodeImage(), *(drawn_step(draw) for _ in range(draw.randint(1, 5)))]
    if draw.random() < 0.5:
        steps.insert(draw.randrange(1, len(steps) + 1), vision.SanitizeBoxes(["label"]))
    steps.append(vision.Resize((SIZE, SIZE)))
    if draw.random() < 0.5:
        steps += [vision.Normalize(), vision.ToCHW()]
    return vision.Compose(steps, slots=ALL)


def reader_of(chain: vision.Compose, lanes: int, shuffle: int, batch: int) -> Reader:
    given = [
        {**record, "number": [i]} for i, record in enumerate([*records(), *records(), *records()])
    ]
    reader = Reader.from_dataset(given, slots={**SLOTS, "number": ("int64", [1, 1], 0)}, seed=5)
    reader = chain(reader.lanes(lanes) if lanes > 1 else reader)
    return (reader.shuffle(shuffle, seed=3) if shuffle else reader).batch(batch)


def content(batches: Iterator[Any]) -> list[dict[str, tuple[bytes, ...]]]:
    def of(slot: Any) -> tuple[bytes, ...]:
        if isinstance(slot, Ragged):
            return (slot.values.tobytes(), *(level.tobytes() for level in slot.offsets))
        return (slot.tobytes(),)

    return [{name: of(slot) for name, slot in batch.items()} for batch in batches]


@pytest.fixture
def any_threads() -> Iterator[None]:
    yield
    millhopper.set_threads(0)


@pytest.mark.usefixtures("any_threads")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + CHAINS))
def test_chains_are_the_same_for_any_threads_lanes_and_resumes(seed: int) -> None:
    draw = random.Random(seed)
    chain = drawn_chain(draw)
    print(chain)
    shuffle, batch = draw.choice([0, 16, 50]), draw.choice([1, 5])
    images = []
    for lanes in (1, 3, 16):
        wanted = None
        for threads in (0, 1, 2, 7):
            millhopper.set_threads(threads)
            made = content(iter(reader_of(chain, lanes, shuffle, batch)))
            wanted = made if wanted is None else wanted
            assert made == wanted, (lanes, threads)
        assert wanted is not None
        for taken in draw.sample(range(len(wanted) + 1), 2):
            reader = reader_of(chain, lanes, shuffle, batch)
            batches = iter(reader)
            for _ in range(taken):
                next(batches)
            again = reader_of(chain, lanes, shuffle, batch)
            millhopper.set_threads(draw.choice([0, 1, 2, 7]))
            again.load_state_dict(reader.state_dict())
            # A pass that has ended is followed by the next one.
            if taken < len(wanted):
                assert content(iter(again)) == wanted[taken:], (lanes, taken)
        if batch == 1:
            images.append({one["number"]: one for one in wanted})
            assert len(images[-1]) == 3 * COUNT
    assert all(other == images[0] for other in images[1:])
