# SPDX-License-Identifier: Apache-2.0
"""Recipes of millhopper.vision and chains taken apart, compared with torchvision and timm.

What draws nothing is compared value by value, what draws by the distributions of what is made. In
an environment with both (torchvision 0.29 and timm 1.0.31 have been compared; MILLHOPPER_DRAWS
images of each recipe are made, by default 3,000)::

    pip install . && MILLHOPPER_DRAWS=20000 python -m pytest tests/python/images/test_recipes_*.py
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from millhopper import Reader, dataset, vision
from millhopper.base.zipped import zip_strict
from test_vision import png

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

try:
    from timm import data
except ImportError:
    data = None

COUNT = int(os.environ.get("MILLHOPPER_DRAWS", "3000"))
BICUBIC = v1.InterpolationMode.BICUBIC


@pytest.fixture(scope="module")
def photos() -> list[np.ndarray]:
    """Smooth images of several sizes."""
    made = []
    for height, width in [(300, 400), (400, 300), (280, 281)]:
        y, x = np.mgrid[:height, :width]
        waves = [np.sin(x / (9 + 3 * c) + c) * np.cos(y / (13 - c)) for c in range(3)]
        made.append((np.stack(waves, axis=-1) * 90 + 120).astype(np.uint8))
    return made


@pytest.fixture(scope="module")
def folder(photos: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    (folder / "all").mkdir()
    for i, photo in enumerate(photos):
        (folder / "all" / f"{i}.png").write_bytes(png(photo))
    return folder


WEIGHTS = torchvision.models.ResNet50_Weights.IMAGENET1K_V2.transforms()
CLIP = v1.Compose(
    [
        v1.Resize(224, interpolation=BICUBIC),
        v1.CenterCrop(224),
        v1.ToTensor(),
        v1.Normalize(vision.presets.CLIP_MEAN, vision.presets.CLIP_STD),
    ]
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (vision.imagenet_eval(resize=232), WEIGHTS),
        (vision.clip(train=False), CLIP),
        (vision.from_torchvision(WEIGHTS), WEIGHTS),
        (vision.from_torchvision(CLIP), CLIP),
    ],
)
def test_validation_has_the_same_values(
    ours: vision.Compose, theirs: Callable[..., Any], folder: Path, photos: list[np.ndarray]
) -> None:
    elements = list(ours(dataset.image_folder(folder), slot="image"))
    assert len(elements) == len(photos)
    for element, photo in zip_strict(elements, photos):
        wanted = theirs(Image.fromarray(photo)).numpy()
        np.testing.assert_allclose(element["image"][0], wanted, rtol=0, atol=2e-6)


def features(image: np.ndarray) -> list[float]:
    """Numbers that augmentations change: tones, contrast, colours, places, softness."""
    channels = image.mean(axis=(1, 2))
    return [
        *channels,
        image.std(),
        float(np.ptp(channels)),
        image[:, :, : image.shape[2] // 2].mean() - image[:, :, image.shape[2] // 2 :].mean(),
        image[:, : image.shape[1] // 2].mean() - image[:, image.shape[1] // 2 :].mean(),
        float(np.abs(np.diff(image, axis=2)).mean()),
    ]


def blur(p: float, kernel: int) -> v1.RandomApply:
    return v1.RandomApply([v1.GaussianBlur(kernel, (0.1, 2.0))], p=p)


def jitter(b: float, c: float, s: float, h: float) -> v1.RandomApply:
    return v1.RandomApply([v1.ColorJitter(b, c, s, h)], p=0.8)


def simclr_view() -> v1.Compose:
    return v1.Compose(
        [
            v1.RandomResizedCrop(32),
            v1.RandomHorizontalFlip(),
            jitter(0.8, 0.8, 0.8, 0.2),
            v1.RandomGrayscale(0.2),
            blur(0.5, 3),
            v1.ToTensor(),
        ]
    )


def dino_view(*last: Any, size: int = 32, scale: tuple[float, float] = (0.32, 1.0)) -> v1.Compose:
    return v1.Compose(
        [
            v1.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC),
            v1.RandomHorizontalFlip(),
            jitter(0.4, 0.4, 0.2, 0.1),
            v1.RandomGrayscale(0.2),
            *last,
            v1.ToTensor(),
        ]
    )


def train(*augment: Any, erase: float = 0.0, crop: Any = None) -> v1.Compose:
    return v1.Compose(
        [
            crop or v1.RandomResizedCrop(32),
            v1.RandomHorizontalFlip(),
            *augment,
            v1.ToTensor(),
            v1.RandomErasing(erase),
        ]
    )


PLAIN = {"mean": [0.0], "std": [1.0]}
DINO = vision.dinov2(32, 16, local_crops=1, **PLAIN)
BILINEAR = v1.InterpolationMode.BILINEAR
PAIRS: dict[str, tuple[vision.Compose, str, Callable[..., Any]]] = {
    "simclr": (vision.simclr(32, **PLAIN), "view_2", simclr_view()),
    "dinov2, global 1": (DINO, "global_1", dino_view(blur(1.0, 9))),
    "dinov2": (DINO, "global_2", dino_view(blur(0.1, 9), v1.RandomSolarize(128, 0.2))),
    "dinov2, local": (DINO, "local_1", dino_view(blur(0.5, 9), size=16, scale=(0.05, 0.32))),
    "clip": (
        vision.clip(32, **PLAIN),
        "image",
        v1.Compose([v1.RandomResizedCrop(32, (0.9, 1.0), interpolation=BICUBIC), v1.ToTensor()]),
    ),
    "imagenet, erased": (vision.imagenet_train(32, erase=0.4, **PLAIN), "image", train(erase=0.4)),
    "ra": (
        vision.imagenet_train(32, auto_augment="ra", **PLAIN),
        "image",
        train(v1.RandAugment(interpolation=BILINEAR)),
    ),
    "ta_wide": (
        vision.imagenet_train(32, auto_augment="ta_wide", **PLAIN),
        "image",
        train(v1.TrivialAugmentWide(interpolation=BILINEAR)),
    ),
    "augmix, trained": (
        vision.imagenet_train(32, auto_augment="augmix", **PLAIN),
        "image",
        train(v1.AugMix(interpolation=BILINEAR)),
    ),
    **{
        policy.value: (
            vision.imagenet_train(32, auto_augment=policy.value, **PLAIN),
            "image",
            train(v1.AutoAugment(policy, interpolation=BILINEAR)),
        )
        for policy in v1.AutoAugmentPolicy
    },
}
for name, theirs in {
    "taken": v1.Compose(
        [
            v1.RandomCrop(28, padding=4),
            v1.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10, fill=3),
            v1.RandomChoice([v1.RandomSolarize(100, 1), v1.RandomInvert(0.5)]),
            v1.ToTensor(),
            v1.RandomErasing(0.3),
        ]
    ),
    "distorted": v2.Compose(
        [
            v2.ToImage(),
            v2.RandomPhotometricDistort(),
            v2.RandomPerspective(0.4, 0.6),
            v2.ToDtype(torch.float32, scale=True),
            v2.GaussianNoise(0.05, 0.1),
        ]
    ),
    "augmix": v1.Compose([v1.AugMix(), v1.ToTensor()]),
    "taken of v2": v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(24, antialias=True),
            v2.RandomVerticalFlip(),
            v2.TrivialAugmentWide(),
            v2.RandomRotation(40),
            v2.ToDtype(torch.float32, scale=True),
        ]
    ),
}.items():
    PAIRS[name] = (vision.from_torchvision(theirs), "image", theirs)


if data is not None:
    theirs = data.create_transform(
        32,
        is_training=True,
        auto_augment="rand-m5-n3-mstd0.5-inc1",  # from 10 on Pillow refuses timm's posterize
        re_prob=0.4,
        re_mode="pixel",
        interpolation="bicubic",
        color_jitter=None,
        mean=(0.0, 0.0, 0.0),
        std=(1.0, 1.0, 1.0),
    )
    PAIRS["timm"] = (vision.from_torchvision(theirs), "image", theirs)
    for mode, policy in (("rkrc", None), ("rkrr", None), ("rrc", "original-mstd0.5")):
        theirs = data.create_transform(
            32,
            is_training=True,
            train_crop_mode=mode,
            auto_augment=policy,
            interpolation="random",
            color_jitter=None,
            mean=(0.0, 0.0, 0.0),
            std=(1.0, 1.0, 1.0),
        )
        PAIRS[f"timm, {policy or mode}"] = (vision.from_torchvision(theirs), "image", theirs)


def expect_alike(found: np.ndarray, wanted: np.ndarray) -> None:
    """Expects equal means and mean squares, within 4.5 standard errors; Pillow rounds to bytes."""
    for power in (1, 2):
        a, b = found**power, wanted**power
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        difference = np.abs(a.mean(axis=0) - b.mean(axis=0))
        assert (difference < 4.5 * error + 1e-3).all(), (power, difference, error)


def waves() -> np.ndarray:
    """A small image, with another tone at each place."""
    y, x = np.mgrid[:40, :44]
    channels = [np.sin(x / (4 + c) + c) * np.cos(y / (7 - c)) + x / 60 for c in range(3)]
    return (np.stack(channels, axis=-1) * 70 + 90).clip(0, 255).astype(np.uint8)


def seed_all() -> None:
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)  # for timm


@pytest.mark.parametrize("name", list(PAIRS))
def test_training_has_the_same_distribution(name: str) -> None:
    ours, slot, theirs = PAIRS[name]
    photo = waves()
    files = Reader.from_iterable(lambda: ({"image": png(photo)} for _ in range(COUNT)), seed=5)
    found = np.array([features(element[slot][0]) for element in ours(files, slot="image")])
    seed_all()
    image = Image.fromarray(photo)
    wanted = np.array([features(np.asarray(theirs(image))) for _ in range(COUNT)])
    expect_alike(found, wanted)


def test_transforms_of_timm_are_taken_apart(folder: Path, photos: list[np.ndarray]) -> None:
    if data is None:
        pytest.skip("timm is not installed")
    for theirs in (
        data.create_transform(96, interpolation="bicubic"),
        data.create_transform(96, crop_mode="border", crop_border_pixels=7),
        data.create_transform(96, crop_mode="squash", interpolation="bilinear"),
        data.create_transform((80, 112), interpolation="bilinear"),
    ):
        taken = vision.from_torchvision(theirs)
        for element, photo in zip_strict(taken(dataset.image_folder(folder), slot="image"), photos):
            wanted = theirs(Image.fromarray(photo)).numpy()
            np.testing.assert_allclose(element["image"][0], wanted, rtol=0, atol=2e-6)
    training = data.create_transform(
        96, is_training=True, interpolation="random", re_prob=0.3, grayscale_prob=0.1
    )
    (batch,) = vision.from_torchvision(training)(dataset.image_folder(folder), slot="image").batch(
        3
    )
    assert batch["image"].shape == (3, 3, 96, 96)
