# SPDX-License-Identifier: Apache-2.0
"""Sets of images with boxes in Pascal VOC's form."""

from __future__ import annotations

import os
from collections.abc import Sequence

from millhopper.base.paths import Path
from millhopper.readers.reader import Reader


def voc(
    root: Path,
    image_set: str = "train",
    *,
    fields: Sequence[str] = ("image", "image_id", "boxes", "labels", "area", "difficult"),
    classes: Sequence[str] = (),
    labels: str = "id",
    box_format: str = "xyxy",
    suffix: str = ".jpg",
    skip_difficult: bool = False,
    seed: int = 0,
) -> Reader:
    """Images in the order of an image set, with the objects in them.

    Slots, of an image with n objects in the order of its file: ``image``, the bytes of its file,
    uint8, for ``Reader.decode_image``; ``image_id`` (its place in the list, from 0), ``height``,
    ``width``, int64 ``[1]``; ``file_name``, text; and with one level of offsets ``boxes``, float32
    ``[n, 4]``, in pixels; ``labels``, int64 ``[n]``; ``area``, float32 ``[n]``, of the box;
    ``difficult`` and ``truncated``, bool ``[n]``. Of images with masks (those of
    ``"Segmentation/train"``, not all of ``"train"``) ``mask`` and ``object_mask`` are the bytes of
    their PNG files, whose palettes number the classes and the objects::

        pairs = dataset.voc("VOCdevkit/VOC2012", "Segmentation/train", fields=["image", "mask"])
        pairs = vision.segmentation()(pairs)

    Files of VOC count pixels from 1 and name the last one within a box. Boxes here go from edge to
    edge, the edge of the image being 0: xmin - 1, ymin - 1, xmax, ymax, as detectron2 has them;
    torchvision's ``VOCDetection`` gives the text of the file.

    Args:
        root: the folder with ``Annotations``, ``ImageSets`` and ``JPEGImages``, such as
            ``VOCdevkit/VOC2012`` within the root that torchvision takes.
        image_set: the name of a list in ``ImageSets/Main``, such as ``"trainval"``, or a path in
            ``ImageSets``, such as ``"Segmentation/train"``.
        fields: the names of the slots, in order.
        classes: the names of the classes in order; by default VOC's 20. An object of another class
            is an error.
        labels: ``"id"``: the numbers of classes from 1 on, as masks of VOC have them and as
            torchvision's models of detection take them; ``"index"``: from 0 on.
        box_format: ``"xyxy"``: left, top, right and bottom; ``"xywh"``: left, top, width, height.
        suffix: what the names of images end with, after those in the list.
        skip_difficult: whether objects that are difficult are left out.
        seed: seed of all random choices in the chain.

    Raises:
        Error: a name or a value is none of these; in the first pass: an annotation is missing or
            is no such XML, by its file and line, or an image or mask is missing.

    Source: the development kit of VOC2012; format ``voc``.
    """
    folder = os.fspath(root)
    name = image_set if "/" in image_set else f"Main/{image_set}"
    return Reader.open_files(
        f"voc:{folder}/ImageSets/{name}.txt",
        fields=list(fields),
        seed=seed,
        name="images",
        root=folder,
        classes=list(classes),
        labels=labels,
        box_format=box_format,
        suffix=suffix,
        skip_difficult=skip_difficult,
    )
