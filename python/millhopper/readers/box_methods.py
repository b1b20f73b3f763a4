# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that work on boxes in images: operators in C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millhopper.readers.moved_slots import box_notation
from millhopper.readers.operator_methods import OperatorMethods

if TYPE_CHECKING:
    from typing_extensions import Self


class BoxMethods(OperatorMethods):
    """What Reader can do with boxes; methods of images move them (``slots`` of ``ImageMethods``).

    Boxes are float32 or float64 ``[n, 4]`` with one level of offsets, which divides them among
    records. Each method returns a new reader, as ``apply`` does.
    """

    def convert_boxes(
        self, slot: str, to: str, *, source: str = "xyxy", image: str | None = None, name: str = ""
    ) -> Self:
        """Makes another notation of boxes, float32 or float64 [n, 4].

        Args:
            slot: the boxes.
            to: the new notation: ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``, in pixels, or with
                ``" relative"`` after it, in parts of the width and height of the image.
            source: the old one.
            image: the slot of the image; only needed if one notation is relative.
            name: of the new reader.

        Raises:
            ValueError: a notation is none of these.

        Source: operator convert_boxes; torchvision's ConvertBoundingBoxFormat.
        """
        before, after = box_notation(source), box_notation(to, "to_")
        inputs = {"Boxes": slot, **({} if image is None else {"X": image})}
        return self.apply("convert_boxes", inputs, slot, name=name, **before, **after)

    def sanitize_boxes(
        self,
        boxes: str,
        *,
        image: str,
        slots: Sequence[str] = (),
        notation: str = "xyxy",
        min_size: float = 1.0,
        min_area: float = 1.0,
        min_visibility: float = 0.0,
        name: str = "",
    ) -> Self:
        """Clips boxes to their image, and leaves out those of which too little is left.

        Args:
            boxes: the slot of boxes, float32 or float64 [n, 4].
            image: the slot of the image that they are in, before ``to_chw``.
            slots: what has a row for each box, such as labels, or a sequence, such as polygons:
                that of a box that is left out is left out, too.
            notation: of the boxes: as ``to`` of ``convert_boxes``.
            min_size: pixels that are left of width and height at least.
            min_area: square pixels that are left at least.
            min_visibility: the part of its area that is left of a box at least.
            name: of the new reader.

        Raises:
            TypeError: ``slots`` is a text.
            ValueError: the notation is none.

        Source: operator sanitize_boxes; torchvision's SanitizeBoundingBoxes, the ``min_area`` and
        ``min_visibility`` of albumentations.
        """
        if isinstance(slots, str):
            raise TypeError(f"slots is {slots!r}; it is a list of names")
        inputs: dict[str, str | Sequence[str]] = {"Boxes": boxes, "X": image}
        outputs: dict[str, str | Sequence[str]] = {"OutBoxes": boxes}
        if slots:
            inputs["With"] = outputs["OutWith"] = list(slots)
        return self.apply(
            "sanitize_boxes",
            inputs,
            outputs,
            min_size=float(min_size),
            min_area=float(min_area),
            min_visibility=float(min_visibility),
            name=name,
            **box_notation(notation),
        )

    def object_masks(
        self,
        polygons: str | None = None,
        runs: str | None = None,
        *,
        image: str,
        labels: str | None = None,
        overlap: int = 255,
        output: str = "masks",
        name: str = "",
    ) -> Self:
        """Makes masks of the outlines of objects, with the bytes of pycocotools.

        They are uint8 [n, height, width, 1], one for each of the n objects, with one level of
        offsets: methods that move pixels take them among ``slots`` as ``"mask"``. It takes less to
        move polygons (``"points"``) and make masks last; runs fit the image as it was decoded, so
        masks of them are made before it is moved.

        Args:
            polygons: the slot of their polygons, as ``dataset.coco`` has it.
            runs: the slot of the runs of their masks.
            image: the slot of the image that they are in, before ``to_chw``.
            labels: the slot of their labels. Then there is one mask for an image, [1, height,
                width, 1]: the label at each pixel, from 1 to 255, and 0 where there is no object.
            overlap: with labels: the value of pixels of several objects; -1 for the largest label.
            output: the slot of the masks.
            name: of the new reader.

        Raises:
            ValueError: neither polygons nor runs are given.

        Source: operator object_masks; ``annToMask`` of pycocotools.
        """
        if polygons is None and runs is None:
            raise ValueError("object_masks: no slot of polygons or runs is given")
        given = {"X": image, "Polygons": polygons, "Runs": runs, "Labels": labels}
        attributes: dict[str, object] = {}
        if labels is not None:
            attributes = {"kind": "classes", "overlap": overlap}
        inputs = {parameter: slot for parameter, slot in given.items() if slot is not None}
        return self.apply("object_masks", inputs, output, name=name, **attributes)
