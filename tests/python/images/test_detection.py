# SPDX-License-Identifier: Apache-2.0
"""Images with boxes: COCO's JSON against pycocotools, random crops against torchvision.

In an environment with what is compared with::

    pip install . pycocotools torchvision && python -m pytest tests/python/images/test_detection.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import dataset
from test_vision import png

Reader = millhopper.Reader


def values(slot: Any) -> np.ndarray:
    """Those of all objects, of a slot with levels or without."""
    return np.asarray(getattr(slot, "values", slot))


def runs_of(mask: np.ndarray) -> list[int]:
    """The lengths of the runs of a mask, off and on by turns, column after column."""
    flat = mask.flatten("F")
    changes = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff([0, *changes, len(flat)]).tolist()
    return [0, *lengths] if flat[0] else lengths


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with polygons, also beyond the image, and runs."""
    folder = tmp_path_factory.mktemp("coco")
    random = np.random.default_rng(8)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for i in range(80):
        height, width = random.integers(30, 120, 2).tolist()
        content = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        (folder / f"{i}.png").write_bytes(png(content))
        images.append({"id": 900 - i, "file_name": f"{i}.png", "height": height, "width": width})
        for k in range(i % 5):
            x, y = random.random() * width * 0.7, random.random() * height * 0.7
            w, h = 2 + random.random() * (width - x - 2), 2 + random.random() * (height - y - 2)
            segmentation: Any
            if k % 2 == 0:
                polygons = []
                for _ in range(1 + k % 3):
                    angles = np.sort(random.random(3 + i % 9)) * 2 * np.pi
                    far = random.random((2, len(angles))) * 1.4
                    corners = np.stack(
                        [
                            x + w / 2 * (1 + far[0] * np.cos(angles)),
                            y + h / 2 * (1 + far[1] * np.sin(angles)),
                        ],
                        axis=1,
                    )
                    polygons.append([round(value, 2) for value in corners.ravel().tolist()])
                segmentation = polygons
            else:
                mask = random.random((height, width)) < 0.3
                mask[int(y) : int(y + h), int(x) : int(x + w)] = True
                segmentation = {"size": [height, width], "counts": runs_of(mask)}
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": 900 - i,
                    "area": round(w * h, 3),
                    "category_id": 1 + (i + k) % 90,
                    "iscrowd": k % 2,
                    "segmentation": segmentation,
                    "bbox": [round(value, 2) for value in (x, y, w, h)],
                }
            )
    random.shuffle(annotations)  # type: ignore[arg-type]
    categories = [{"id": i, "name": str(i)} for i in range(1, 91)]
    file = folder / "instances.json"
    file.write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories})
    )
    return file


def test_records_and_masks_are_those_of_pycocotools(path: Path) -> None:
    pycocotools = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    known = pycocotools.COCO(str(path))
    reader = (
        dataset.coco(path, fields=["*"])
        .decode_image("image")
        .object_masks("polygons", "runs", image="image")
        .object_masks(
            "polygons", "runs", image="image", labels="labels", overlap=-1, output="classes"
        )
    )
    objects = 0
    for element, image in zip(reader, sorted(known.imgs), strict=True):
        annotations = known.loadAnns(known.getAnnIds(imgIds=[image]))
        assert element["image_id"].tolist() == [image]
        assert values(element["ids"]).tolist() == [one["id"] for one in annotations]
        assert values(element["labels"]).tolist() == [one["category_id"] for one in annotations]
        assert values(element["iscrowd"]).tolist() == [one["iscrowd"] == 1 for one in annotations]
        boxes = np.array([one["bbox"] for one in annotations], np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        assert np.array_equal(values(element["boxes"]), boxes)
        masks = values(element["masks"])[..., 0]
        assert len(masks) == len(annotations)
        classes = np.zeros(masks.shape[1:], np.uint8)
        for mask, annotation in zip(masks, annotations, strict=True):
            wanted = known.annToMask(annotation)
            assert np.array_equal(mask, wanted)
            classes = np.maximum(classes, wanted * np.uint8(annotation["category_id"]))
            objects += 1
        if annotations:
            assert np.array_equal(element["classes"][0, ..., 0], classes)
    assert objects == 160


def test_runs_as_texts_are_those_of_lists(path: Path, tmp_path: Path) -> None:
    mask = pytest.importorskip("pycocotools.mask", reason="pycocotools is not installed")
    content = json.loads(path.read_text())
    for one in content["annotations"]:
        if isinstance(one["segmentation"], dict):
            size = one["segmentation"]["size"]
            packed = mask.frPyObjects(one["segmentation"], *size)
            one["segmentation"] = {"size": size, "counts": packed["counts"].decode()}
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(content))
    for one, other in zip(
        dataset.coco(path, fields=["runs"]),
        dataset.coco(texts, path.parent, fields=["runs"]),
        strict=True,
    ):
        assert np.array_equal(values(one["runs"]), values(other["runs"]))


_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


class Draws:
    """What an operator draws for a record, as ``framework/base/random.h`` says."""

    _STEP = 0x9E3779B97F4A7C15

    def __init__(self, seed: int, name: str, record: int) -> None:
        number = 0xCBF29CE484222325
        for byte in name.encode():
            number = (number ^ byte) * 0x100000001B3 & _MASK
        key = _mix(seed + self._STEP & _MASK)
        key = _mix(key ^ 2 * self._STEP & _MASK)
        key = _mix(key ^ (number + 3 * self._STEP & _MASK))
        self._key = self._bits(key, record)

    def _bits(self, key: int, index: int) -> int:
        return _mix(_mix(key) + (index + 1) * self._STEP & _MASK)

    def below(self, n: int, index: int) -> int:
        return self._bits(self._key, index) * n >> 64

    def unit(self, index: int) -> float:
        return (self._bits(self._key, index) >> 40) * 2.0**-24


@pytest.fixture
def drawn(path: Path) -> Reader:
    return dataset.coco(path, fields=["image", "boxes", "labels"], seed=5).decode_image("image")


MOVED = {"image": "image", "boxes": "xyxy"}


def expect_torchvision(reader: Reader, drawn: Reader, transform: Any, inject: Any) -> None:
    """Compares a reader with what torchvision makes of the records of ``drawn``.

    ``inject(number, size, patch)`` has torch draw what the operator draws for this record.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    from torchvision import tv_tensors

    changed = 0
    made = reader.sanitize_boxes("boxes", image="image", slots=["labels"])
    for number, (element, given) in enumerate(zip(made, drawn, strict=True)):
        image = torch.from_numpy(given["image"][0].copy()).permute(2, 0, 1)
        record = {
            "image": tv_tensors.Image(image),
            "boxes": tv_tensors.BoundingBoxes(
                torch.from_numpy(values(given["boxes"]).copy()),
                format="XYXY",
                canvas_size=tuple(image.shape[1:]),
            ),
            "labels": torch.from_numpy(values(given["labels"]).copy()),
        }
        with pytest.MonkeyPatch.context() as patch:
            inject(number, tuple(image.shape[1:]), patch)
            record = transform(record)
        changed += record["image"].shape != image.shape
        record = v2.SanitizeBoundingBoxes(min_size=1, min_area=1)(record)
        assert np.array_equal(element["image"][0], record["image"].permute(1, 2, 0).numpy())
        assert np.array_equal(values(element["labels"]), record["labels"].numpy())
        boxes = record["boxes"].as_subclass(torch.Tensor).numpy()
        assert np.abs(values(element["boxes"]) - boxes).max(initial=0) <= 1e-5
    assert changed > 20


class IouDraws:
    """torch's functions, as RandomIoUCrop calls them, with the numbers of ``random_iou_crop``."""

    _OF_OPTION = 1 + 4 * 40

    def __init__(self, draws: Draws, size: tuple[int, int]) -> None:
        self._draws, self._size = draws, size
        self._option = self._trial = -1
        self._is_place = False

    def randint(self, *, low: int, high: int, size: tuple[int, ...]) -> Any:
        import torch

        assert low == 0
        self._option, self._trial = self._option + 1, -1
        return torch.full(size, self._draws.below(high, self._option * self._OF_OPTION))

    def rand(self, count: int) -> Any:
        import torch

        self._trial += not self._is_place
        first = self._option * self._OF_OPTION + 1 + 4 * self._trial + 2 * self._is_place
        numbers = torch.tensor([self._draws.unit(first + i) for i in range(count)])
        if self._is_place:
            self._is_place = False
        else:  # the place is drawn of parts whose ratio is allowed
            height, width = self._size
            parts = 0.3 + (1.0 - 0.3) * numbers
            self._is_place = 0.5 <= int(width * parts[0]) / int(height * parts[1]) <= 2
        return numbers


def test_random_iou_crop_is_torchvisions(drawn: Reader) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

    def inject(number: int, size: tuple[int, int], patch: pytest.MonkeyPatch) -> None:
        draws = IouDraws(Draws(5, "cropped:Out", number), size)
        patch.setattr(torch, "randint", draws.randint)
        patch.setattr(torch, "rand", draws.rand)

    cropped = drawn.random_iou_crop(slots=MOVED, name="cropped")
    expect_torchvision(cropped, drawn, v2.RandomIoUCrop(), inject)


def test_random_zoom_out_is_torchvisions(drawn: Reader) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

    def inject(number: int, _: tuple[int, int], patch: pytest.MonkeyPatch) -> None:
        draws, used = Draws(5, "zoomed:Out", number), [0]

        def rand(count: Any) -> Any:
            n = count if isinstance(count, int) else count[0]
            used[0] += n
            return torch.tensor([draws.unit(used[0] - n + i) for i in range(n)])

        patch.setattr(torch, "rand", rand)

    fill = [123.0, 117.0, 104.0]
    zoomed = drawn.random_zoom_out(fill=fill, slots=MOVED, name="zoomed")
    expect_torchvision(zoomed, drawn, v2.RandomZoomOut(fill=fill), inject)


def chain(path: Path) -> Reader:
    """What a detector is trained on."""
    moved = {"image": "image", "masks": "mask", "boxes": "xyxy"}
    return (
        dataset.coco(path, fields=["image", "boxes", "labels", "polygons", "runs"], seed=3)
        .decode_image("image")
        .object_masks("polygons", "runs", image="image")
        .select("image", "boxes", "labels", "masks")
        .random_zoom_out(slots=moved)
        .random_iou_crop(slots=moved)
        .random_horizontal_flip(slots=moved)
        .resize([64, 64], interpolation="nearest", slots=moved)
        .sanitize_boxes("boxes", image="image", slots=["labels", "masks"])
        .shuffle(16)
        .batch(4)
    )


def test_masks_need_outlines(path: Path) -> None:
    with pytest.raises(ValueError, match="no slot of polygons or runs"):
        dataset.coco(path).object_masks(image="image")


def test_annotations_that_are_opened_as_json_say_how_to_read_them(path: Path) -> None:
    rows = Reader.open_files(f"json:{path}")
    with pytest.raises(millhopper.Error, match="COCO's annotations: dataset.coco reads them"):
        rows.decode_image("image")


def digest(batches: Iterator[Any]) -> list[bytes]:
    return [
        b"".join(values(batch[slot]).tobytes() for slot in ("image", "boxes", "labels", "masks"))
        for batch in batches
    ]


def test_the_whole_chain_is_the_same_for_any_threads_and_after_a_resume(path: Path) -> None:
    wanted = None
    for threads in (0, 1, 2, 7):
        millhopper.set_threads(threads)
        made = digest(iter(chain(path)))
        assert len(made) == 20
        wanted = made if wanted is None else wanted
        assert made == wanted, threads
    reader = chain(path)
    first = []
    batches = iter(reader)
    for _ in range(7):
        first.append(next(batches))
    state = reader.state_dict()
    resumed = chain(path)
    resumed.load_state_dict(state)
    assert wanted is not None
    assert digest(iter(first)) + digest(iter(resumed)) == wanted


def test_masks_move_with_their_image(path: Path) -> None:
    """A flip of masks is a mask of flipped polygons, but for the pixels at its edge."""
    outlines = dataset.coco(path, fields=["image", "boxes", "polygons"]).decode_image("image")
    first = outlines.object_masks("polygons", image="image").random_horizontal_flip(
        1.0, slots={"image": "image", "masks": "mask"}
    )
    then = outlines.random_horizontal_flip(
        1.0, slots={"image": "image", "polygons": "points"}
    ).object_masks("polygons", image="image")
    pixels = differing = 0
    for one, other in zip(first, then, strict=True):
        pixels += int(values(one["masks"]).sum())
        differing += int((values(one["masks"]) != values(other["masks"])).sum())
    assert pixels > 10000
    assert differing < pixels * 0.05
