# SPDX-License-Identifier: Apache-2.0
"""Whole recipes against torchvision's functions on the same draws, which are computed anew.

What is resized is compared with Pillow, whose version 13 rounds some values otherwise
(``test_pillow.py``): 1 in 10 bytes of an image may differ, by 1. Other images
are made with MILLHOPPER_IMAGE_SEED.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from drawn import Key
from millhopper import Reader, vision
from test_vision import png

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision.transforms import InterpolationMode  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402

COUNT = 40
SEED = int(os.environ.get("MILLHOPPER_IMAGE_SEED", "1"))
SLOTS = {
    "image": ("uint8", [-1], 1),
    "mask": ("uint8", [-1], 1),
    "boxes": ("float32", [-1, 4], 1),
    "labels": ("int64", [-1], 1),
}
PLAIN = {"mean": [0.0], "std": [1.0]}


def records() -> list[dict[str, np.ndarray]]:
    """Smooth images of several sizes, their classes and boxes, as arrays."""
    draw = np.random.default_rng(SEED)
    made = []
    for i in range(COUNT):
        height, width = draw.integers(40, 110, 2).tolist()
        y, x = np.mgrid[:height, :width]
        fast = draw.uniform(5, 20, 6)
        waves = [np.sin(x / fast[c] + c) * np.cos(y / fast[3 + c]) for c in range(3)]
        corners = np.sort(draw.uniform(0, 1, (i % 4, 2, 2)), axis=1) * [width, height]
        made.append(
            {
                "image": (np.stack(waves, axis=-1) * 90 + 120).astype(np.uint8),
                "mask": (1 + y // 9 * 10 + x // 11).astype(np.uint8),
                "boxes": corners.reshape(-1, 4).astype(np.float32),
                "labels": draw.integers(1, 90, i % 4),
            }
        )
    return made


def made_by(recipe: vision.Compose, *slots: str) -> list[dict[str, Any]]:
    encoded = [
        {
            **record,
            "image": np.frombuffer(png(record["image"]), np.uint8),
            "mask": np.frombuffer(png(record["mask"], bytes(768)), np.uint8),
        }
        for record in records()
    ]
    given = [{slot: record[slot] for slot in slots} for record in encoded]
    reader = Reader.from_dataset(given, slots={slot: SLOTS[slot] for slot in slots}, seed=5)
    made = recipe(reader) if recipe.slots else recipe(reader, slot="image")
    return list(made)


def draws_of(operator: str) -> Iterator[Key]:
    """The draws of a step of each record, by its default name."""
    return (Key(f"dataset.numbers.{operator}:Out", i, run_seed=5) for i in range(COUNT))


def expect_near(made: np.ndarray, wanted: Any) -> None:
    """Values from 0 to 1 in planes, and an image of bytes."""
    bytes_made = np.rint(made * 255).astype(int)
    np.testing.assert_allclose(made * 255, bytes_made, atol=1e-3)
    difference = np.abs(bytes_made - np.asarray(wanted).astype(int).transpose(2, 0, 1))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.1


def part_of(key: Key, width: int, height: int, low: float, high: float) -> tuple[int, ...]:
    """RandomResizedCrop.get_params with these draws: top, left, height and width."""
    low, high = float(np.float32(low)), float(np.float32(high))
    logs = [math.log(float(np.float32(ratio))) for ratio in (3 / 4, 4 / 3)]
    for k in range(0, 40, 4):
        area = width * height * (low + (high - low) * key.unit(k))
        ratio = math.exp(logs[0] + (logs[1] - logs[0]) * key.unit(k + 1))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            top = key.below(height - h + 1, k + 2)
            return top, key.below(width - w + 1, k + 3), h, w
    w, h = width, height
    if width / height < 3 / 4:
        h = round(width / float(np.float32(3 / 4)))
    elif width / height > 4 / 3:
        w = round(height * float(np.float32(4 / 3)))
    return (height - h) // 2, (width - w) // 2, h, w


@pytest.mark.parametrize(
    ("recipe", "low", "flips", "mode"),
    [
        (vision.imagenet_train(32, **PLAIN), 0.08, True, InterpolationMode.BILINEAR),
        (vision.clip(32, **PLAIN), 0.9, False, InterpolationMode.BICUBIC),
    ],
)
def test_classification(
    recipe: vision.Compose, low: float, flips: bool, mode: InterpolationMode
) -> None:
    flipped = 0
    keys = zip(draws_of("random_resized_crop"), draws_of("flip"))
    for given, made, (crop, flip) in zip(records(), made_by(recipe, "image"), keys):
        image = Image.fromarray(given["image"])
        box = part_of(crop, *image.size, low, 1.0)
        wanted = F.resized_crop(image, *box, [32, 32], mode)
        if flips and flip.unit24(0) < 0.5:
            flipped += 1
            wanted = F.hflip(wanted)
        expect_near(made["image"][0], wanted)
    assert (COUNT // 4 < flipped < COUNT * 3 // 4) is flips


def scaled(image: Image.Image, factor: float) -> tuple[int, int]:
    return max(int(image.width * factor), 1), max(int(image.height * factor), 1)


def test_segmentation() -> None:
    size, lengths = 48, range(26, 104)
    made = made_by(vision.segmentation(size, base=52, **PLAIN), "image", "mask")
    keys = zip(draws_of("random_shortest_size"), draws_of("flip"), draws_of("random_crop"))
    for given, one, (shortest, flip, crop) in zip(records(), made, keys):
        image, mask = Image.fromarray(given["image"]), Image.fromarray(given["mask"])
        resized = scaled(image, lengths[shortest.below(len(lengths), 0)] / min(image.size))
        image, mask = image.resize(resized, Image.BILINEAR), mask.resize(resized, Image.NEAREST)
        if flip.unit24(0) < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        across, down = (max(size - side, 0) for side in image.size)
        image, mask = (F.pad(i, [across, down], f) for i, f in ((image, 0), (mask, 255)))
        top = crop.below(image.height - size + 1, 0)
        left = crop.below(image.width - size + 1, 1)
        expect_near(one["image"][0], F.crop(image, top, left, size, size))
        wanted = np.asarray(F.crop(mask, top, left, size, size))
        np.testing.assert_array_equal(one["mask"][0, :, :, 0], wanted)


def expect_boxes(made: dict[str, Any], boxes: np.ndarray, labels: np.ndarray, image: Any) -> None:
    clipped = np.clip(boxes, 0, [image.width, image.height] * 2)
    sides = clipped[:, 2:] - clipped[:, :2]
    left = (sides >= 1).all(1)
    np.testing.assert_allclose(made["boxes"].values, clipped[left], rtol=0, atol=2e-3)
    np.testing.assert_array_equal(made["labels"].values, labels[left])


@pytest.mark.parametrize("size", [None, 48])
def test_detection_with_flips(size: int | None) -> None:
    made = made_by(vision.coco_detection("hflip", size=size), "image", "boxes", "labels")
    for given, one, flip in zip(records(), made, draws_of("flip")):
        image, boxes = Image.fromarray(given["image"]), given["boxes"].astype(float)
        if size is not None:
            boxes = boxes * ([size / image.width, size / image.height] * 2)
            image = image.resize((size, size), Image.BILINEAR)
        if flip.unit24(0) < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        expect_near(one["image"][0], image)
        expect_boxes(one, boxes, given["labels"], image)


def test_detection_with_jitter_of_scale() -> None:
    size = 64
    made = made_by(vision.coco_detection("lsj", size=size), "image", "boxes", "labels")
    keys = zip(draws_of("scale_jitter"), draws_of("random_crop"), draws_of("flip"))
    for given, one, (jitter, crop, flip) in zip(records(), made, keys):
        image, boxes = Image.fromarray(given["image"]), given["boxes"].astype(float)
        low, high = float(np.float32(0.1)), 2.0
        fits = min(size / image.width, size / image.height)
        resized = scaled(image, fits * (low + (high - low) * jitter.unit(0)))
        boxes = boxes * ([resized[0] / image.width, resized[1] / image.height] * 2)
        image = image.resize(resized, Image.BILINEAR)
        lacking = [max(size - side, 0) for side in image.size]
        image = F.pad(image, [0, 0, *lacking], (123, 117, 104))
        top = crop.below(image.height - size + 1, 0)
        left = crop.below(image.width - size + 1, 1)
        image, boxes = F.crop(image, top, left, size, size), boxes - ([left, top] * 2)
        if flip.unit24(0) < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = size - boxes[:, [2, 0]]
        expect_near(one["image"][0], image)
        expect_boxes(one, boxes, given["labels"], image)
