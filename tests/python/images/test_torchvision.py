# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of operators on images, compared with torchvision's functions for uint8 tensors.

The bytes are those of ``torchvision.transforms.functional``; ``transforms.v2`` rounds some values
otherwise. In an environment with torchvision (0.29 has been compared, and 0.24 with ``v2``; -s
prints how many values differ)::

    pip install . && python -m pytest -s tests/python/images/test_torchvision.py
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import millhopper
import numpy as np
import pytest
from image_cases import CASES, Case, some_images
from millhopper import dataset
from millhopper.base.zipped import zip_strict
from test_vision import png

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

from PIL import Image  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import InterpolationMode, autoaugment  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402
from torchvision.transforms.v2 import functional as v2  # noqa: E402

Reader = millhopper.Reader


@pytest.fixture(scope="module")
def images() -> list[np.ndarray]:
    """Smooth images, some of few tones, and noise, of odd and even sizes."""
    random = np.random.default_rng(8)
    made = []
    for height, width in [(64, 96), (61, 97), (40, 41), (200, 300)]:
        y, x = np.mgrid[:height, :width]
        waves = [np.sin(x / (5 + 3 * c) + c) * np.cos(y / (7 - c)) for c in range(3)]
        smooth = np.stack(waves, axis=-1) * 90 + 120
        made.append(smooth.astype(np.uint8))
        made.append((smooth / 3 + random.normal(0, 3, smooth.shape) + 50).astype(np.uint8))
        made.append(random.integers(0, 256, (height, width, 3), dtype=np.uint8))
    return made


@pytest.fixture(scope="module")
def decoded(images: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("images")
    (folder / "all").mkdir()
    for i, image in enumerate(images):
        (folder / "all" / f"{i:02d}.png").write_bytes(png(image))
    return dataset.image_folder(folder).decode_image("image")


def check(
    reader: Reader,
    images: list[np.ndarray],
    function: Callable[..., object],
    most: int = 0,
    share: float = 0.0,
) -> None:
    """Expects values that differ by ``most`` at most, and that no larger share of them does."""
    farthest, differing, values = 0, 0, 0
    for element, image in zip_strict(reader, images):
        wanted = function(torch.from_numpy(image).permute(2, 0, 1)).permute(1, 2, 0).numpy()
        difference = np.abs(element["image"][0].astype(int) - wanted.astype(int))
        farthest = max(farthest, int(difference.max()))
        differing += int((difference > 0).sum())
        values += difference.size
    found = f"differ by {farthest} at most, {differing} of {values}"
    print(found)
    assert farthest <= most, found
    assert differing <= share * values, found


def test_tones_are_the_same(decoded: Reader, images: list[np.ndarray]) -> None:
    for bits in range(9):
        check(
            decoded.random_posterize(bits, p=1),
            images,
            lambda image, bits=bits: F.posterize(image, bits),
        )
    for threshold in (0, 77, 127.5, 128, 255):
        check(
            decoded.random_solarize(threshold, p=1),
            images,
            lambda image, threshold=threshold: F.solarize(image, threshold),
        )
    check(decoded.random_autocontrast(p=1), images, F.autocontrast)
    check(decoded.random_equalize(p=1), images, F.equalize)


@pytest.mark.parametrize("factor", [0, 0.3, 0.7, 1, 1.3, 1.9, 5])
def test_sharpness_is_the_same(decoded: Reader, images: list[np.ndarray], factor: float) -> None:
    single = float(np.float32(factor))
    check(
        decoded.random_adjust_sharpness(factor, p=1),
        images,
        lambda image: F.adjust_sharpness(image, single),
    )


@pytest.mark.parametrize(
    ("size", "sigma"), [((3, 3), 0.5), ((5, 9), 1.3), ((23, 23), 2.0), ((23, 15), 9.0)]
)
def test_blur_differs_by_rounding(
    decoded: Reader, images: list[np.ndarray], size: tuple[int, int], sigma: float
) -> None:
    check(
        decoded.gaussian_blur(size, sigma),
        images,
        lambda image: F.gaussian_blur(image, list(size), [sigma, sigma]),
        most=1,
        share=0.001,
    )


def test_blur_differs_by_rounding_under_every_kernel(
    decoded: Reader, images: list[np.ndarray]
) -> None:
    random = np.random.default_rng(3)
    for _ in range(12):
        size = [int(side) for side in random.choice([1, 3, 5, 9, 23, 51, 63], 2)]
        sigma = float(np.float32(random.uniform(0.1, 20)))
        check(
            decoded.gaussian_blur(size, sigma),
            images,
            lambda image, size=size, sigma=sigma: F.gaussian_blur(image, size, [sigma, sigma]),
            most=1,
            share=0.01,
        )


def test_second_transforms_round_some_values_otherwise(
    decoded: Reader, images: list[np.ndarray]
) -> None:
    """What is said of torchvision.transforms.v2: the same, or by 1 in few values."""
    half = (0.7, 0.7)
    single = float(np.float32(0.7))
    turn = float(np.float32(0.05))
    for reader, function, share in (
        (decoded.random_posterize(3, p=1), lambda image: v2.posterize(image, 3), 0),
        (decoded.random_solarize(77, p=1), lambda image: v2.solarize(image, 77), 0),
        (decoded.random_equalize(p=1), v2.equalize, 0),
        (decoded.color_jitter(half), lambda image: v2.adjust_brightness(image, single), 0),
        (decoded.color_jitter(0, half), lambda image: v2.adjust_contrast(image, single), 0),
        (decoded.color_jitter(0, 0, half), lambda image: v2.adjust_saturation(image, single), 0.01),
        (decoded.color_jitter(hue=(turn, turn)), lambda image: v2.adjust_hue(image, turn), 0.001),
        (decoded.random_autocontrast(p=1), v2.autocontrast, 0.02),
        (
            decoded.random_adjust_sharpness(0.7, p=1),
            lambda image: v2.adjust_sharpness(image, single),
            0.05,
        ),
    ):
        check(reader, images, function, 0 if share == 0 else 1, share)


@pytest.mark.parametrize("factor", [0, 0.3, 0.7, 1, 1.3, 1.9])
def test_colors(decoded: Reader, images: list[np.ndarray], factor: float) -> None:
    both = (factor, factor)
    single = float(np.float32(factor))
    check(
        decoded.color_jitter(brightness=both),
        images,
        lambda image: F.adjust_brightness(image, single),
    )
    check(
        decoded.color_jitter(contrast=both),
        images,
        lambda image: F.adjust_contrast(image, single),
    )
    check(
        decoded.color_jitter(saturation=both),
        images,
        lambda image: F.adjust_saturation(image, single),
    )


@pytest.mark.parametrize("turn", [-0.5, -0.2, 0, 0.05, 0.3])
def test_hue(decoded: Reader, images: list[np.ndarray], turn: float) -> None:
    single = float(np.float32(turn))
    check(
        decoded.color_jitter(hue=(turn, turn)),
        images,
        lambda image: F.adjust_hue(image, single),
    )


# Nearest: where a place lies between two pixels torchvision may take the other one, as at 90
# degrees about the middle of an image with one odd side.
@pytest.mark.parametrize(
    ("degrees", "interpolation", "most", "share"),
    [
        (-77.0, "nearest", 255, 0.0001),
        (3.0, "nearest", 255, 0.0001),
        (90.0, "nearest", 255, 0.02),
        (-77.0, "bilinear", 1, 0.02),
        (3.0, "bilinear", 1, 0.02),
        (90.0, "bilinear", 1, 0.02),
    ],
)
def test_turns(
    decoded: Reader,
    images: list[np.ndarray],
    degrees: float,
    interpolation: str,
    most: int,
    share: float,
) -> None:
    mode = InterpolationMode(interpolation)
    check(
        decoded.random_rotation((degrees, degrees), interpolation=interpolation),
        images,
        lambda image: F.rotate(image, degrees, mode),
        most,
        share,
    )
    if degrees == 90 and interpolation == "nearest":
        return  # a shear moves whole rows to where two pixels are equally near
    shear = 10.0
    check(
        decoded.random_affine(
            (degrees, degrees),
            scale=(1.25, 1.25),
            shear=(shear, shear),
            interpolation=interpolation,
        ),
        images,
        lambda image: F.affine(image, degrees, [0, 0], 1.25, [shear, 0.0], mode),
        most,
        share,
    )


def test_gray_is_pillows(decoded: Reader, images: list[np.ndarray]) -> None:
    for element, image in zip_strict(decoded.grayscale(), images):
        wanted = np.asarray(Image.fromarray(image).convert("L"))
        np.testing.assert_array_equal(element["image"][0, ..., 0], wanted)


# Magnitudes at which no shear moves a whole row to where two pixels are equally near.
@pytest.mark.parametrize("magnitude", [5, 9, 17, 29])
def test_augmentations_are_among_torchvisions(
    decoded: Reader, images: list[np.ndarray], magnitude: int
) -> None:
    """Each image becomes what one of the 14 changes makes of it, and all of them are met."""
    met = set()
    for seed in range(12):
        for element, image in zip_strict(decoded.rand_augment(1, magnitude, seed=seed), images):
            pixels = torch.from_numpy(image).permute(2, 0, 1)
            differing = {}
            space = autoaugment.RandAugment()._augmentation_space(31, image.shape[:2])
            for name, (values, signed) in space.items():
                value = float(values[magnitude]) if values.ndim > 0 else 0.0
                for sign in (1, -1) if signed else (1,):
                    wanted = autoaugment._apply_op(
                        pixels, name, sign * value, InterpolationMode.NEAREST, None
                    )
                    difference = element["image"][0] != wanted.permute(1, 2, 0).numpy()
                    differing[name, sign] = difference.mean()
            nearest = min(differing, key=lambda change: differing[change])
            assert differing[nearest] <= 0.0005, nearest
            met.add(nearest[0])
    assert len(met) >= 13  # of a magnitude that makes two changes the same, one is not met


def changes(
    pixels: torch.Tensor, name: str, numbers: list[float], signed: bool
) -> Iterator[torch.Tensor]:
    for number in numbers:
        for value in (number, -number) if signed else (number,):
            yield autoaugment._apply_op(pixels, name, value, InterpolationMode.NEAREST, None)


def first_alike(
    image: np.ndarray, made: Iterator[tuple[Any, torch.Tensor]], most: float = 0.0005
) -> Any:
    """What makes an image, but for a small part of its values."""
    for what, pixels in made:
        if (image != pixels.permute(1, 2, 0).numpy()).mean() <= most:
            return what
    return None


@pytest.mark.parametrize("policy", list(autoaugment.AutoAugmentPolicy))
def test_auto_augment_makes_torchvisions_pairs(
    policy: autoaugment.AutoAugmentPolicy, decoded: Reader, images: list[np.ndarray]
) -> None:
    """Each image becomes what one of the pairs makes of it, with any signs, or parts of it."""
    pairs = autoaugment.AutoAugment(policy).policies

    def outcomes(image: np.ndarray) -> Iterator[tuple[int, torch.Tensor]]:
        space = autoaugment.AutoAugment(policy)._augmentation_space(10, image.shape[:2])

        def of_one(
            pixels: torch.Tensor, change: tuple[str, float, int | None]
        ) -> Iterator[torch.Tensor]:
            name, probability, number = change
            values, signed = space[name]
            if probability < 1:
                yield pixels
            value = 0.0 if number is None else float(values[number])
            yield from changes(pixels, name, [value], signed)

        pixels = torch.from_numpy(image).permute(2, 0, 1)
        for number, (first, second) in enumerate(pairs):
            for between in of_one(pixels, first):
                for made in of_one(between, second):
                    yield number, made

    met = []
    for element, image in zip_strict(decoded.auto_augment(policy.value, seed=1), images):
        made = element["image"][0]
        exact = first_alike(made, outcomes(image))
        # At 30 degrees, and sheared by 0.2 in each fifth column, places lie between two pixels, and
        # torchvision's are rounded.
        assert exact is not None or first_alike(made, outcomes(image), most=0.1) is not None
        met.append(exact)
    assert len(set(met)) >= 4
    assert met.count(None) <= 3


def test_trivial_augment_makes_torchvisions_changes(
    decoded: Reader, images: list[np.ndarray]
) -> None:
    space = autoaugment.TrivialAugmentWide()._augmentation_space(31)

    def outcomes(image: np.ndarray) -> Iterator[tuple[str, torch.Tensor]]:
        pixels = torch.from_numpy(image).permute(2, 0, 1)
        for name, (values, signed) in space.items():
            numbers = values.tolist() if values.ndim > 0 else [0.0]
            for made in changes(pixels, name, numbers, signed):
                yield name, made

    met = set()
    for seed in range(3):
        for element, image in zip_strict(decoded.trivial_augment_wide(seed=seed), images):
            met.add(first_alike(element["image"][0], outcomes(image)))
    assert None not in met
    assert len(met) >= 8


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "all").mkdir()
    for i, image in enumerate(some_images()):
        (folder / "all" / f"{i:02d}.png").write_bytes(png(image))
    return dataset.image_folder(folder).decode_image("image")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_methods_make_theirs(case: Case, recorded: Reader) -> None:
    check(
        case.ours(recorded),
        some_images(),
        functools.partial(case.theirs, v2),
        case.most,
        case.share,
    )


def resized(x: torch.Tensor) -> object:
    """Nearest is Pillow's, which torchvision calls nearest-exact; its masks have another one."""
    if isinstance(x, tv_tensors.BoundingBoxes):
        return v2.resize(x, [51, 32])
    exact = InterpolationMode.NEAREST_EXACT
    return v2.resize_image(x.as_subclass(torch.Tensor)[None], [51, 32], interpolation=exact)[0]


MOVES: dict[str, tuple[Callable[..., Reader], Callable[..., object]]] = {
    "resize": (lambda r, s: r.resize((51, 32), slots=s), resized),
    "crop": (
        lambda r, s: r.crop((30, 20), top=4, left=9, slots=s),
        lambda x: v2.crop(x, 4, 9, 30, 20),
    ),
    "flip": (lambda r, s: r.random_horizontal_flip(1, slots=s), v2.horizontal_flip),
    "upside down": (lambda r, s: r.random_vertical_flip(1, slots=s), v2.vertical_flip),
    "pad": (lambda r, s: r.pad([1, 2, 3, 4], slots=s), lambda x: v2.pad(x, [1, 2, 3, 4])),
    "rotate": (lambda r, s: r.random_rotation((25, 25), slots=s), lambda x: v2.rotate(x, 25)),
    "affine": (
        lambda r, s: r.random_affine((13, 13), scale=(1.3, 1.3), shear=(8, 8), slots=s),
        lambda x: v2.affine(x, 13, [0, 0], 1.3, [8, 0]),
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_boxes_and_masks_move_alike(move: str) -> None:
    ours, theirs = MOVES[move]
    random = np.random.default_rng(4)
    height, width = 47, 60
    mask = random.integers(0, 20, (1, height, width, 1), dtype=np.uint8)
    corners = np.sort(random.uniform(0, [width, height], (5, 2, 2)), axis=1)
    boxes = corners.reshape(-1, 4).astype(np.float32)
    samples = [{"image": mask[0].repeat(3, axis=2), "mask": mask[0], "boxes": boxes}]
    slots = {
        "image": ("uint8", [1, -1, -1, 3], 0),
        "mask": ("uint8", [1, -1, -1, 1], 0),
        "boxes": ("float32", [-1, 4], 1),
    }
    reader = Reader.from_dataset(samples, slots=slots)
    kinds = {"image": "image", "mask": "mask", "boxes": "xyxy"}
    (element,) = ours(reader, kinds).sanitize_boxes("boxes", image="image", min_size=0, min_area=0)
    wanted = theirs(tv_tensors.Mask(torch.from_numpy(mask[0, :, :, 0])))
    np.testing.assert_array_equal(np.asarray(element["mask"])[0, :, :, 0], np.asarray(wanted))
    moved = theirs(
        tv_tensors.BoundingBoxes(
            torch.from_numpy(boxes), format="XYXY", canvas_size=(height, width)
        )
    )
    moved = np.asarray(v2.clamp_bounding_boxes(moved))
    moved = moved[(moved[:, 2:] > moved[:, :2]).all(axis=1)]
    np.testing.assert_allclose(np.asarray(element["boxes"].values), moved, atol=2e-3)
