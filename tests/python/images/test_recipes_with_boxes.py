# SPDX-License-Identifier: Apache-2.0
"""Recipes of segmentation and detection, compared with torchvision's transforms by distributions.

See ``test_recipes_of_others.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from millhopper import Reader, vision
from test_vision import png

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from test_recipes_of_others import COUNT, expect_alike, features, seed_all, waves  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

BOXES = np.array([[4, 5, 20, 25], [15, 10, 40, 38], [30, 2, 43, 12]], np.float32)
LABELS = np.array([3, 7, 11], np.int64)
SIZE = 64
MEAN = (123.0, 117.0, 104.0)
FLIP = [v2.RandomHorizontalFlip()]


def fixed_size(image: Any, target: Any) -> Any:
    """FixedSizeCrop of torchvision's references, with a draw for each side."""
    height, width = image.shape[-2:]
    crop = v2.RandomCrop((min(height, SIZE), min(width, SIZE)))
    fill = {tv_tensors.Image: MEAN, "others": 0}
    pad = v2.Pad([0, 0, max(SIZE - width, 0), max(SIZE - height, 0)], fill=fill)
    return pad(*crop(image, target))


POLICIES: dict[str, list[Callable[..., Any]]] = {
    "none": [],
    "hflip": FLIP,
    "multiscale": [v2.RandomShortestSize(range(480, 801, 32), 1333), *FLIP],
    "lsj": [v2.ScaleJitter((SIZE, SIZE)), fixed_size, *FLIP],
    "ssd": [
        v2.RandomPhotometricDistort(),
        v2.RandomZoomOut(fill={tv_tensors.Image: MEAN, "others": 0}),
        v2.RandomIoUCrop(),
        *FLIP,
    ],
    "ssdlite": [v2.RandomIoUCrop(), *FLIP],
}


def boxes_features(boxes: np.ndarray, labels: np.ndarray) -> list[float]:
    """Of each of the boxes whether it is left, and where it is."""
    found: list[float] = []
    for label in LABELS:
        own = boxes[labels == label]
        found += [float(len(own)), *(own[0].tolist() if len(own) else [0.0] * 4)]
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_detection_has_the_same_distribution(policy: str) -> None:
    count = COUNT // 10 if policy == "multiscale" else COUNT  # which makes images 200 times larger
    image = np.frombuffer(png(waves()), np.uint8)
    slots = {
        "image": ("uint8", [-1], 1),
        "boxes": ("float32", [-1, 4], 1),
        "labels": ("int64", [-1], 1),
    }
    given = [{"image": image, "boxes": BOXES, "labels": LABELS}] * count
    recipe = vision.coco_detection(policy, size=SIZE if policy == "lsj" else None)
    made = recipe(Reader.from_dataset(given, slots=slots, seed=5))
    found = [
        [
            *one["image"].shape[2:],
            *features(one["image"][0]),
            *boxes_features(one["boxes"].values, one["labels"].values),
        ]
        for one in made
    ]
    seed_all()
    last = [
        v2.ClampBoundingBoxes(),
        v2.SanitizeBoundingBoxes(),
        v2.ToDtype(torch.float32, scale=True),
    ]
    theirs = v2.Compose([*POLICIES[policy], *last])
    pixels = tv_tensors.Image(torch.from_numpy(waves()).permute(2, 0, 1).contiguous())
    wanted = []
    for _ in range(count):
        target = {
            "boxes": tv_tensors.BoundingBoxes(  # type: ignore[call-arg]
                torch.from_numpy(BOXES.copy()), format="XYXY", canvas_size=(40, 44)
            ),
            "labels": torch.from_numpy(LABELS.copy()),
        }
        one, target = theirs(pixels, target)
        wanted.append(
            [
                *one.shape[1:],
                *features(one.numpy()),
                *boxes_features(target["boxes"].numpy(), target["labels"].numpy()),
            ]
        )
    expect_alike(np.array(found), np.array(wanted))


def random_resize(image: torch.Tensor, mask: torch.Tensor) -> tuple[Any, Any]:
    """RandomResize of torchvision's references, which resize masks by Pillow.

    Its nearest pixel is that of "nearest-exact"; v2 takes another one of masks that are tensors.
    """
    size = [int(torch.randint(26, 104, ()))]
    exact = v2.InterpolationMode.NEAREST_EXACT
    plain = mask.as_subclass(torch.Tensor)[None]
    classes = v2.functional.resize_image(plain, size, interpolation=exact)[0]
    return v2.functional.resize(image, size), tv_tensors.Mask(classes)


def test_segmentation_has_the_same_distribution() -> None:
    image = np.frombuffer(png(waves()), np.uint8)
    y, x = np.mgrid[:40, :44]
    classes = (1 + y // 14 * 4 + x // 15).astype(np.uint8)
    mask = np.frombuffer(png(classes, bytes(768)), np.uint8)
    slots = {"image": ("uint8", [-1], 1), "mask": ("uint8", [-1], 1)}
    given = [{"image": image, "mask": mask}] * COUNT
    recipe = vision.segmentation(48, base=52, mean=[0.0], std=[1.0])
    shares = [*range(1, 13), 255]

    def all_features(image: np.ndarray, mask: np.ndarray) -> list[float]:
        return [*features(image), *(float((mask == one).mean()) for one in shares)]

    found = [
        all_features(one["image"][0], one["mask"][0, :, :, 0])
        for one in recipe(Reader.from_dataset(given, slots=slots, seed=5))
    ]
    seed_all()
    theirs = v2.Compose(
        [
            random_resize,
            *FLIP,
            v2.RandomCrop(48, pad_if_needed=True, fill={tv_tensors.Image: 0, tv_tensors.Mask: 255}),
            v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
        ]
    )
    pixels = tv_tensors.Image(torch.from_numpy(waves()).permute(2, 0, 1).contiguous())
    numbers = tv_tensors.Mask(torch.from_numpy(classes))
    wanted = []
    for _ in range(COUNT):
        one, other = theirs(pixels, numbers)
        wanted.append(all_features(one.numpy(), other.numpy()))
    expect_alike(np.array(found), np.array(wanted))
