# SPDX-License-Identifier: Apache-2.0
"""One image of several records: mosaic, mixup and copy-paste against numpy on the same draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import millhopper
import numpy as np
import pytest
from drawn import Key, log_gamma
from millhopper import vision

Reader = millhopper.Reader

SEED = 5
WINDOW = 6
KINDS = {"image": "image", "masks": "mask", "boxes": "xyxy", "points": "points"}
SLOTS: dict[str, Any] = {
    "image": ("uint8", [1, -1, -1, 3], 0),
    "boxes": ("float32", [-1, 4], 1),
    "labels": ("int64", [-1], 1),
    "area": ("float32", [-1], 1),
    "masks": ("uint8", [-1, -1, -1, 1], 1),
    "points": ("float64", [-1, 2, 3], 1),
    "number": ("int64", [1], 0),
}
Record = dict[str, np.ndarray]


def records(size: tuple[int, int] | None) -> list[Record]:
    """Images with 0 to 4 objects each, of this size or of several."""
    random = np.random.default_rng(4)
    made = []
    for i in range(20):
        height, width = size or random.integers(9, 24, 2).tolist()
        n = i % 5
        masks = np.zeros((n, height, width, 1), np.uint8)
        boxes = np.zeros((n, 4), np.float32)
        for k in range(n):
            left, top = random.integers(0, width - 4), random.integers(0, height - 4)
            w, h = random.integers(2, width - left + 1), random.integers(2, height - top + 1)
            masks[k, top : top + h, left : left + w] = 1
            boxes[k] = left, top, left + w, top + h
        made.append(
            {
                "image": random.integers(0, 256, (height, width, 3), dtype=np.uint8),
                "boxes": boxes,
                "labels": random.integers(0, 90, n),
                "area": masks.sum((1, 2, 3)).astype(np.float32) + 0.5,
                "masks": masks,
                "points": random.random((n, 2, 3)) * [width, height, 1],
                "number": np.array(i),
            }
        )
    return made


def reader_of(given: list[Record]) -> Reader:
    return Reader.from_iterable(lambda: iter(given), slots=SLOTS, seed=SEED)


def elements(reader: Reader) -> Iterator[Record]:
    for element in reader:
        yield {name: np.asarray(getattr(slot, "values", slot)) for name, slot in element.items()}


def partners_of(i: int, count: int, total: int) -> list[int]:
    """Those of record i, as the reader of partners draws them."""
    first = i // WINDOW * WINDOW
    others = min(WINDOW, total - first) - 1
    key = Key("iterable.partners", i, SEED)
    drawn = [first + key.below(others, k) for k in range(count)]
    return [other + (other >= i) for other in drawn]


def expect(made: Reader, wanted: list[Record]) -> None:
    found = list(elements(made))
    assert len(found) == len(wanted)
    for i, (one, other) in enumerate(zip(found, wanted)):
        for name, value in other.items():
            values = one[name][0] if name in ("image", "number") else one[name]
            assert values.dtype == value.dtype, (i, name)
            np.testing.assert_array_equal(values, value, err_msg=f"{i} {name}")


def numpy_mosaic(key: Key, four: list[Record], height: int, width: int) -> Record:
    """Around a place of an image of 2 height x 2 width, without boxes that fall out."""
    x = int(width * (0.5 + key.unit(1)))
    y = int(height * (0.5 + key.unit(2)))
    canvas = np.full((2 * height, 2 * width, 3), 114, np.uint8)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in list(SLOTS)[1:-1]}
    for i, one in enumerate(four):
        h, w = one["image"].shape[:2]
        left, top = (x - w, x)[i % 2], (y - h, y)[i // 2]
        ys, xs = np.arange(h) + top, np.arange(w) + left
        rows = (ys >= 0) & (ys < 2 * height)
        columns = (xs >= 0) & (xs < 2 * width)
        canvas[np.ix_(ys[rows], xs[columns])] = one["image"][np.ix_(rows, columns)]
        masks = np.zeros((len(one["masks"]), 2 * height, 2 * width, 1), np.uint8)
        for to, mask in zip(masks, one["masks"]):
            to[np.ix_(ys[rows], xs[columns])] = mask[np.ix_(rows, columns)]
        boxes = one["boxes"] + np.array([left, top, left, top], np.float32)
        boxes = boxes.clip(0, [2 * width, 2 * height, 2 * width, 2 * height]).astype(np.float32)
        kept = (boxes[:, 2] - boxes[:, 0] >= 1) & (boxes[:, 3] - boxes[:, 1] >= 1)
        moved = {**one, "boxes": boxes, "masks": masks, "points": one["points"] + [left, top, 0]}
        for name in parts:
            parts[name].append(moved[name][kept])
    joined = {name: np.concatenate(some) for name, some in parts.items()}
    return {"image": canvas, **joined, "number": four[0]["number"]}


def test_mosaic_is_that_of_numpy() -> None:
    given = records(None)
    made = reader_of(given).mosaic(
        [14, 17], p=0.8, slots=KINDS, window=WINDOW, seed=3, name="drawn"
    )
    wanted, kept = [], 0
    for i, own in enumerate(given):
        key = Key("drawn:Out", i, SEED, 3)
        if key.unit(0) < np.float32(0.8):
            four = [own, *(given[k] for k in partners_of(i, 3, len(given)))]
            wanted.append(numpy_mosaic(key, four, 14, 17))
        else:
            wanted.append(own)
            kept += 1
    assert 0 < kept < 10
    fallen = sum(len(given[k]["boxes"]) for i in range(20) for k in [i, *partners_of(i, 3, 20)])
    assert sum(len(one["boxes"]) for one in wanted) < fallen
    expect(made, wanted)


def test_class_masks_of_a_mosaic_are_one() -> None:
    given = records((8, 10))
    for one in given:
        one["masks"] = one["image"][None, :, :, :1] % 7
    slots = {**SLOTS, "masks": ("uint8", [1, -1, -1, 1], 0)}
    reader = Reader.from_iterable(
        lambda: ({**one, "masks": one["masks"][0]} for one in given), slots=slots, seed=SEED
    )
    kinds = {"image": "image", "masks": "mask"}
    made = elements(reader.mosaic([9, 9], slots=kinds, labels=[], fill=0, mask_fill=255))
    for element in made:
        seen = element["masks"] != 255
        assert 0 < seen.sum() <= 18 * 18
        np.testing.assert_array_equal(
            element["masks"][0, seen[0, :, :, 0], 0], element["image"][0, seen[0, :, :, 0], 0] % 7
        )


def test_mixup_is_that_of_numpy() -> None:
    given = records((12, 11))
    made = reader_of(given).mixup_detection(
        8.0, p=0.7, slots=KINDS, window=WINDOW, seed=3, name="drawn"
    )
    wanted = []
    for i, own in enumerate(given):
        key = Key("drawn:Out", i, SEED, 3)
        if not key.unit(0, image=2) < np.float32(0.7):
            wanted.append(own)
            continue
        part = 1 / (1 + np.exp(log_gamma(key, 1, 8.0) - log_gamma(key, 0, 8.0)))
        other = given[partners_of(i, 1, len(given))[0]]
        both = {name: np.concatenate([own[name], other[name]]) for name in list(SLOTS)[1:-1]}
        blended = (own["image"] * part + other["image"] * (1 - part)).astype(np.uint8)
        wanted.append({**both, "image": blended, "number": own["number"]})
    expect(made, wanted)


def numpy_copy_paste(key: Key, own: Record, other: Record) -> Record:
    """torchvision's SimpleCopyPaste without blending."""
    n = len(other["masks"])
    chosen = np.unique(np.array([key.below(n, 1 + k) for k in range(n)], np.int64))
    pasted = {name: other[name][chosen] for name in list(SLOTS)[1:-1]}
    alpha = pasted["masks"].sum(axis=0) > 0
    below = own["masks"] * ~alpha
    left = below.sum((1, 2, 3)) > 0
    boxes = []
    for mask in below[left]:
        ys, xs = np.nonzero(mask[:, :, 0])
        boxes.append([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1])
    kept = {name: own[name][left] for name in pasted}
    kept["masks"], kept["boxes"] = below[left], np.array(boxes, np.float32).reshape(-1, 4)
    joined = {name: np.concatenate([kept[name], pasted[name]]) for name in pasted}
    joined["area"] = joined["masks"].sum((1, 2, 3)).astype(np.float32)
    image = np.where(alpha, other["image"], own["image"])
    return {**joined, "image": image, "number": own["number"]}


def test_copy_paste_is_that_of_numpy() -> None:
    given = records((16, 15))
    made = reader_of(given).copy_paste(
        p=0.8,
        slots={"image": "image", "masks": "mask", "boxes": "xyxy"},
        labels=["labels", "area", "points"],
        window=WINDOW,
        seed=3,
        name="drawn",
    )
    wanted, lost = [], 0
    for i, own in enumerate(given):
        key = Key("drawn:Out", i, SEED, 3)
        if key.unit(0) < np.float32(0.8):
            wanted.append(numpy_copy_paste(key, own, given[partners_of(i, 1, len(given))[0]]))
        else:
            wanted.append({**own, "area": own["masks"].sum((1, 2, 3)).astype(np.float32)})
        lost += sum(mask.sum() for mask in own["masks"]) > wanted[-1]["masks"].sum()
    expect(made, wanted)


def chain() -> Reader:
    """Two of them, in a recipe, with an order that is drawn anew."""
    recipe = vision.Compose(
        [
            vision.Mosaic(16, window=8),
            vision.CenterCrop(20),
            vision.SanitizeBoxes(labels=["labels", "area", "masks"]),
            vision.MixUpDetection(p=0.5, window=8),
            vision.CopyPaste(p=0.5, window=8),
        ],
        slots={"image": "image", "masks": "mask", "boxes": "xyxy"},
    )
    return recipe(reader_of(records(None)).select(*list(SLOTS)[:5]).shuffle(7)).batch(3)


def test_the_same_for_any_threads_and_after_a_resume() -> None:
    def content(reader: Any) -> list[dict[str, bytes]]:
        return [{name: one[name].tobytes() for name in one} for one in elements(reader)]

    millhopper.set_threads(1)
    try:
        wanted = content(chain())
        millhopper.set_threads(4)
        assert content(chain()) == wanted
    finally:
        millhopper.set_threads(0)
    for taken in (0, 2, 5):
        reader = chain()
        loop = iter(reader)
        for _ in range(taken):
            next(loop)
        again = chain()
        again.load_state_dict(reader.state_dict())
        assert content(again) == wanted[taken:], taken


def test_what_cannot_be_made_of_records_is_an_error() -> None:
    reader = reader_of(records(None))
    boxes = {"image": "image", "boxes": "xyxy"}
    with pytest.raises(millhopper.Error, match="make images of one size before"):
        list(reader.mixup_detection(slots=boxes))
    with pytest.raises(millhopper.Error, match="argument of masks"):
        list(reader.copy_paste(slots=boxes))
    with pytest.raises(ValueError, match="says what"):
        vision.Mosaic(9)(reader, "image")
    with pytest.raises(ValueError, match="no slot is called"):
        reader.partners(1, slots=["pictures"])
    with pytest.raises(millhopper.Error, match="window"):
        reader.partners(1, window=1)
    with pytest.raises(ValueError, match="are several"):
        reader.partners(1, slots=["image"]).mosaic(
            9, slots={"image": "image", "image_2": "image"}, labels=[]
        )
