# SPDX-License-Identifier: Apache-2.0
"""Readers of photographs with boxes: JPEG files and their annotations in COCO's JSON.

Each makes batches of 32 images of 320 x 320, values from 0 to 1, with their boxes and labels: a
photograph in another size, mirrored or not, as torchvision's ``DetectionPresetTrain`` with the
policy ``hflip`` before images are batched. Boxes that fall out are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from millhopper import dataset, vision

from peers.kinds import WORKERS, Readers, Titles, Writers
from peers.photos import THREADS, images, photo

BATCH = 32
SIDE = 320
HEIGHT, WIDTH = 375, 500  # of a photograph
MOST = 12  # boxes in one


def write_coco(path: Path, rows: int) -> int:
    rows = images(rows)
    path.mkdir()
    random = np.random.default_rng(1)
    listed: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number in range(rows):
        name = f"{number:08}.jpg"
        (path / name).write_bytes(photo(number))
        listed.append({"id": number, "file_name": name, "height": HEIGHT, "width": WIDTH})
        for _ in range(1 + number % MOST):
            width, height = random.uniform(20, 250, 2).tolist()
            x, y = random.uniform(0, WIDTH - width), random.uniform(0, HEIGHT - height)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": 1 + number % 80,
                    "bbox": [x, y, width, height],
                    "area": width * height,
                    "iscrowd": 0,
                }
            )
    categories = [{"id": i, "name": str(i)} for i in range(1, 81)]
    content = {"images": listed, "annotations": annotations, "categories": categories}
    (path / "instances.json").write_text(json.dumps(content))
    return rows


def check(batch: np.ndarray) -> int:
    """How many images a batch has."""
    if batch.shape[1:] != (3, SIDE, SIDE) or batch.dtype != np.float32:
        raise ValueError(f"a batch is {batch.dtype} {batch.shape}")
    return len(batch)


def millhopper_coco(path: Path) -> int:
    files = dataset.coco(path / "instances.json", path, fields=["image", "boxes", "labels"])
    train = vision.coco_detection("hflip", size=SIDE)(files.shuffle(1024, seed=7))
    total = 0
    for batch in train.batch(BATCH).double_buffer():
        total += check(np.asarray(batch["image"]))
        if len(batch["boxes"].values) != len(batch["labels"].values):
            raise ValueError("a box has no label")
    return total


class TorchvisionSet:
    """``CocoDetection`` without pycocotools: what the annotations say, and the image by Pillow."""

    def __init__(self, path: Path) -> None:
        import torch
        from torchvision.transforms import v2

        content = json.loads((path / "instances.json").read_text())
        self.path = path
        self.images = content["images"]
        self.annotations: dict[int, list[dict[str, Any]]] = {}
        for one in content["annotations"]:
            self.annotations.setdefault(one["image_id"], []).append(one)
        self.transform = v2.Compose(
            [
                v2.PILToTensor(),
                v2.Resize((SIDE, SIDE), antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ClampBoundingBoxes(),
                v2.SanitizeBoundingBoxes(),
                v2.ToDtype(torch.float32, scale=True),
                v2.ToPureTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        import PIL.Image
        import torch
        from torchvision import tv_tensors

        image = PIL.Image.open(self.path / self.images[number]["file_name"]).convert("RGB")
        objects = self.annotations.get(self.images[number]["id"], [])
        boxes = torch.tensor([one["bbox"] for one in objects], dtype=torch.float32)
        boxes = boxes.reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        target = {
            "boxes": tv_tensors.BoundingBoxes(  # type: ignore[call-arg]
                boxes, format="XYXY", canvas_size=(HEIGHT, WIDTH)
            ),
            "labels": torch.tensor([one["category_id"] for one in objects]),
        }
        made: tuple[Any, Any] = self.transform(image, target)
        return made


def torchvision_coco(path: Path) -> int:
    import torch

    def together(items: list[tuple[Any, Any]]) -> tuple[Any, list[Any]]:
        return torch.stack([image for image, _ in items]), [target for _, target in items]

    loader = torch.utils.data.DataLoader(
        TorchvisionSet(path),  # type: ignore[arg-type]
        BATCH,
        shuffle=True,
        num_workers=THREADS,
        multiprocessing_context=WORKERS,
        collate_fn=together,
    )
    return sum(check(batch.numpy()) for batch, _ in loader)


def dali_coco(path: Path) -> int:
    from nvidia.dali import fn, pipeline_def

    rows = len(list(path.glob("*.jpg")))

    @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None)
    def augment() -> Any:
        files, boxes, labels = fn.readers.coco(
            file_root=str(path),
            annotations_file=str(path / "instances.json"),
            ratio=True,
            ltrb=True,
            random_shuffle=True,
            initial_fill=min(1024, rows),
        )
        mirror = fn.random.coin_flip()
        pixels = fn.decoders.image(files, device="cpu")
        resized = fn.resize(pixels, size=[SIDE, SIDE], antialias=True)
        made = fn.crop_mirror_normalize(
            resized, mirror=mirror, output_layout="CHW", mean=[0, 0, 0], std=[255, 255, 255]
        )
        return made, fn.bb_flip(boxes, ltrb=True, horizontal=mirror), labels

    pipeline = augment()
    pipeline.build()
    total = 0
    while total < rows:  # as for photographs
        batch, _, _ = pipeline.run()
        total += check(batch.as_array())
    return total


TITLES: Titles = {"coco_detection": "photographs with boxes, COCO"}
WRITERS: Writers = {"coco_detection": write_coco}
READERS: Readers = {
    "coco_detection": {
        "millhopper": millhopper_coco,
        "nvidia.dali": dali_coco,
        "torchvision": torchvision_coco,
    }
}
