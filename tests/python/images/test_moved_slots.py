# SPDX-License-Identifier: Apache-2.0
"""Images whose masks, boxes and points move with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Reader
from millhopper.base.zipped import zip_strict
from test_vision import png

HEIGHT, WIDTH, COUNT = 40, 60, 12


def records() -> list[dict[str, Any]]:
    """Images whose pixels hold their own place, masks that hold the column, boxes and points."""
    row, column = np.mgrid[:HEIGHT, :WIDTH].astype(np.uint8)
    random = np.random.default_rng(3)
    made = []
    for i in range(COUNT):
        image = np.stack([row, column, np.full_like(row, i)], axis=2)
        corners = np.sort(random.uniform(0, 40, (i % 4, 2, 2)), axis=1)
        made.append(
            {
                "image": np.frombuffer(png(image), np.uint8),
                "mask": np.frombuffer(png(column, bytes(range(192)) * 4), np.uint8),
                "boxes": corners.reshape(-1, 4).astype(np.float32),
                "label": np.arange(i % 4),
                "points": random.uniform(0, 40, (2, 2)).astype(np.float32),
            }
        )
    return made


SLOTS = {
    "image": ("uint8", [-1], 1),
    "mask": ("uint8", [-1], 1),
    "boxes": ("float32", [-1, 4], 1),
    "label": ("int64", [-1], 1),
    "points": ("float32", [-1, 2], 1),
}
ALL = {"image": "image", "mask": "mask", "boxes": "xyxy", "points": "points"}

Method = Callable[..., Reader]
METHODS: dict[str, Method] = {
    "resize": lambda reader, **slots: reader.resize((80, 30), **slots),
    "crop": lambda reader, **slots: reader.crop((24, 32), top=3, left=5, **slots),
    "center_crop": lambda reader, **slots: reader.center_crop((24, 32), **slots),
    "random_crop": lambda reader, **slots: reader.random_crop((24, 32), padding=4, **slots),
    "random_resized_crop": lambda reader, **slots: reader.random_resized_crop(24, **slots),
    "horizontal": lambda reader, **slots: reader.random_horizontal_flip(**slots),
    "vertical": lambda reader, **slots: reader.random_vertical_flip(**slots),
    "pad": lambda reader, **slots: reader.pad([1, 2, 3, 4], **slots),
    "rotation": lambda reader, **slots: reader.random_rotation(20, **slots),
    "least": lambda reader, **slots: reader.pad(1, least=(60, 70), where="end", **slots),
    "scale_jitter": lambda reader, **slots: reader.scale_jitter(40, (0.5, 1.5), **slots),
    "shortest": lambda reader, **slots: reader.random_shortest_size([30, 50], 80, **slots),
    "keeping": lambda reader, **slots: reader.resize_keep_ratio(
        40, 0.4, scale_p=0.5, aspect_p=0.5, **slots
    ),
    "cut": lambda reader, **slots: reader.pad([-1, 2, 3, -4], **slots),
    "elastic": lambda reader, **slots: reader.elastic(40, 4, **slots),
    "expanded": lambda reader, **slots: reader.random_rotation(20, expand=True, **slots),
    "perspective": lambda reader, **slots: reader.random_perspective(0.4, 0.8, **slots),
    "affine": lambda reader, **slots: reader.random_affine(
        20, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5, **slots
    ),
}


def decoded(seed: int = 1) -> Reader:
    reader = Reader.from_dataset(records(), slots=SLOTS, seed=seed)
    return reader.decode_image("image").decode_image("mask", mode="P")


@pytest.mark.parametrize("method", METHODS)
def test_a_mask_goes_where_its_image_goes(method: str) -> None:
    moved = METHODS[method](decoded(), slots=["image", "mask"])
    alike = 0
    for batch in moved.batch(1):
        image, mask = np.asarray(batch["image"])[0], np.asarray(batch["mask"])[0, :, :, 0]
        assert image.shape[:2] == mask.shape
        # The image holds the column that a pixel was in; one that is mixed lies near it.
        inside = (image[:, :, 2] > 0) & (mask > 0)
        near = np.abs(image[:, :, 1].astype(int) - mask) <= 2
        alike += int((near | ~inside).mean() > 0.95)
    assert alike >= COUNT - 1


@pytest.mark.parametrize("method", METHODS)
def test_draws_are_those_of_the_image_alone(method: str) -> None:
    alone = METHODS[method](decoded(), slot="image")
    together = METHODS[method](decoded(), slots=ALL)
    for one, other in zip_strict(alone.batch(1), together.batch(1)):
        np.testing.assert_array_equal(np.asarray(one["image"]), np.asarray(other["image"]))


def test_boxes_and_points_are_mirrored() -> None:
    given = records()
    reader = decoded().random_horizontal_flip(1.0, slots=ALL)
    for record, batch in zip_strict(given, reader.batch(1)):
        boxes = np.array(record["boxes"])
        boxes[:, [0, 2]] = WIDTH - boxes[:, [2, 0]]
        np.testing.assert_allclose(np.asarray(batch["boxes"].values), boxes, rtol=1e-6)
        points = np.array(record["points"])
        points[:, 0] = WIDTH - points[:, 0]
        np.testing.assert_allclose(np.asarray(batch["points"].values), points, rtol=1e-6)


def test_boxes_that_fall_out_take_their_labels_with_them() -> None:
    given = records()
    reader = decoded().crop((20, 20), top=10, left=10, slots=ALL)
    reader = reader.sanitize_boxes("boxes", image="image", slots=["label"], min_visibility=0.5)
    kept = 0
    for record, batch in zip_strict(given, reader.batch(1)):
        before = np.asarray(record["boxes"], np.float64) - 10
        after = before.clip(0, 20)
        area = np.prod(after[:, 2:] - after[:, :2], axis=1)
        whole = np.prod(before[:, 2:] - before[:, :2], axis=1)
        sides = after[:, 2:] - after[:, :2]
        stays = (sides >= 1).all(axis=1) & (area >= 1) & (area >= whole / 2)
        np.testing.assert_allclose(np.asarray(batch["boxes"].values), after[stays], rtol=1e-5)
        assert np.asarray(batch["label"].values).tolist() == np.flatnonzero(stays).tolist()
        kept += int(stays.sum())
    assert 0 < kept < sum(len(record["boxes"]) for record in given)


def test_notations_of_boxes() -> None:
    reader = decoded().convert_boxes("boxes", "cxcywh relative", image="image")
    slots = {"image": "image", "boxes": "cxcywh relative"}
    back = reader.random_vertical_flip(1.0, slots=slots).convert_boxes(
        "boxes", "xyxy", source="cxcywh relative", image="image"
    )
    for record, batch in zip_strict(records(), back.batch(1)):
        boxes = np.array(record["boxes"])
        boxes[:, [1, 3]] = HEIGHT - boxes[:, [3, 1]]
        np.testing.assert_allclose(np.asarray(batch["boxes"].values), boxes, atol=1e-4)


def test_wrong_slots_say_what_to_write() -> None:
    reader = decoded()
    with pytest.raises(ValueError, match='"xyxy", "xywh" or "cxcywh"'):
        reader.random_horizontal_flip(slots=["image", "boxes"])
    with pytest.raises(ValueError, match="has no image, whose size"):
        reader.random_horizontal_flip(slots=["mask"])
    with pytest.raises(ValueError, match="'boxes' is 'box'; a slot is one of image, mask"):
        reader.random_horizontal_flip(slots={"image": "image", "boxes": "box"})
    with pytest.raises(ValueError, match="one is meant"):
        reader.random_horizontal_flip(slot="image", slots=["image"])
    with pytest.raises(ValueError, match="in several notations"):
        reader.random_horizontal_flip(slots={"image": "image", "boxes": "xyxy", "points": "xywh"})
    with pytest.raises(TypeError, match="a list of names, or a dict"):
        reader.random_horizontal_flip(slots="image")
    with pytest.raises(ValueError, match="no notation of boxes"):
        reader.convert_boxes("boxes", "yolo")
    small = reader.resize(20, slot="mask").random_horizontal_flip(slots=["image", "mask"])
    with pytest.raises(millhopper.Error, match="what moves together has the same number and size"):
        list(small.batch(1))
