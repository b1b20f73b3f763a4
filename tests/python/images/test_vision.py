# SPDX-License-Identifier: Apache-2.0
"""Images: the methods of Reader, the transforms of millhopper.vision, dataset.image_folder."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import current_record, dataset, vision
from millhopper.base.zipped import zip_strict
from millhopper.readers.augment_methods import AugmentMethods
from millhopper.readers.image_methods import ImageMethods

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def png(pixels: np.ndarray, palette: bytes = b"") -> bytes:
    """A PNG file of uint8 [height, width, 3], or of numbers [height, width].

    uint16 numbers are values of 16 bits; others are gray, or, with a palette, places in it.
    """

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width = pixels.shape[:2]
    colors = 3 if palette else 2 if pixels.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, colors, 0, 0, 0)
    stored = pixels.astype(pixels.dtype.newbyteorder(">"))
    rows = b"".join(b"\0" + row.tobytes() for row in stored)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + (chunk(b"PLTE", palette) if palette else b"")
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def pictures() -> list[np.ndarray]:
    """Six images of different sizes."""
    random = np.random.default_rng(5)
    return [random.integers(0, 256, (20 + 3 * i, 31 - 2 * i, 3), dtype=np.uint8) for i in range(6)]


@pytest.fixture
def folder(tmp_path: Path, pictures: list[np.ndarray]) -> Path:
    """The images in two class folders, the first three in cats."""
    for i, picture in enumerate(pictures):
        place = tmp_path / "photos" / ("cats" if i < 3 else "dogs")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.png").write_bytes(png(picture))
    return tmp_path / "photos"


def test_image_folder_gives_bytes_and_classes(folder: Path, pictures: list[np.ndarray]) -> None:
    elements = list(dataset.image_folder(folder))
    assert [element["label"].item() for element in elements] == [0, 0, 0, 1, 1, 1]
    assert bytes(elements[1]["image"].values) == png(pictures[1])


def test_classes_have_names(tmp_path: Path, pictures: list[np.ndarray]) -> None:
    names = [
        "b",
        "B",
        "\u00e9",
        "\U0001f600",
        "\uff21",
        "a b",
        "10",
        "9",
        "_c",
        ".hidden",
        "__MACOSX",
    ]
    for number, name in enumerate(names):
        (tmp_path / name).mkdir()
        picture = np.full((1, 1, 3), number, np.uint8)
        (tmp_path / name / "x.png").write_bytes(png(picture))
    (tmp_path / "list.txt").write_text("no class")
    photos = dataset.image_folder(tmp_path)
    decoded = photos.decode_image()  # of the slot called image
    found = {
        names[element["image"][0, 0, 0, 0]]: element["label"].item() for element in decoded.batch(1)
    }
    assert len(found) == len(names) - 2
    assert decoded.class_to_idx == found
    assert decoded.batch(2).classes == sorted(found, key=lambda name: found[name])
    labels = [element["label"].item() for element in photos]
    assert [photos.classes[label] for label in labels] == photos.classes
    no_folder = millhopper.Reader.from_arrays({"label": np.arange(3)})
    assert not hasattr(no_folder, "classes")
    with pytest.raises(AttributeError, match="classes are those of one folder of images"):
        no_folder.class_to_idx  # noqa: B018


def test_decoded_pixels_are_those_of_the_file(
    folder: Path, pictures: list[np.ndarray], threads: int
) -> None:
    decoded = dataset.image_folder(folder).decode_image("image")
    for element, picture in zip_strict(decoded, pictures):
        np.testing.assert_array_equal(element["image"], picture[np.newaxis])


def test_methods_follow_one_another(folder: Path, pictures: list[np.ndarray], threads: int) -> None:
    reader = (
        dataset.image_folder(folder)
        .decode_image("image")
        .center_crop((16, 12))
        .normalize(MEAN, STD)
        .to_chw()
        .batch(6)
    )
    (batch,) = reader
    assert batch["image"].shape == (6, 3, 16, 12)
    for image, picture in zip_strict(batch["image"], pictures):
        y, x = round((picture.shape[0] - 16) / 2), round((picture.shape[1] - 12) / 2)
        part = picture[y : y + 16, x : x + 12].astype(np.float64)
        np.testing.assert_allclose(
            image.transpose(1, 2, 0), (part / 255 - MEAN) / STD, rtol=1e-5, atol=2e-6
        )


def augmentation() -> vision.Compose:
    return vision.Compose(
        [
            vision.DecodeImage(),
            vision.RandomResizedCrop((14, 15), scale=(0.2, 1.0)),
            vision.RandomHorizontalFlip(),
            vision.ColorJitter(0.4, 0.4, 0.4, 0.1),
            vision.GaussianBlur(3),
            vision.RandomPosterize(5),
            vision.RandomSolarize(200),
            vision.RandomAutocontrast(),
            vision.RandomEqualize(p=0.2),
            vision.RandomAdjustSharpness(1.5),
            vision.RandAugment(),
            vision.Normalize(MEAN, STD),
            vision.ToCHW(),
        ]
    )


def test_random_transforms_depend_on_seed_pass_and_record_alone(folder: Path, pool: None) -> None:
    def passes(count: int, seed: int = 3) -> list[list[bytes]]:
        millhopper.set_threads(count)
        reader = augmentation()(dataset.image_folder(folder, seed=seed), slot="image")
        return [[bytes(element["image"]) for element in reader] for _ in range(2)]

    first = passes(0)
    assert first[0] != first[1]
    assert all(passes(count) == first for count in (1, 2, 7))
    assert passes(2, seed=4) != first


CORNERS = [[0, 0], [9, 0], [9, 9], [0, 9]]
# Every method of images, with what it needs.
METHODS: dict[str, tuple[object, ...]] = {
    "decode_image": (),
    "resize": (9,),
    "crop": (9,),
    "center_crop": (9,),
    "random_crop": (9, 2),
    "random_resized_crop": (9,),
    "random_horizontal_flip": (),
    "random_vertical_flip": (),
    "pad": (1,),
    "normalize": (),
    "to_chw": (),
    "grayscale": (),
    "color_jitter": (0.4, 0.4, 0.4, 0.1),
    "random_rotation": (30,),
    "random_affine": (30,),
    "random_perspective": (0.5, 0.9),
    "scale_jitter": (30, (0.2, 1.9)),
    "random_shortest_size": ([5, 9, 12], 14),
    "resize_keep_ratio": (9, 1.0),
    "elastic": (20.0, 1.0),
    "five_crop": (9,),
    "ten_crop": (9,),
    "perspective": (CORNERS, [[2, 0], [9, 0], [9, 7], [0, 6]]),
    "random_erasing": (0.9,),
    "gaussian_blur": (3,),
    "random_posterize": (3,),
    "random_solarize": (100,),
    "random_autocontrast": (),
    "random_equalize": (),
    "random_adjust_sharpness": (3,),
    "rand_augment": (),
    "auto_augment": (),
    "trivial_augment_wide": (),
    "random_invert": (),
    "random_zoom_out": (1.0,),
    "random_grayscale": (),
    "random_photometric_distort": (),
    "random_channel_permutation": (),
    "gaussian_noise": (0.0, 0.5),
    "jpeg": (20,),
    "aug_mix": (),
    "mixup": (),
    "cutmix": (),
}
# Those that change such small noise, at random.
RANDOM = {name for name in METHODS if name.startswith("rand")} - {"random_equalize"}
RANDOM |= {"color_jitter", "gaussian_blur"}


def test_every_method_takes_a_name(folder: Path) -> None:
    methods = {**vars(ImageMethods), **vars(AugmentMethods)}
    own = {name for name in methods if not name.startswith("_")}
    assert own == {*METHODS, "random_iou_crop"}  # which takes boxes only: test_detection.py
    files = dataset.image_folder(folder)
    decoded = files.decode_image("image")
    for method, arguments in METHODS.items():
        reader = files if method == "decode_image" else decoded
        options = {"num_classes": 2} if method in ("mixup", "cutmix") else {}
        if method == "mixup":
            reader = decoded.normalize()
        named = getattr(reader, method)(*arguments, slot="image", name="mine", **options)
        assert 'arguments: "mine:Out"' in named.to_text(), method
        assert 'arguments: "mine"' in named.to_text(), method


def test_draws_stay_when_other_steps_are_added(folder: Path) -> None:
    """They depend on the operator's name, not on that of the chain."""
    numbered = dataset.image_folder(folder, seed=3).map(
        lambda element: {**element, "number": np.array([current_record().sample])}
    )

    def images(reader: millhopper.Reader) -> dict[int, bytes]:
        return {element["number"].item(): element["image"].tobytes() for element in reader}

    def chain(reader: millhopper.Reader, method: str, name: str) -> millhopper.Reader:
        decoded = reader.decode_image("image").center_crop(12)
        return getattr(decoded, method)(*METHODS[method], slot="image", name=name)

    for method in RANDOM:
        plain = images(chain(numbered, method, ""))
        named = images(chain(numbered, method, "mine"))
        assert plain != named, method
        for name, wanted in (("", plain), ("mine", named)):
            assert images(chain(numbered.shuffle(4), method, name)) == wanted, method
            assert images(chain(numbered.shuffle(4).shuffle(3).take(9), method, name)) == wanted
            apart = numbered.decode_image("image").shuffle(5).center_crop(12, slot="image")
            made = getattr(apart.double_buffer(), method)
            assert images(made(*METHODS[method], slot="image", name=name)) == wanted, method


def test_a_step_that_is_repeated_draws_other_numbers(folder: Path) -> None:
    crops = dataset.image_folder(folder).decode_image("image", output="a").pad(9, slot="a")
    both = crops.apply("random_crop", "a", "b", size=[9, 9]).random_crop(9, slot="a")
    for reader in (both, both.batch(2).random_horizontal_flip(slot="a")):
        assert all((element["a"] != element["b"]).any() for element in reader)
    text = both.batch(2).random_crop(5, slot="a").to_text()
    for name in ("images.random_crop:Out", "images.random_crop_2:Out", "images.random_crop_3:Out"):
        assert text.count(f'name: "{name}"') == 1


def test_masks_are_cropped_like_their_images(folder: Path) -> None:
    """Sources of one name draw alike; others do not."""

    def crops(name: str) -> millhopper.Reader:
        files = millhopper.Reader.open_files(f"image_folder:{folder}", names=["image", "label"])
        if name:
            files = millhopper.Reader.open_files(
                f"image_folder:{folder}", names=["image", "label"], name=name
            )
        return files.decode_image("image").random_crop(9)

    names = ["image", "label", "mask", "same"]
    joined = crops("").zip(crops(""), names=names)
    assert all((element["image"] == element["mask"]).all() for element in joined)
    others = crops("").zip(crops("web"), names=names)
    assert any((element["image"] != element["mask"]).any() for element in others)


def test_masks_go_through_the_same_augmentation_as_their_images(tmp_path: Path) -> None:
    """Images whose pixels are the classes: what is made of the mask is what is made of the image.

    The draws are those of ``name``, whatever each chain does besides.
    """
    random = np.random.default_rng(8)
    classes = [random.integers(0, 21, (30, 25 + i), dtype=np.uint8) for i in range(8)]
    palette = random.integers(0, 256, 3 * 21, dtype=np.uint8).tobytes()
    for kind, images in (
        ("images", [png(image) for image in classes]),
        ("masks", [png(image, palette) for image in classes]),
    ):
        (tmp_path / f"{kind}.txt").write_text("".join(f"{kind}{i}.png\t0\n" for i in range(8)))
        for i, image in enumerate(images):
            (tmp_path / f"{kind}{i}.png").write_bytes(image)

    def augmented(kind: str, mode: str, name: str) -> millhopper.Reader:
        files = millhopper.Reader.open_files(
            f"image_list:{tmp_path / kind}.txt", names=[kind, f"label of {kind}"], name=name, seed=4
        )
        return (
            files.decode_image(kind, channels=1, mode=mode)
            .random_resized_crop((20, 16), interpolation="nearest", name="crop")
            .random_crop((15, 14), name="part")
            .random_horizontal_flip(name="flip")
        )

    names = ["image", "a", "mask", "b"]
    images = augmented("images", "pixels", "files")
    for masks in (
        augmented("masks", "P", "masks"),
        augmented("masks", "P", "m").normalize(scale=1),
    ):
        elements = list(images.zip(masks, names=names).shuffle(8).batch(8))
        np.testing.assert_array_equal(elements[0]["image"], elements[0]["mask"])
        assert elements[0]["mask"].max() > 10


def test_numbers_of_palettes_and_of_16_bits(tmp_path: Path) -> None:
    mask, depth = np.array([[0, 1, 2]], np.uint8), np.array([[100, 256, 1000]], np.uint16)
    (tmp_path / "mask.png").write_bytes(png(mask, b"\0\0\0\x80\0\0\0\x80\0"))
    (tmp_path / "depth.png").write_bytes(png(depth))

    def reader(name: str) -> millhopper.Reader:
        files = millhopper.Reader.open_files(f"image_list:{tmp_path / name}.txt", names=["x", "y"])
        (tmp_path / f"{name}.txt").write_text(f"{tmp_path / name}.png\t0\n")
        return files

    masks = reader("mask").decode_image("x", mode="P")
    (batch,) = masks.resize((1, 6), interpolation="nearest").batch(1)
    assert batch["x"].dtype == np.uint8
    assert batch["x"].ravel().tolist() == [0, 0, 1, 1, 2, 2]
    assert masks.slots()[0] == ("uint8", [-1, -1, -1, 1], 0)
    depths = reader("depth").decode_image("x", mode="I;16", channels=1)
    assert depths.slots()[0] == ("uint16", [-1, -1, -1, 1], 0)
    (batch,) = depths.random_horizontal_flip(1.0).batch(1)
    assert batch["x"].dtype == np.uint16
    assert batch["x"].ravel().tolist() == [1000, 256, 100]
    (batch,) = depths.normalize(scale=0.5).to_chw().batch(1)
    assert batch["x"].ravel().tolist() == [50, 128, 500]
    (batch,) = vision.DecodeImage(mode="I;16")(reader("depth"), slot="x").cast("int32").batch(1)
    assert batch["x"].ravel().tolist() == [100, 256, 1000]
    with pytest.raises(millhopper.Error, match="mode I;16 is for images of 16 bits"):
        next(iter(reader("mask").decode_image("x", mode="I;16")))
    with pytest.raises(millhopper.Error, match="'mode' is 'RGB'; it must be one of"):
        reader("mask").decode_image("x", mode="RGB")


def digest_of(element: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 that ``peek --digest`` prints, of an element without levels of detail."""
    numbers = {"uint8": 20, "int64": 3, "float32": 5}  # of framework.proto
    digest = hashlib.sha256()
    for values in element.values():
        digest.update(struct.pack("<II", numbers[values.dtype.name], values.ndim))
        digest.update(struct.pack(f"<{values.ndim}qI", *values.shape, 0))
        digest.update(values.tobytes())
    return digest.hexdigest()


def test_digests_are_those_of_the_command(folder: Path, tmp_path: Path, pool: None) -> None:
    peek = Path(__file__).parents[3] / "bazel-bin/tools/peek"
    if not os.access(peek, os.X_OK):
        pytest.skip("tools/peek is not built")
    reader = augmentation()(dataset.image_folder(folder, seed=3), slot="image").batch(2)
    startup = tmp_path / "startup.pbtxt"
    startup.write_text(reader.to_text())
    for threads in (1, 2, 7, 16):
        millhopper.set_threads(threads)
        reader.set_epoch(0)
        digests = [digest_of(batch) for batch in reader]
        printed = subprocess.run(
            [peek, f"--startup={startup}", "--seed=3", f"--threads={threads}", "--digest"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        assert printed[:3] == [f"{i} {digest}" for i, digest in enumerate(digests)]


def test_random_crop_pads_first(folder: Path) -> None:
    def crops(*transforms: Callable[..., millhopper.Reader]) -> list[np.ndarray]:
        reader = dataset.image_folder(folder).decode_image("image", output="pixels")
        return [
            element["pixels"] for element in vision.Compose(list(transforms))(reader, slot="pixels")
        ]

    # 31 columns are fewer than 32 until there is padding.
    cropped = crops(vision.RandomCrop(32, 10, padding_mode="reflect", seed=4))
    expected = crops(vision.Pad(10, padding_mode="reflect"), vision.RandomCrop(32, seed=4))
    assert [image.shape for image in cropped] == [(1, 32, 32, 3)] * 6
    assert all((one == other).all() for one, other in zip_strict(cropped, expected))
    filled = crops(vision.RandomCrop(61, padding=30, fill=7, seed=4))
    assert all((image == 7).any() for image in filled)


def test_every_method_runs(folder: Path) -> None:
    reader = (
        dataset.image_folder(folder)
        .decode_image("image", output="pixels")
        .pad([1, 2], padding_mode="edge")
        .resize(24, interpolation="bicubic")
        .random_crop(20, seed=1)
        .crop((18, 19), top=1, left=1)
        .random_vertical_flip(seed=2)
        .random_rotation(10)
        .random_affine(5, translate=(0.1, 0.1), scale=(0.9, 1.1), shear=3)
        .random_erasing(1.0)
        .grayscale(3)
    )
    for element in reader:
        assert element["pixels"].shape == (1, 18, 19, 3)
        assert (element["pixels"][..., 0] == element["pixels"][..., 2]).all()


def test_colors_are_changed_with_a_probability(
    folder: Path, pictures: list[np.ndarray], threads: int
) -> None:
    decoded = dataset.image_folder(folder).decode_image("image")

    def images(reader: millhopper.Reader) -> list[np.ndarray]:
        return [element["image"][0] for element in reader]

    def expect(reader: millhopper.Reader, wanted: Callable[[np.ndarray], np.ndarray]) -> None:
        for image, picture in zip_strict(images(reader), pictures):
            np.testing.assert_array_equal(image, wanted(picture))

    expect(decoded.random_posterize(3, p=1), lambda picture: picture & 0xE0)
    expect(
        decoded.random_solarize(100, p=1),
        lambda picture: np.where(picture >= 100, 255 - picture, picture),
    )
    expect(decoded.random_adjust_sharpness(sharpness_factor=1, p=1), lambda picture: picture)
    expect(decoded.rand_augment(num_ops=0), lambda picture: picture)
    for method in ("random_autocontrast", "random_equalize"):
        expect(getattr(decoded, method)(p=0), lambda picture: picture)
    # Noise fills the range; turned over, its upper half is gone, and then there is room.
    dark = decoded.random_posterize(7, p=1).random_solarize(128, p=1)
    assert max(image.max() for image in images(dark)) < 128
    assert all(image.max() >= 254 for image in images(dark.random_autocontrast(p=1)))
    assert all(image.max() == 255 for image in images(dark.random_equalize(p=1)))


def test_blur_and_sharpness_change_the_noise(folder: Path) -> None:
    decoded = dataset.image_folder(folder).decode_image("image").center_crop(12)

    def roughness(reader: millhopper.Reader) -> float:
        return float(np.mean([np.abs(np.diff(e["image"].astype(int), axis=1)) for e in reader]))

    before = roughness(decoded)
    assert roughness(decoded.gaussian_blur(5, sigma=2)) < before / 3
    assert roughness(decoded.gaussian_blur((5, 3), sigma=(1, 2))) < before / 2
    assert roughness(decoded.random_adjust_sharpness(0, p=1)) < before * 0.8
    assert roughness(decoded.random_adjust_sharpness(3, p=1)) > before


def test_batches_of_either_layout_are_mixed_by_chance(folder: Path) -> None:
    files = dataset.image_folder(folder).decode_image("image").random_resized_crop(16)
    last, first = files.normalize().batch(3), files.to_chw().normalize().batch(3)
    for batches in (last, first, last.to_chw(slot="image")):
        mixed = batches.random_choice(
            [
                lambda reader: reader.mixup(num_classes=2, slot="image", seed=5),
                lambda reader: reader.cutmix(num_classes=2, slot="image", seed=5),
            ]
        )
        cut = batches.cutmix(num_classes=2, slot="image", seed=5)
        for _ in range(4):
            for batch, plain in zip_strict(mixed, batches):
                assert batch["label"].dtype == np.float32
                assert batch["label"].sum(axis=1).tolist() == pytest.approx([1.0] * 3)
                assert batch["image"].shape == plain["image"].shape
        assert sum((b["image"] != p["image"]).sum() for b, p in zip_strict(cut, batches)) > 0


def test_erasing_takes_either_layout(folder: Path) -> None:
    files = dataset.image_folder(folder).decode_image("image").random_resized_crop(16)
    last, first = (
        (element["image"] for element in reader)
        for reader in (files.random_erasing(1.0).to_chw(), files.to_chw().random_erasing(1.0))
    )
    assert all((one == other).all() for one, other in zip_strict(last, first))


def test_rand_augment_takes_torchvisions_arguments(folder: Path) -> None:
    decoded = dataset.image_folder(folder).decode_image("image")
    augment = vision.RandAugment(3, magnitude=5, num_magnitude_bins=10, fill=[1, 2, 3], seed=7)
    changed = [element["image"] for element in augment(decoded)]
    assert [image.shape for image in changed] == [element["image"].shape for element in decoded]
    assert any((image != element["image"]).any() for image, element in zip_strict(changed, decoded))
    vision.RandAugment(interpolation="bilinear", fill=7)(decoded)
    with pytest.raises(millhopper.Error, match="'magnitude' is 31; it is from 0 to"):
        decoded.rand_augment(magnitude=31)
    with pytest.raises(millhopper.Error, match="'kernel_size' has the value 4; it is odd"):
        decoded.gaussian_blur(4)


def test_batches_are_mixed(folder: Path, threads: int) -> None:
    batches = dataset.image_folder(folder).decode_image("image").resize((12, 10)).batch(6)
    (batch,) = batches
    (mixed,) = vision.CutMix(num_classes=2, alpha=3, seed=5)(batches, slot="image")
    # The last image is that before the first.
    before = np.roll(batch["image"], 1, axis=0)
    cut = (mixed["image"] != batch["image"]).any(axis=(0, 3))
    assert 0 < cut.sum() < cut.size
    np.testing.assert_array_equal(
        mixed["image"], np.where(cut[np.newaxis, ..., np.newaxis], before, batch["image"])
    )
    np.testing.assert_allclose(mixed["label"][0], [1 - cut.mean(), cut.mean()], rtol=1e-6)
    np.testing.assert_array_equal(mixed["label"][1], [1, 0])

    normal = batches.normalize(MEAN, STD, slot="image")
    (batch,) = normal
    (mixed,) = vision.MixUp(alpha=3, num_classes=2)(normal.to_chw(slot="image"), slot="image")
    share, rest = mixed["label"][3].tolist()[::-1]
    assert 0 < share < 1 and rest == pytest.approx(1 - share)
    expected = share * batch["image"] + rest * np.roll(batch["image"], 1, axis=0)
    np.testing.assert_allclose(mixed["image"].transpose(0, 2, 3, 1), expected, atol=1e-5)
    (mixed,) = normal.mixup(num_classes=2)  # of the slot called image
    assert mixed["image"].shape == batch["image"].shape
    with pytest.raises(millhopper.Error, match="slot is not given"):
        batches.resize(8)


def test_transforms_say_what_they_are() -> None:
    assert repr(vision.Compose([vision.Resize(8), vision.CenterCrop(size=4)])) == (
        "Compose([\n    Resize(8),\n    CenterCrop(size=4),\n])"
    )


def test_pixels_are_limited(folder: Path, pictures: list[np.ndarray]) -> None:
    most = max(picture.shape[0] * picture.shape[1] for picture in pictures)
    images = dataset.image_folder(folder)
    assert len(list(images.decode_image("image", max_pixels=most))) == len(pictures)
    with pytest.raises(millhopper.Error, match="pixels"):
        list(images.decode_image("image", max_pixels=most - 1))


def test_a_file_that_is_no_image_is_an_error(folder: Path) -> None:
    (folder / "cats" / "1.png").write_bytes(b"this is no image")
    with pytest.raises(
        millhopper.Error, match="they do not begin like JPEG, PNG, WebP, TIFF, GIF, BMP or PNM"
    ):
        list(dataset.image_folder(folder).decode_image("image"))


def test_an_error_names_the_image_of_a_folder(folder: Path) -> None:
    (folder / "dogs" / "4.png").write_bytes(b"this is no image")
    images = dataset.image_folder(folder)
    for reader in (images, images.shuffle(4, seed=3), images.shard(2, 0)):
        with pytest.raises(millhopper.Error, match=r"\n  in .*/photos/dogs/4\.png\n"):
            list(reader.decode_image("image"))


def test_an_error_names_the_image_of_a_list(folder: Path) -> None:
    (folder / "cats" / "1.png").write_bytes(b"this is no image")
    listed = folder / "list.txt"
    listed.write_text("dogs/4.png 1\n\ncats/1.png 0\n")
    reader = millhopper.Reader.open_files(f"image_list:{listed}", names=["image", "label"])
    with pytest.raises(
        millhopper.Error, match=r"\n  in .*/cats/1\.png, named in line 3 of .*list.txt\n"
    ):
        list(reader.decode_image("image"))
