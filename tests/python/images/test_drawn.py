# SPDX-License-Identifier: Apache-2.0
"""Random operators on images, compared with torchvision's and timm's functions on the same draws.

What is drawn is computed anew (``drawn.py``) and given to their functions. In an environment with
torchvision, and timm for its policies (timm 1.0.31 has been compared, with Pillow 13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from drawn import Key, log_gamma, normal
from image_cases import some_images
from millhopper import Reader, vision
from millhopper.base.zipped import zip_strict

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision.transforms import InterpolationMode, autoaugment  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402
from torchvision.transforms import v2 as transforms  # noqa: E402
from torchvision.transforms.v2 import functional as v2  # noqa: E402

COUNT = 120
SLOTS = {"image": ("uint8", [1, -1, -1, 3], 0)}


def drawn(
    method: Callable[..., Reader], dtype: type = np.uint8, times: int = COUNT
) -> Iterator[tuple[np.ndarray, np.ndarray, Key]]:
    """What a method makes of images, the images, and the draws of each."""
    given = some_images()
    images = [given[i % len(given)].astype(dtype) for i in range(times)]
    slots = {"image": (np.dtype(dtype).name, [1, -1, -1, 3], 0)}
    reader = Reader.from_dataset([{"image": image} for image in images], slots=slots, seed=5)
    made = [np.asarray(element["image"])[0] for element in method(reader, name="mine")]
    for i, (image, one) in enumerate(zip_strict(images, made)):
        yield one, image, Key("mine:Out", i, run_seed=5)


def tensor(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image.copy()).permute(2, 0, 1)


def array(image: torch.Tensor) -> np.ndarray:
    return image.permute(1, 2, 0).numpy()


def between(key: Key, index: int, low: float, high: float) -> float:
    low, high = float(np.float32(low)), float(np.float32(high))
    return low + (high - low) * key.unit(index)


def distorted(pixels: torch.Tensor, key: Key) -> torch.Tensor:
    """RandomPhotometricDistort with these draws."""
    steps: list[tuple[int, Callable[..., Any], float, float]] = [
        (0, F.adjust_brightness, 0.875, 1.125),
        (2, F.adjust_saturation, 0.5, 1.5),
        (3, F.adjust_hue, -0.05, 0.05),
    ]
    steps.insert(1 if key.unit24(8) < 0.5 else 3, (1, F.adjust_contrast, 0.5, 1.5))
    for which, function, low, high in steps:
        if key.unit24(2 * which) < 0.5:
            pixels = function(pixels, between(key, 2 * which + 1, low, high))
    if key.unit24(9) < 0.5:
        pixels = v2.permute_channels(pixels, key.order(3, 10))
    return pixels


def test_photometric_distort() -> None:
    changed = 0
    for made, image, key in drawn(Reader.random_photometric_distort):
        np.testing.assert_array_equal(made, array(distorted(tensor(image), key)))
        changed += int((made != image).any())
    assert COUNT > changed > COUNT * 3 // 4


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_channel_permutation(dtype: type) -> None:
    orders = set()
    for made, image, key in drawn(Reader.random_channel_permutation, dtype):
        order = key.order(3, 1)
        np.testing.assert_array_equal(made, array(v2.permute_channels(tensor(image), order)))
        orders.add(tuple(order))
    assert len(orders) == 6


def test_gaussian_noise() -> None:
    def noisy(reader: Reader, name: str) -> Reader:
        return reader.gaussian_noise(0.01, 0.08, name=name)

    for made, image, key in drawn(noisy, times=4):
        noise = np.array([normal(key.bits(v)) for v in range(image.size)]).reshape(image.shape)
        added = np.trunc(noise.astype(np.float32) * np.float32(0.08 * 255) + np.float32(0.01 * 255))
        wanted = np.clip(image + added, 0, 255)
        # Where a product lies next to a whole number its fraction may go.
        assert np.abs(made - wanted).max() <= 1
        assert (made != wanted).mean() < 1e-3


def augmented_and_mixed(pixels: torch.Tensor, key: Key) -> torch.Tensor:
    """AugMix with these draws."""
    gammas = [log_gamma(key.part(0), k, 1.0) for k in range(5)]
    parts = [np.exp(np.array(some) - max(some)) for some in (gammas[:2], gammas[2:])]
    m, mixing = (part / part.sum() for part in parts)
    mix = np.float32(m[0]) * pixels
    changes = autoaugment.AugMix()._augmentation_space(10, tuple(pixels.shape[1:]))
    names = [*list(changes)[:9], "Brightness", "Color", "Contrast", "Sharpness"]
    for chain in range(3):
        changed = pixels
        draw = 64 * chain
        for _ in range(1 + key.below(3, draw)):
            name = names[key.below(13, draw + 1)]
            values, signed = changes[name]
            value = float(values[key.below(3, draw + 2)]) if values.ndim > 0 else 0.0
            if signed and key.below(2, draw + 3):
                value = -value
            changed = autoaugment._apply_op(changed, name, value, InterpolationMode.BILINEAR, None)
            draw += 3
        mix = mix + np.float32(mixing[chain]) * np.float32(m[1]) * changed
    return mix.to(torch.uint8)


def test_aug_mix() -> None:
    for made, image, key in drawn(Reader.aug_mix):
        wanted = array(augmented_and_mixed(tensor(image), key)).astype(int)
        # Pixels that are moved are rounded otherwise, by 1, which the changes after it may spread.
        difference = np.abs(made - wanted)
        assert (difference > 1).mean() < 0.02
        assert difference.mean() < 0.6


def resized(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """By Pillow, the columns after the rows: from 13 on it may begin with the columns."""
    bilinear = Image.Resampling.BILINEAR
    rows = Image.fromarray(image).resize((width, image.shape[0]), bilinear)
    return np.asarray(rows.resize((width, height), bilinear))


def sizes_by(transform: Any, image: np.ndarray, unit: float) -> tuple[int, int]:
    """The size that a transform of torchvision draws, of this number from 0 to 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "rand", lambda *_: torch.tensor([unit], dtype=torch.float64))
        patch.setattr(torch, "randint", lambda n, *_: torch.tensor(int(unit * n)))
        size: tuple[int, int] = transform.make_params([tensor(image)])["size"]
    return size


def test_scale_jitter() -> None:
    theirs = transforms.ScaleJitter((50, 50), (0.5, 1.75))
    seen = set()
    for made, image, key in drawn(lambda r, name: r.scale_jitter(50, (0.5, 1.75), name=name)):
        size = sizes_by(theirs, image, key.unit(0))
        np.testing.assert_array_equal(made, resized(image, *size))
        seen.add(size)
    assert len(seen) > COUNT // 2


class UnitDraws:
    """Python's random, as timm calls it, with the numbers of a key in turn."""

    def __init__(self, *units: float) -> None:
        self._units = list(units)

    def random(self) -> float:
        return self._units.pop(0)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()


def test_resize_keep_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    timm = pytest.importorskip("timm.data.transforms", reason="timm is not installed")
    theirs = timm.ResizeKeepRatio(
        (50, 40),
        longest=0.25,
        random_scale_prob=0.5,
        random_scale_range=(0.5, 1.25),
        random_scale_area=True,
        random_aspect_prob=0.5,
        random_aspect_range=(0.75, 1.25),
    )
    (_, step) = vision.from_torchvision(theirs).transforms
    seen = set()
    for made, image, key in drawn(
        lambda r, name: r.resize_keep_ratio(*step.arguments, **step.options, name=name)
    ):
        scaled, turned = key.unit24(0) < 0.5, key.unit24(2) < 0.5
        units = [
            *(key.unit(i) if i % 2 else key.unit24(i) for i in (0, 1)[: 1 + scaled]),
            *(key.unit(i) if i % 2 else key.unit24(i) for i in (2, 3)[: 1 + turned]),
        ]
        monkeypatch.setattr(timm, "random", UnitDraws(*units))
        size = theirs.get_params(
            Image.fromarray(image),
            theirs.size,
            theirs.longest,
            theirs.random_scale_prob,
            theirs.random_scale_range,
            theirs.random_scale_area,
            theirs.random_aspect_prob,
            theirs.random_aspect_range,
        )
        np.testing.assert_array_equal(made, resized(image, *size))
        seen.add((made.shape, scaled, turned))
    assert len({(scaled, turned) for _, scaled, turned in seen}) == 4
    assert len(seen) > COUNT // 2


def test_random_shortest_size() -> None:
    lengths = [20, 35, 60]
    theirs = transforms.RandomShortestSize(lengths, 90)
    seen = set()
    for made, image, key in drawn(lambda r, name: r.random_shortest_size(lengths, 90, name=name)):
        size = sizes_by(theirs, image, (key.below(3, 0) + 0.5) / 3)
        np.testing.assert_array_equal(made, resized(image, *size))
        seen.add(size)
    assert max(max(size) for size in seen) == 90
    assert len(seen) == 11


def test_random_crop_pads_if_needed() -> None:
    size = (62, 70)
    for made, image, key in drawn(lambda r, name: r.random_crop(size, 3, True, name=name)):
        lacking = [max(wanted - side - 6, 0) for wanted, side in zip(size, image.shape)]
        around = [3 + lacking[1], 3 + lacking[0]] * 2
        whole = v2.pad(tensor(image), around)
        places = [side - wanted + 1 for side, wanted in zip(whole.shape[1:], size)]
        top, left = key.below(places[0], 0), key.below(places[1], 1)
        np.testing.assert_array_equal(made, array(v2.crop(whole, top, left, *size)))


@pytest.mark.parametrize(("alpha", "sigma"), [((50, 50), (3, 3)), ((30, 80), (2.5, 1.2))])
def test_elastic(alpha: tuple[float, float], sigma: tuple[float, float]) -> None:
    sigma = (sigma[0], float(np.float32(sigma[1])))
    for made, image, key in drawn(lambda r, name: r.elastic(alpha, sigma, name=name), times=9):
        height, width = image.shape[:2]
        fields = []
        for axis, side in ((0, width), (1, height)):
            first = axis * height * width
            units = [2 * key.unit(first + v) - 1 for v in range(height * width)]
            field = torch.tensor(units, dtype=torch.float32).reshape(1, 1, height, width)
            size = int(8 * sigma[axis] + 1) | 1
            field = v2.gaussian_blur(field, [size, size], list(sigma))
            fields.append(field * alpha[axis] / side)
        displacement = torch.cat(fields, 1).permute(0, 2, 3, 1)
        wanted = array(v2.elastic(tensor(image), displacement))
        difference = np.abs(made.astype(int) - wanted.astype(int))
        assert difference.max() <= 1
        assert (difference > 0).mean() < 0.04


def changed_by_timm(pixels: Image.Image, op: Any, key: Key, draw: int) -> Image.Image:
    """What a change of timm makes with the draws from this one on."""
    from timm.data import auto_augment

    if not key.unit(draw) < op.prob:
        return pixels
    magnitude = op.magnitude
    if op.magnitude_std == float("inf"):
        magnitude *= key.unit(draw + 1)
    elif op.magnitude_std > 0:
        magnitude += op.magnitude_std * normal(key.bits(draw + 1))
    magnitude = max(0.0, min(magnitude, op.magnitude_max or 10.0))
    sign = -1 if key.below(2, draw + 2) else 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto_augment, "_randomly_negate", lambda v: sign * v)
        arguments = op.level_fn(magnitude, op.hparams) if op.level_fn is not None else ()
    if op.name.startswith("Posterize") and arguments[0] < 1:
        return pixels.point(lambda _: 0)  # as Pillow did before 13, which refuses it
    filters = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
    resample = filters[key.below(2, draw + 3)]
    made: Image.Image = op.aug_fn(pixels, *arguments, fillcolor=(128, 128, 128), resample=resample)
    return made


def expect_timm(method: Callable[..., Reader], theirs: Callable[[Image.Image, Key], Any]) -> None:
    far = []
    for made, image, key in drawn(method):
        wanted = np.asarray(theirs(Image.fromarray(image), key)).astype(int)
        difference = np.abs(made.astype(int) - wanted)
        far.append((difference.max(), (difference > 2).mean()))
    far = np.array(far)
    assert np.median(far[:, 0]) <= 2
    assert (far[:, 1] > 0.02).mean() < 0.05


@pytest.mark.parametrize(
    "policy",
    [
        "rand-m9-mstd0.5-inc1",
        "rand-m9-mstd0.5",
        "rand-m7-n3-p0.8-mmax20-mstd101",
        "rand-m15-n1-p1-inc1-mmax20",
    ],
)
def test_rand_augment_of_timm(policy: str) -> None:
    timm = pytest.importorskip("timm.data.auto_augment", reason="timm is not installed")
    theirs = timm.rand_augment_transform(policy, {})
    assert theirs.choice_weights is None

    def changed(pixels: Image.Image, key: Key) -> Image.Image:
        for j in range(theirs.num_layers):
            op = theirs.ops[key.below(15, 5 * j)]
            pixels = changed_by_timm(pixels, op, key, 5 * j + 1)
        return pixels

    expect_timm(lambda r, name: r.rand_augment(policy=policy, name=name), changed)


@pytest.mark.parametrize("policy", ["original", "originalr-mstd0.5", "v0-mstd1", "v0r"])
def test_auto_augment_of_timm(policy: str) -> None:
    timm = pytest.importorskip("timm.data.auto_augment", reason="timm is not installed")
    theirs = timm.auto_augment_transform(policy, {})

    def changed(pixels: Image.Image, key: Key) -> Image.Image:
        for j, op in enumerate(theirs.policy[key.below(25, 0)]):
            pixels = changed_by_timm(pixels, op, key, 1 + 4 * j)
        return pixels

    expect_timm(lambda r, name: r.auto_augment(policy, name=name), changed)
    (_, step) = vision.from_torchvision(theirs).transforms
    assert repr(step) == f"AutoAugment({policy!r})"


def test_changes_of_timm_without_a_counterpart() -> None:
    timm = pytest.importorskip("timm.data.auto_augment", reason="timm is not installed")
    for transform, why in (
        (timm.auto_augment_transform("3a", {}), "AutoAugment.* has no counterpart for other"),
        (timm.rand_augment_transform("rand-m9-tweights", {}), "RandAugment.* for other changes"),
        (timm.augment_and_mix_transform("augmix-m5", {}), "AugMixAugment.* has no counterpart"),
    ):
        with pytest.raises(ValueError, match=f"(?s)step 1, .*{why}"):
            vision.from_torchvision(transform)
