# SPDX-License-Identifier: Apache-2.0
"""Sets of images with boxes and outlines in COCO's form."""

from __future__ import annotations

import os
from collections.abc import Sequence

from millhopper.base.paths import Path
from millhopper.readers.reader import Reader


def coco(
    annotations: Path,
    images: Path | None = None,
    *,
    fields: Sequence[str] = ("image", "image_id", "boxes", "labels", "area", "iscrowd"),
    labels: str = "id",
    box_format: str = "xyxy",
    skip_empty: bool = False,
    skip_crowds: bool = False,
    seed: int = 0,
) -> Reader:
    """Images in the order of their ids, with what is in them.

    Slots, of an image with n annotations in the order of the file: ``image``, the bytes of its
    file, uint8, for ``Reader.decode_image``; ``image_id``, ``height``, ``width``, int64 ``[1]``;
    ``file_name``, text; and with one level of offsets ``boxes``, float32 ``[n, 4]``, in pixels;
    ``labels``, ``ids``, int64 ``[n]``; ``area``, float32 ``[n]``, that of the box where the file
    has none; ``iscrowd``, bool ``[n]``; with more levels ``polygons``, float64, x and y of the
    points of the polygons of each annotation, and ``runs``, uint32, the lengths of the runs of the
    masks that are given so, off and on by turns, column after column; ``keypoints``, float32, x, y
    and visibility of those of each annotation. ``Reader.object_masks`` makes masks of ``polygons``
    and ``runs``.

    Args:
        annotations: the JSON file, such as ``instances_train2017.json``, which may be compressed.
        images: the folder of the images; by default that of the file.
        fields: the names of the slots, in order.
        labels: ``"id"``: labels are the ids of categories, as they stand in the file; ``"index"``:
            their places among all of them, sorted, from 0 on.
        box_format: ``"xyxy"``: left, top, right and bottom; ``"xywh"``: as in the file.
        skip_empty: whether images without annotations are left out.
        skip_crowds: whether annotations with ``iscrowd`` 1 are left out.
        seed: seed of all random choices in the chain.

    Raises:
        Error: a name or a value is none of these; in the first pass: the file is no such JSON, by
            the annotation and its byte, or an image is missing.

    Source: https://cocodataset.org/#format-data; order and ids of torchvision's CocoDetection;
    format ``coco``.
    """
    return Reader.open_files(
        f"coco:{os.fspath(annotations)}",
        fields=list(fields),
        seed=seed,
        name="images",
        images="" if images is None else os.fspath(images),
        labels=labels,
        box_format=box_format,
        skip_empty=skip_empty,
        skip_crowds=skip_crowds,
    )
