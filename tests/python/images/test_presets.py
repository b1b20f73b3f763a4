# SPDX-License-Identifier: Apache-2.0
"""Recipes of millhopper.vision, and transforms of torchvision that are taken apart.

``test_torchvision.py`` compares them with torchvision and timm where these are installed.
"""

from __future__ import annotations

import enum
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Reader, dataset, vision
from millhopper.readers import operator_methods
from test_vision import MEAN, STD, png

COUNT = 2000


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three images of 256 by 256 pixels."""
    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(3)
    for i in range(3):
        (folder / "all").mkdir(exist_ok=True)
        pixels = random.integers(0, 256, (256, 256, 3), dtype=np.uint8)
        (folder / "all" / f"{i}.png").write_bytes(png(pixels))
    return folder


RECIPES = {
    "imagenet_train": vision.imagenet_train(32),
    "ra": vision.imagenet_train(32, auto_augment="ra", magnitude=5, erase=0.5),
    "ta_wide": vision.imagenet_train(32, auto_augment="ta_wide"),
    "augmix": vision.imagenet_train(32, auto_augment="augmix"),
    "timm": vision.imagenet_train(
        32,
        auto_augment="rand-m9-mstd0.5-inc1",
        interpolation="bicubic",
        erase=0.5,
        erase_mode="pixel",
    ),
    "policy": vision.imagenet_train(32, auto_augment="imagenet", flip=0),
    "original": vision.imagenet_train(32, auto_augment="original-mstd0.5"),
    "imagenet_eval": vision.imagenet_eval(32, resize=40),
    "clip": vision.clip(32),
    "clip of validation": vision.clip(32, train=False),
    "simclr": vision.simclr(32, views=3),
    "dinov2": vision.dinov2(32, 16, local_crops=2),
}


@pytest.mark.parametrize("name", list(RECIPES))
def test_recipes_are_chains_that_yield_equal_bytes_for_any_threads(
    name: str, photos: Path, pool: None
) -> None:
    def batches(threads: int, recipe: vision.Compose) -> list[dict[str, bytes]]:
        millhopper.set_threads(threads)
        reader = recipe(dataset.image_folder(photos, seed=5), slot="image").batch(3)
        return [{slot: array.tobytes() for slot, array in batch.items()} for batch in reader]

    recipe = RECIPES[name]
    wanted = batches(0, recipe)
    assert all(batches(threads, recipe) == wanted for threads in (1, 2, 7))
    assert batches(1, eval(repr(recipe), vars(vision))) == wanted


def test_slots_of_views(photos: Path) -> None:
    def shapes(recipe: vision.Compose) -> dict[str, tuple[int, ...]]:
        (batch,) = recipe(dataset.image_folder(photos), slot="image").batch(3)
        return {slot: array.shape for slot, array in batch.items()}

    image = (3, 3, 32, 32)
    labels = {"label": (3,)}
    assert shapes(RECIPES["clip"]) == {"image": image, **labels}
    assert shapes(RECIPES["simclr"]) == {
        **labels,
        "view_1": image,
        "view_2": image,
        "view_3": image,
    }
    crops = {"global_1": image, "global_2": image, "local_1": (3, 3, 16, 16)}
    assert shapes(RECIPES["dinov2"]) == {**labels, **crops, "local_2": (3, 3, 16, 16)}


def test_validation_is_the_middle(photos: Path) -> None:
    decoded = list(dataset.image_folder(photos).decode_image("image"))
    (batch,) = vision.imagenet_eval()(dataset.image_folder(photos), slot="image").batch(3)
    for image, made in zip(decoded, batch["image"]):
        middle = image["image"][0, 16:240, 16:240] / 255
        wanted = (middle - MEAN) / STD
        np.testing.assert_allclose(made.transpose(1, 2, 0), wanted, rtol=1e-5, atol=1e-5)


def test_a_recipe_can_be_changed(photos: Path) -> None:
    recipe = vision.imagenet_eval(8)
    recipe.transforms.insert(-2, vision.Grayscale(3))
    (batch,) = recipe(dataset.image_folder(photos), slot="image").batch(3)
    values = batch["image"] * np.reshape(STD, (3, 1, 1)) + np.reshape(MEAN, (3, 1, 1))
    np.testing.assert_allclose(values[:, 0], values[:, 2], atol=1e-6)


def test_a_recipe_is_made_at_once(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps are the same as one by one, but no program is made for each of them."""
    made: list[object] = []
    append_steps = operator_methods.append_steps

    def counting(*arguments: Any) -> Any:
        made.append(arguments)
        return append_steps(*arguments)

    monkeypatch.setattr(operator_methods, "append_steps", counting)
    files = dataset.image_folder(photos, seed=5)
    files.set_epoch(3)
    recipe = vision.Compose(
        [
            vision.DecodeImage(),
            vision.RandomApply([vision.ColorJitter(0.4), vision.GaussianBlur(3)], p=0.7),
            vision.RandomOrder([vision.RandomInvert(), vision.RandomRotation(20)]),
            lambda reader, slot: reader.resize((9, 7), slot=slot),
            vision.Compose([vision.RandomHorizontalFlip(), vision.Normalize()]),
        ]
    )
    whole = recipe(files, slot="image")
    assert len(made) == 1
    one_by_one = files
    for step in recipe.transforms:
        one_by_one = step(one_by_one, "image")
    assert len(made) > len(recipe.transforms)
    assert whole.to_text() == one_by_one.to_text()
    assert repr(whole) == repr(one_by_one)
    assert whole.slots() == one_by_one.slots()
    # More steps are added as to any reader, and at once.
    assert whole.to_chw().to_text() == one_by_one.to_chw().to_text()
    assert [batch["image"].tobytes() for batch in whole] == [
        batch["image"].tobytes() for batch in one_by_one
    ]
    made.clear()
    views = vision.dinov2(32, 16)(files, slot="image")
    assert len(made) < 5
    assert len(views._slot_names()) == 11
    with pytest.raises(millhopper.Error, match="no slot 'nothing'"):
        vision.Compose([vision.DecodeImage(), vision.Resize(9, slot="nothing")])(files, "image")
    assert vision.Compose([])(files) is files


def test_how_often_views_are_gray_and_soft() -> None:
    random = np.random.default_rng(4)
    images = random.integers(0, 256, (COUNT, 12, 12, 3), dtype=np.uint8)
    first, second = vision.simclr(12, mean=[0.0], std=[1.0]).transforms[-1].transforms.values()
    views = vision.Views({"a": first, "b": second})(Reader.from_arrays({"image": images}))
    made = list(views)
    gray = [np.ptp(view["a"], axis=1).max() < 1e-6 for view in made]
    assert np.mean(gray) == pytest.approx(0.2, abs=0.04)
    both = [np.ptp(view["b"], axis=1).max() < 1e-6 for view in made]
    assert np.mean(np.logical_and(gray, both)) == pytest.approx(0.04, abs=0.02)


def test_a_policy_that_is_not_known() -> None:
    with pytest.raises(ValueError, match="auto_augment is 'best'; it is None, 'ra', 'ta_wide'"):
        vision.imagenet_train(auto_augment="best")


def test_masks_go_with_images(tmp_path: Path) -> None:
    pixels = np.random.default_rng(6).integers(0, 21, (6, 20, 30), dtype=np.uint8)
    files = Reader.from_iterable(
        lambda: ({"image": png(image), "mask": png(image, b"\0" * 63)} for image in pixels)
    )
    chain = vision.Compose(
        [
            vision.DecodeImage(),
            vision.RandomCrop(16),
            vision.RandomApply([vision.RandomHorizontalFlip(1.0)]),
            vision.RandomInvert(0.0),
        ]
    )
    for element in chain(files, slots={"image": "image", "mask": "mask"}):
        assert element["image"].shape == (1, 16, 16, 3)
        np.testing.assert_array_equal(element["image"][..., :1], element["mask"])
    both = files.decode_image("image").decode_image("mask")
    with pytest.raises(ValueError, match=r"RandomInvert: \['image', 'mask'\] are images; it"):
        vision.RandomInvert()(both, slots={"image": "image", "mask": "image"})


class Mode(enum.Enum):
    """As torchvision's InterpolationMode."""

    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"


def made(name: str, module: str = "torchvision.transforms.transforms", **values: object) -> object:
    """An object that looks like a transform of torchvision."""
    shown = ", ".join(f"{key}={value}" for key, value in values.items())
    kind = type(name, (), {"__module__": module, "__repr__": lambda self: f"{name}({shown})"})
    one = kind()
    vars(one).update(values)
    return one


def composed(*transforms: object) -> object:
    return made("Compose", transforms=list(transforms))


CROP = made(
    "RandomResizedCrop",
    size=(24, 24),
    scale=(0.5, 1.0),
    ratio=(0.75, 1.25),
    interpolation=Mode.BILINEAR,
    antialias=True,
)


def test_a_transform_is_taken_apart(photos: Path) -> None:
    flips = made("RandomChoice", transforms=[made("RandomHorizontalFlip", p=1)], p=None)
    normalize = made("Normalize", mean=np.float32([0.485]), std=[0.5])
    taken = vision.from_torchvision(
        composed(
            CROP, composed(flips), made("ToTensor"), normalize, made("RandomVerticalFlip", p=0)
        )
    )
    assert repr(taken).split("\n") == [
        "Compose([",
        "    DecodeImage(orientation=False),",
        "    RandomResizedCrop(24, scale=(0.5, 1.0), ratio=(0.75, 1.25), "
        "interpolation='bilinear'),",
        "    RandomChoice([",
        "        RandomHorizontalFlip(1.0),",
        "    ], p=None),",
        "    Normalize((0.485,), (0.5,)),",
        "    RandomVerticalFlip(0.0),",
        "    ToCHW(),",
        "])",
    ]
    (batch,) = taken(dataset.image_folder(photos), slot="image").batch(3)
    assert batch["image"].shape == (3, 3, 24, 24)


def test_arguments_that_libraries_keep_otherwise() -> None:
    def steps(*transforms: object) -> list[str]:
        taken = vision.from_torchvision(composed(*transforms)).transforms[1:]
        return [repr(step) for step in taken]

    crop = {"size": [9, 9], "pad_if_needed": False, "padding_mode": "constant"}
    v2 = "torchvision.transforms.v2._geometry"
    assert steps(
        made("RandomCrop", v2, padding=[1, 2, 3, 4], fill=0, **crop),
        made("RandomCrop", padding=[1, 2, 3, 4], fill=0.5, **crop),
        made("RandomCrop", v2, padding=[4, 4, 4, 4], fill=0, **crop),
    ) == [
        "RandomCrop(9, padding=[1, 3, 2, 4])",
        "RandomCrop(9, padding=[1, 2, 3, 4], fill=0.5)",
        "RandomCrop(9, padding=4)",
    ]
    rough = made("Resize", size=[8], interpolation=Mode.BILINEAR, max_size=None, antialias=False)
    assert steps(rough, made("CenterCrop", size=(8, 8))) == [
        "Resize(8, interpolation='bilinear')",
        "CenterCrop(8)",
    ]
    assert steps(made("ToImage"), rough)[0] == (
        "Resize(8, interpolation='bilinear', antialias=False)"
    )
    gray = made("Grayscale", num_output_channels=1)
    assert steps(gray, made("RGB")) == ["Grayscale(1)", "Grayscale(3)"]
    jitter = made(
        "ScaleJitter",
        target_size=(32, 64),
        scale_range=(1.0, 1.0),
        interpolation=Mode.BILINEAR,
        antialias=True,
    )
    assert steps(jitter) == ["ScaleJitter((64, 32), (1.0, 1.0), interpolation='bilinear')"]


def test_resizes_and_crops_of_timm_are_taken_apart() -> None:
    def taken(name: str, **attributes: object) -> list[str]:
        transform = vision.from_torchvision(made(name, **attributes))
        return [repr(step) for step in transform.transforms[1:]]

    framed = {"size": (8, 9), "fill": [1, 2, 3], "padding_mode": "constant"}
    assert taken("CenterCropOrPad", **framed) == [
        "Pad(least=(8, 9), where='center', fill=[1, 2, 3])",
        "CenterCrop((8, 9))",
    ]
    framed = {"size": (8, 8), "fill": 0, "padding_mode": "reflect"}
    assert taken("RandomCropOrPad", **framed) == [
        "RandomCrop(8, pad_if_needed=True, padding_mode='reflect')"
    ]
    assert taken("TrimBorder", border_size=5) == ["Pad(-5)"]
    resize = {
        "size": (8, 8),
        "longest": 0.0,
        "interpolation": (Mode.BILINEAR, Mode.BICUBIC),
        "random_scale_prob": 0.5,
        "random_scale_range": (0.8, 1.0),
        "random_scale_area": True,
        "random_aspect_prob": 0.0,
    }
    drawn = "scale=(0.8, 1.0), scale_p=0.5, scale_area=True"
    assert taken("ResizeKeepRatio", **resize) == [
        "RandomChoice([\n"
        f"    ResizeKeepRatio(8, {drawn}, interpolation='bilinear'),\n"
        f"    ResizeKeepRatio(8, {drawn}, interpolation='bicubic'),\n"
        "], p=None)"
    ]
    resize.update(longest=1.0, interpolation=Mode.BICUBIC, random_scale_prob=0.0)
    assert taken("ResizeKeepRatio", **resize) == [
        "ResizeKeepRatio(8, longest=1.0, interpolation='bicubic')"
    ]
    for modes in (Mode.BOX, (Mode.BICUBIC, Mode.BOX)):
        resize.update(interpolation=modes)
        with pytest.raises(ValueError, match="has no counterpart for interpolation='box'"):
            taken("ResizeKeepRatio", **resize)


def test_a_policy_of_timm_is_known_in_any_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def policy(name: str) -> list[list[SimpleNamespace]]:
        options = {"magnitude_max": None, "magnitude_std": 0.5, "hparams": {}}
        options["kwargs"] = {"resample": 3, "fillcolor": (128, 128, 128)}
        change = SimpleNamespace(name=f"of {name}", prob=0.4, magnitude=8, **options)
        return [[change, change]]

    timm = SimpleNamespace(auto_augment_policy=policy)
    theirs = made("AutoAugment", "timm.data.elsewhere", policy=policy("v0"))
    monkeypatch.delitem(sys.modules, "timm.data.auto_augment", raising=False)
    with pytest.raises(ValueError, match="AutoAugment.* has no counterpart without timm's"):
        vision.from_torchvision(theirs)
    monkeypatch.setitem(sys.modules, "timm.data.auto_augment", timm)
    (_, step) = vision.from_torchvision(theirs).transforms
    assert repr(step) == "AutoAugment('v0-mstd0.5', interpolation='bicubic')"


def test_steps_of_detection_are_taken_apart() -> None:
    resampled = {"interpolation": Mode.BILINEAR, "antialias": True}
    taken = vision.from_torchvision(
        composed(
            made("ScaleJitter", target_size=(64, 64), scale_range=(0.1, 2.0), **resampled),
            made("RandomShortestSize", min_size=[30, 40], max_size=50, **resampled),
            made("RandomResize", min_size=3, max_size=9, **resampled),
            made("RandomZoomOut", p=0.5, fill=[1, 2, 3], side_range=(1.0, 4.0)),
            made(
                "RandomIoUCrop",
                min_scale=0.3,
                max_scale=1,
                min_aspect_ratio=0.5,
                max_aspect_ratio=2,
                options=[0.5, 1],
                trials=40,
            ),
            made("SanitizeBoundingBoxes", min_size=1, min_area=2, labels_getter="default"),
        )
    )
    assert [repr(step) for step in taken.transforms[1:]] == [
        "ScaleJitter(64, (0.1, 2.0), interpolation='bilinear')",
        "RandomShortestSize([30, 40], 50, interpolation='bilinear')",
        "RandomShortestSize(range(3, 9), interpolation='bilinear')",
        "RandomZoomOut(0.5, side_range=(1.0, 4.0), fill=[1, 2, 3])",
        "RandomIoUCrop(scale=(0.3, 1.0), ratio=(0.5, 2.0), min_overlaps=(0.5, 1.0), trials=40)",
        "SanitizeBoxes(('labels',), min_size=1.0, min_area=2.0)",
    ]


def test_values_are_scaled_once() -> None:
    def steps(*transforms: object) -> list[str]:
        taken = vision.from_torchvision(composed(*transforms)).transforms[1:]
        return [repr(step) for step in taken]

    to_float = made("ToDtype", dtype="torch.float32", scale=True)
    unscaled = made("ToDtype", dtype="torch.float32", scale=False)
    half = made("Normalize", mean=[0.5], std=[1])
    middle = made("CenterCrop", size=[4, 4])
    assert steps(made("PILToTensor"), to_float, half) == ["Normalize((0.5,), (1.0,))", "ToCHW()"]
    assert steps(unscaled, half) == ["Normalize((0.5,), (1.0,), scale=1.0)"]
    assert steps(made("ToTensor"), middle, half) == [
        "Normalize((0.0,), (1.0,))",
        "Pad(least=4, where='center')",
        "CenterCrop(4)",
        "Normalize((0.5,), (1.0,), scale=1.0)",
        "ToCHW()",
    ]
    assert steps(made("ToImage"), made("ToDtype", dtype="torch.uint8", scale=True)) == ["ToCHW()"]


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (made("Lambda"), r"step 1, Lambda\(\), has no counterpart$"),
        (composed(CROP, made("FiveSeven", size=3)), r"step 2, FiveSeven\(size=3\), has no counter"),
        (
            made("Resize", size=[3], interpolation=Mode.BOX, max_size=None),
            "for interpolation='box'",
        ),
        (
            composed(made("ToTensor"), made("RandomInvert", p=0.5)),
            "step 2, .* after values are scaled; it can stand before",
        ),
        (made("ToDtype", dtype="torch.float16", scale=True), "for float16"),
        (
            made("RandomApply", transforms=[made("ToTensor")], p=0.5),
            "where a choice decides about it",
        ),
    ],
)
def test_steps_without_a_counterpart(transform: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        vision.from_torchvision(transform)
    with pytest.raises(TypeError, match="is no transform of torchvision or timm"):
        vision.from_torchvision(composed(test_steps_without_a_counterpart))


def test_a_view_of_the_name_of_its_image(photos: Path) -> None:
    invert = vision.RandomInvert(1.0)
    with pytest.raises(ValueError, match="'image' is the image itself; give the view another"):
        vision.Views({"image": invert})(dataset.image_folder(photos).decode_image("image"))


def test_annotated_images_are_not_turned() -> None:
    """What is annotated are the pixels as stored, whatever EXIF data says."""
    pair = {"image": png(np.zeros((9, 9, 3), np.uint8)), "mask": png(np.zeros((9, 9), np.uint8))}

    def turned(recipe: vision.Compose, **slots: object) -> list[str]:
        text = recipe(Reader.from_iterable(lambda: iter([pair])), **slots).to_text()
        return re.findall(r'name: "orientation"\s+type: BOOLEAN\s+b: (\w+)', text)

    assert turned(vision.segmentation(train=False)) == ["false", "false"]
    alone = vision.Compose([vision.DecodeImage()])
    assert turned(alone, slots={"image": "image"}) == ["true"]
    told = vision.Compose([vision.DecodeImage(orientation=True)])
    assert turned(told, slots={"image": "image", "mask": "mask"}) == ["false", "true"]


def test_masks_and_images_are_cut_alike() -> None:
    """What is bright in the image is class 1 in the mask; what is neither is beyond the image."""
    random = np.random.default_rng(3)
    pairs = []
    for _ in range(30):
        mask = np.zeros((random.integers(20, 40), random.integers(20, 40)), np.uint8)
        mask[5:15, : random.integers(8, 16)] = 1
        pixels = np.repeat(mask[:, :, np.newaxis] * 255, 3, axis=2)
        pairs.append({"image": png(pixels), "mask": png(mask, b"\0\0\0\xff\xff\xff")})
    recipe = vision.segmentation(32, base=24, mean=[0.5], std=[0.5])
    seen = set()
    for batch in recipe(Reader.from_iterable(lambda: iter(pairs))).batch(1):
        image, mask = batch["image"][0, 0], batch["mask"][0, :, :, 0]
        assert image.shape == mask.shape == (32, 32)
        seen |= set(mask.ravel().tolist())
        inside = mask != 255
        assert (image[~inside] == -1).all()
        assert np.mean((image[inside] > 0) == mask[inside]) > 0.97
    assert seen == {0, 1, 255}
    (first, *_) = vision.segmentation(base=30, train=False)(
        Reader.from_iterable(lambda: iter(pairs))
    )
    assert min(first["mask"].shape[1:3]) == 30


POLICIES = ["none", "hflip", "multiscale", "lsj", "ssd", "ssdlite"]


@pytest.mark.parametrize("policy", POLICIES)
def test_boxes_stay_around_what_they_are_around(policy: str) -> None:
    """Each object is a rectangle brighter than all else, and its label says how bright it is."""
    random = np.random.default_rng(4)

    def record() -> dict[str, object]:
        pixels = np.zeros((120, 160, 3), np.uint8)
        boxes = [[x, y, x + 24, y + 20] for x, y in ((8, 6), (70, 50), (120, 90))]
        for number, (left, top, right, bottom) in enumerate(boxes):
            pixels[top:bottom, left:right] = 100 + 50 * number
        return {
            "image": png(pixels),
            "boxes": np.array(boxes, np.float32) + random.uniform(-0.01, 0.01, (3, 4)),
            "labels": np.arange(3),
        }

    records = [record() for _ in range(40)]
    files = Reader.from_iterable(
        lambda: iter(records),
        slots={
            "image": ("uint8", [-1], 1),
            "boxes": ("float64", [-1, 4], 1),
            "labels": ("int64", [-1], 1),
        },
    )
    size = 150 if policy == "lsj" else None
    recipe = vision.coco_detection(policy, size=size, labels=["labels"])
    counts = []
    for element in recipe(files):
        image = element["image"][0]
        boxes, labels = element["boxes"].values, element["labels"].values
        counts.append(len(boxes))
        assert len(labels) == len(boxes)
        assert image.shape[0] == 3 and (size is None or image.shape[1:] == (size, size))
        for (left, top, right, bottom), label in zip(boxes, labels):
            if right - left < 8 or bottom - top < 8 or policy == "ssd":
                continue  # resampled away, or of other colours
            middle = image[:, int((top + bottom) / 2), int((left + right) / 2)]
            assert middle == pytest.approx((100 + 50 * label) / 255, abs=0.02)
    assert max(counts) == 3
    assert min(counts) == (3 if policy in POLICIES[:3] else min(counts))


def test_images_of_detection_are_batched_at_one_size() -> None:
    pixels = [np.zeros((30 + i, 40, 3), np.uint8) for i in range(3)]
    files = Reader.from_iterable(
        lambda: (
            {"image": png(image), "boxes": np.float32([[1, 2, 21, 22]]), "labels": np.array([7])}
            for image in pixels
        ),
        slots={
            "image": ("uint8", [-1], 1),
            "boxes": ("float32", [-1, 4], 1),
            "labels": ("int64", [-1], 1),
        },
    )
    recipe = vision.coco_detection("none", size=64, labels=["labels"])
    (batch,) = recipe(files).batch(3)
    assert batch["image"].shape == (3, 3, 64, 64)
    assert batch["boxes"].values[0] == pytest.approx([1.6, 2 * 64 / 30, 33.6, 22 * 64 / 30])
    with pytest.raises(ValueError, match="policy is 'best'; it is one of 'none', 'hflip'"):
        vision.coco_detection("best")
