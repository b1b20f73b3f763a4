# SPDX-License-Identifier: Apache-2.0
"""Whole recipes against torchvision's functions on the same draws, which are computed anew.

Bytes are equal, but for blur, by 1, and for what turns and shears, by 1 in some values, which the
changes after it may spread. Other images are made with MILLHOPPER_IMAGE_SEED.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from drawn import Key
from millhopper import Reader, vision
from millhopper.base.zipped import zip_strict
from test_vision import png

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from test_detection import Draws, IouDraws  # noqa: E402
from test_drawn import array, augmented_and_mixed, between, distorted, tensor  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import InterpolationMode, autoaugment, v2  # noqa: E402
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


def draw_of(operator: str, record: int, number: int = 1, output: str = "Out") -> Key:
    """The draws of a step of a record, by its default name, which the second one has numbered."""
    numbered = operator if number == 1 else f"{operator}_{number}"
    return Key(f"dataset.numbers.{numbered}:{output}", record, run_seed=5)


def draws_of(operator: str) -> Iterator[Key]:
    return (draw_of(operator, record) for record in range(COUNT))


def expect_bytes(made: np.ndarray, wanted: Any, most: int = 0) -> None:
    """Values from 0 to 1 in planes, and an image of bytes."""
    bytes_made = np.rint(made * 255).astype(int)
    np.testing.assert_allclose(made * 255, bytes_made, atol=1e-3)
    difference = np.abs(bytes_made - np.asarray(wanted).astype(int).transpose(2, 0, 1))
    assert difference.max() <= most


def resized(image: Image.Image, size: tuple[int, int], mode: int) -> Image.Image:
    """By Pillow, the columns after the rows: from 13 on it may begin with the columns."""
    return image.resize((size[0], image.height), mode).resize(size, mode)


def resized_crop(image: Image.Image, box: tuple[int, ...], size: int, mode: int) -> Image.Image:
    top, left, height, width = box
    return resized(image.crop((left, top, left + width, top + height)), (size, size), mode)


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
        (vision.imagenet_train(32, **PLAIN), 0.08, True, Image.BILINEAR),
        (vision.clip(32, **PLAIN), 0.9, False, Image.BICUBIC),
    ],
)
def test_classification(recipe: vision.Compose, low: float, flips: bool, mode: int) -> None:
    flipped = 0
    keys = zip_strict(draws_of("random_resized_crop"), draws_of("flip"))
    for given, made, (crop, flip) in zip_strict(records(), made_by(recipe, "image"), keys):
        image = Image.fromarray(given["image"])
        box = part_of(crop, *image.size, low, 1.0)
        wanted = resized_crop(image, box, 32, mode)
        if flips and flip.unit24(0) < 0.5:
            flipped += 1
            wanted = F.hflip(wanted)
        expect_bytes(made["image"][0], wanted)
    assert (COUNT // 4 < flipped < COUNT * 3 // 4) is flips


def scaled(image: Image.Image, factor: float) -> tuple[int, int]:
    return max(int(image.width * factor), 1), max(int(image.height * factor), 1)


def test_segmentation() -> None:
    size, lengths = 48, range(26, 104)
    made = made_by(vision.segmentation(size, base=52, **PLAIN), "image", "mask")
    keys = zip_strict(draws_of("random_shortest_size"), draws_of("flip"), draws_of("random_crop"))
    for given, one, (shortest, flip, crop) in zip_strict(records(), made, keys):
        image, mask = Image.fromarray(given["image"]), Image.fromarray(given["mask"])
        size_drawn = scaled(image, lengths[shortest.below(len(lengths), 0)] / min(image.size))
        image = resized(image, size_drawn, Image.BILINEAR)
        mask = mask.resize(size_drawn, Image.NEAREST)
        if flip.unit24(0) < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        across, down = (max(size - side, 0) for side in image.size)
        image, mask = (F.pad(i, [across, down], f) for i, f in ((image, 0), (mask, 255)))
        top = crop.below(image.height - size + 1, 0)
        left = crop.below(image.width - size + 1, 1)
        expect_bytes(one["image"][0], F.crop(image, top, left, size, size))
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
    for given, one, flip in zip_strict(records(), made, draws_of("flip")):
        image, boxes = Image.fromarray(given["image"]), given["boxes"].astype(float)
        if size is not None:
            boxes = boxes * ([size / image.width, size / image.height] * 2)
            image = resized(image, (size, size), Image.BILINEAR)
        if flip.unit24(0) < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        expect_bytes(one["image"][0], image)
        expect_boxes(one, boxes, given["labels"], image)


def test_detection_with_jitter_of_scale() -> None:
    size = 64
    made = made_by(vision.coco_detection("lsj", size=size), "image", "boxes", "labels")
    keys = zip_strict(draws_of("scale_jitter"), draws_of("random_crop"), draws_of("flip"))
    for given, one, (jitter, crop, flip) in zip_strict(records(), made, keys):
        image, boxes = Image.fromarray(given["image"]), given["boxes"].astype(float)
        low, high = float(np.float32(0.1)), 2.0
        fits = min(size / image.width, size / image.height)
        width, height = scaled(image, fits * (low + (high - low) * jitter.unit(0)))
        boxes = boxes * ([width / image.width, height / image.height] * 2)
        image = resized(image, (width, height), Image.BILINEAR)
        lacking = [max(size - side, 0) for side in image.size]
        image = F.pad(image, [0, 0, *lacking], (123, 117, 104))
        top = crop.below(image.height - size + 1, 0)
        left = crop.below(image.width - size + 1, 1)
        image, boxes = F.crop(image, top, left, size, size), boxes - ([left, top] * 2)
        if flip.unit24(0) < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = size - boxes[:, [2, 0]]
        expect_bytes(one["image"][0], image)
        expect_boxes(one, boxes, given["labels"], image)


def test_detection_of_several_sizes() -> None:
    lengths = range(480, 801, 32)
    made = made_by(vision.coco_detection("multiscale"), "image", "boxes", "labels")
    seen = set()
    for i, (given, one) in enumerate(zip_strict(records()[:12], made[:12])):
        image, boxes = Image.fromarray(given["image"]), given["boxes"].astype(float)
        length = lengths[draw_of("random_shortest_size", i).below(len(lengths), 0)]
        width, height = scaled(image, min(length / min(image.size), 1333 / max(image.size)))
        boxes = boxes * ([width / image.width, height / image.height] * 2)
        image = resized(image, (width, height), Image.BILINEAR)
        if draw_of("flip", i).unit24(0) < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        expect_bytes(one["image"][0], image)
        expect_boxes(one, boxes, given["labels"], image)
        seen.add(length)
    assert len(seen) > 4


@pytest.mark.parametrize("policy", ["ssd", "ssdlite"])
def test_detection_by_overlaps(policy: str) -> None:
    fill = [123.0, 117.0, 104.0]
    cropped = 0
    made = made_by(vision.coco_detection(policy), "image", "boxes", "labels")
    for i, (given, one) in enumerate(zip_strict(records(), made)):
        pixels = tensor(given["image"])
        if policy == "ssd":
            pixels = distorted(pixels, draw_of("photometric_distort", i))
        record = {
            "image": tv_tensors.Image(pixels),
            "boxes": tv_tensors.BoundingBoxes(  # type: ignore[call-arg]
                torch.from_numpy(given["boxes"].copy()),
                format="XYXY",
                canvas_size=tuple(pixels.shape[1:]),
            ),
            "labels": torch.from_numpy(given["labels"].copy()),
        }
        if policy == "ssd":
            with pytest.MonkeyPatch.context() as patch:
                units = (draw_of("random_zoom_out", i).unit24(k) for k in range(4))
                patch.setattr(
                    torch,
                    "rand",
                    lambda n, units=units: torch.tensor([next(units) for _ in range(np.prod(n))]),
                )
                record = v2.RandomZoomOut(fill=fill)(record)
        before = tuple(record["image"].shape[1:])
        with pytest.MonkeyPatch.context() as patch:
            draws = IouDraws(Draws(5, "dataset.numbers.random_iou_crop:Out", i), before)
            patch.setattr(torch, "randint", draws.randint)
            patch.setattr(torch, "rand", draws.rand)
            record = v2.RandomIoUCrop()(record)
        cropped += tuple(record["image"].shape[1:]) != before
        if draw_of("flip", i).unit24(0) < 0.5:
            record = v2.RandomHorizontalFlip(1.0)(record)
        record = v2.ClampBoundingBoxes()(record)
        record = v2.SanitizeBoundingBoxes(min_size=1, min_area=1)(record)
        expect_bytes(one["image"][0], record["image"].permute(1, 2, 0))
        np.testing.assert_array_equal(one["labels"].values, record["labels"])
        np.testing.assert_allclose(one["boxes"].values, record["boxes"].numpy(), atol=2e-3)
    assert cropped > COUNT // 4


def changed_view(
    image: Image.Image,
    record: int,
    number: int,
    size: int,
    scale: tuple[float, float],
    mode: int,
    jitter: tuple[float, float, float, float],
    blur: tuple[float, int],
    solarized: float,
) -> tuple[torch.Tensor, bool]:
    """View ``number`` of an image with its draws, and whether it is blurred."""
    crop = draw_of("random_resized_crop", record, number)
    image = resized_crop(image, part_of(crop, *image.size, *scale), size, mode)
    if draw_of("flip", record, number).unit24(0) < 0.5:
        image = F.hflip(image)
    pixels = F.pil_to_tensor(image)
    if draw_of("random_apply", record, 2 * number - 1, "draw").unit(0) < float(np.float32(0.8)):
        key = draw_of("color_jitter", record, number)
        adjust = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
        for which in key.order(4, 4):
            around, most = 0 if which == 3 else 1, float(np.float32(jitter[which]))
            low, high = around - most, around + most
            pixels = adjust[which](pixels, low + (high - low) * key.unit(which))
    if draw_of("grayscale", record, number).unit24(0) < np.float32(0.2):
        gray = np.asarray(Image.fromarray(array(pixels)).convert("L"))
        pixels = tensor(gray[:, :, np.newaxis].repeat(3, axis=2))
    p, kernel = blur
    is_blurred = draw_of("random_apply", record, 2 * number, "draw").unit(0) < float(np.float32(p))
    if is_blurred:
        sigma = between(draw_of("gaussian_blur", record, number), 0, 0.1, 2.0)
        pixels = F.gaussian_blur(pixels, [kernel, kernel], [sigma, sigma])
    if solarized and draw_of("solarize", record).unit24(0) < np.float32(solarized):
        pixels = F.solarize(pixels, 128)
    return pixels, is_blurred


# For each view of a recipe: its size, its part of an image, how likely blur is, and solarize.
Views = dict[str, tuple[int, tuple[float, float], float, float]]


@pytest.mark.parametrize(
    ("recipe", "views", "mode", "jitter", "kernel"),
    [
        (
            vision.simclr(32, **PLAIN),
            {f"view_{i}": (32, (0.08, 1.0), 0.5, 0.0) for i in (1, 2)},
            Image.BILINEAR,
            (0.8, 0.8, 0.8, 0.2),
            3,
        ),
        (
            vision.dinov2(32, 16, local_crops=2, **PLAIN),
            {
                "global_1": (32, (0.32, 1.0), 1.0, 0.0),
                "global_2": (32, (0.32, 1.0), 0.1, 0.2),
                "local_1": (16, (0.05, 0.32), 0.5, 0.0),
                "local_2": (16, (0.05, 0.32), 0.5, 0.0),
            },
            Image.BICUBIC,
            (0.4, 0.4, 0.2, 0.1),
            9,
        ),
    ],
)
def test_views(
    recipe: vision.Compose,
    views: Views,
    mode: int,
    jitter: tuple[float, float, float, float],
    kernel: int,
) -> None:
    sharp = 0
    for i, (given, one) in enumerate(zip_strict(records(), made_by(recipe, "image"))):
        image = Image.fromarray(given["image"])
        for number, (view, (size, scale, blurred, solarized)) in enumerate(views.items(), 1):
            blur = (blurred, kernel)
            wanted, is_blurred = changed_view(
                image, i, number, size, scale, mode, jitter, blur, solarized
            )
            expect_bytes(one[view][0], array(wanted), most=1 if is_blurred else 0)
            sharp += not is_blurred
    assert sharp > COUNT // 2


def change(pixels: torch.Tensor, space: Any, name: str, number: int, turned: bool) -> torch.Tensor:
    values, signed = space[name]
    value = float(values[number]) if values.ndim > 0 else 0.0
    return autoaugment._apply_op(
        pixels, name, -value if signed and turned else value, InterpolationMode.BILINEAR, None
    )


def rand_augmented(pixels: torch.Tensor, record: int) -> torch.Tensor:
    key = draw_of("rand_augment", record)
    space = autoaugment.RandAugment()._augmentation_space(31, tuple(pixels.shape[1:]))
    for draw in (0, 2):
        name = list(space)[key.below(14, draw)]
        pixels = change(pixels, space, name, 9, key.below(2, draw + 1) == 1)
    return pixels


def trivially_augmented(pixels: torch.Tensor, record: int) -> torch.Tensor:
    key = draw_of("trivial_augment_wide", record)
    space = autoaugment.TrivialAugmentWide()._augmentation_space(31)
    name = list(space)[key.below(14, 0)]
    return change(pixels, space, name, key.below(31, 1), key.below(2, 2) == 1)


def auto_augmented(pixels: torch.Tensor, record: int, policy: str) -> torch.Tensor:
    key = draw_of("auto_augment", record)
    theirs = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(policy))
    space = theirs._augmentation_space(10, tuple(pixels.shape[1:]))
    for j, (name, probability, number) in enumerate(theirs.policies[key.below(25, 0)]):
        if key.unit24(1 + 2 * j) < np.float32(probability):
            pixels = change(pixels, space, name, number or 0, key.below(2, 2 + 2 * j) == 1)
    return pixels


def erased(values: np.ndarray, key: Key) -> np.ndarray:
    """RandomErasing of one image with these draws, of which half are erased."""
    if key.unit24(0) >= 0.5:
        return values
    _, rows, columns = values.shape
    low, high = (float(np.float32(share)) for share in (0.02, 0.33))
    logs = [math.log(float(np.float32(ratio))) for ratio in (0.3, 3.3)]
    for attempt in range(10):
        area = rows * columns * (low + (high - low) * key.unit(1 + 2 * attempt))
        ratio = math.exp(logs[0] + (logs[1] - logs[0]) * key.unit(2 + 2 * attempt))
        height, width = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if height < rows and width < columns:
            top, left = key.below(rows - height + 1, 21), key.below(columns - width + 1, 22)
            return F.erase(torch.from_numpy(values.copy()), top, left, height, width, 0).numpy()
    return values


AUGMENTED: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "ra": rand_augmented,
    "ta_wide": trivially_augmented,
    "augmix": lambda pixels, i: augmented_and_mixed(pixels, draw_of("aug_mix", i)),
    **{
        policy: functools.partial(auto_augmented, policy=policy)
        for policy in ("imagenet", "cifar10", "svhn")
    },
}


@pytest.mark.parametrize("policy", AUGMENTED)
def test_augmented_and_erased(policy: str) -> None:
    recipe = vision.imagenet_train(32, auto_augment=policy, erase=0.5, **PLAIN)
    shares, covered, exact = [], 0, 0
    for i, (given, made) in enumerate(zip_strict(records(), made_by(recipe, "image"))):
        image = Image.fromarray(given["image"])
        box = part_of(draw_of("random_resized_crop", i), *image.size, 0.08, 1.0)
        image = resized_crop(image, box, 32, Image.BILINEAR)
        if draw_of("flip", i).unit24(0) < 0.5:
            image = F.hflip(image)
        values = AUGMENTED[policy](F.pil_to_tensor(image), i).numpy()
        wanted = erased(values, draw_of("cutout", i))
        covered += int((wanted != values).any())
        difference = np.abs(np.rint(made["image"][0] * 255) - wanted)
        assert (difference[wanted != values] == 0).all()
        shares.append((difference > 1).mean())
        exact += int(difference.max() == 0)
    assert max(shares) < 0.005
    assert exact > COUNT // 4
    assert COUNT // 4 < covered < COUNT * 3 // 4
