# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that work on images with boxes: operators in C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from millhopper.base.floats import floats
from millhopper.base.zipped import zip_strict
from millhopper.readers.augment_methods import Numbers, Size, sides
from millhopper.readers.image_methods import ImageMethods
from millhopper.readers.moved_slots import Moved, MovedSlots, box_notation

if TYPE_CHECKING:
    from typing_extensions import Self


# Slots with a row for each box, as dataset.coco calls them.
_LABELS = ("labels", "area", "iscrowd")


class BoxMethods(ImageMethods):
    """What Reader can do with boxes; methods of images move them (``slots`` of ``ImageMethods``).

    Boxes are float32 or float64 ``[n, 4]`` with one level of offsets, which divides them among
    records. Each method returns a new reader, as ``apply`` does.

    ``mosaic``, ``mixup_detection`` and ``copy_paste`` make one image of those of several records:
    each with others that ``partners`` draws for it within a window of ``window`` records, which are
    decoded once and held in memory. They take images with what belongs to them: ``slots`` as other
    methods that move pixels do, and ``labels``, slots with a row for each box, by default those of
    ``labels``, ``area`` and ``iscrowd`` that there are. All other slots stay those of the first
    record. Draws are by name, as those of other methods, so that records get the same partners
    whatever the threads are and after a resume, if the order of records is the same.
    """

    def partners(
        self,
        count: int,
        *,
        window: int = 64,
        slots: Sequence[int | str] | None = None,
        seed: int = 0,
        name: str = "",
    ) -> Self:
        """Yields each element with others that are drawn, its partners, beside it.

        Partner k has the slots of an element with ``_2``, ``_3`` ... after their names. ::

            reader.partners(1, slots=["image"])  # image, label, image_2

        Args:
            count: partners of each element.
            window: elements that draw from one another; where there are lanes, they share it.
            slots: the slots that partners have; all by default.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Raises:
            ValueError: there is no such slot, or there is one of a partner's name.
            Error: ``count`` or ``window`` is out of range.

        Source: operator create_partners_reader; MultiImageMixDataset of mmdetection.
        """
        names = self._slot_names()
        numbers = [self._slot_number(slot) for slot in ([] if slots is None else slots)]
        own = names if slots is None else [names[number] for number in numbers]
        added = [f"{slot}_{k + 2}" for k in range(count) for slot in own]
        attributes = {"count": count, "window": window, "slots": numbers or None, "seed": seed}
        return self._decorate(
            "create_partners_reader", name, {}, attributes, [*names, *added], self._functions
        )

    def mosaic(
        self,
        size: Size,
        p: float = 1.0,
        *,
        slots: MovedSlots,
        labels: Sequence[str] | None = None,
        window: int = 64,
        centre_range: Sequence[float] = (0.5, 1.5),
        fill: Numbers = 114,
        mask_fill: int = 0,
        min_visibility: float = 0.0,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Makes one image of four, around a random place, as YOLO is trained.

        It is twice as high and wide as ``size``, which the four fit: resize them first, and crop or
        resize what is made. Boxes are clipped, and those that fall out go with their labels. ::

            reader.resize(640, side="long", slots=slots).mosaic(640, slots=slots).random_affine(
                10, scale=(0.5, 1.5), slots=slots).center_crop(640, slots=slots)

        Args:
            size: [height, width] of a quarter.
            p: how often; otherwise the first image stays as it is.
            slots: what moves: an image, boxes, masks and points.
            labels: see above. Masks of objects and polygons among ``slots`` go with boxes, too.
            window: see above.
            centre_range: how far the place is from the upper left corner, in parts of size.
            fill: the value of pixels that no image covers, or one for each channel.
            mask_fill: that of masks.
            min_visibility: the part of its area that is left of a box at least.
            seed: decides the draws, too.
            name: of the new reader.

        Raises:
            ValueError: ``slots`` has several images, or several slots of boxes.

        Source: operator mosaic; Mosaic of mmdetection.
        """
        slots_before, specs = self._slot_names(), self.slots()
        made = self._of_records(
            "mosaic",
            3,
            slots,
            labels,
            window,
            size=sides(size),
            p=float(p),
            centre_range=floats(centre_range),
            fill=floats(fill),
            mask_fill=mask_fill,
            seed=seed,
            name=name,
        )
        moved = self._moved(slots)
        boxes = moved.inputs.get("Boxes", [])
        levels = {slot: spec[2] for slot, spec in zip_strict(slots_before, specs) if spec}
        of_boxes = [
            slot
            for kind in ("Masks", "Points")
            for slot in moved.inputs.get(kind, [])
            if levels.get(slot, 0) > 0
        ]
        if boxes and isinstance(slots, Mapping):  # as boxes are named by their notation
            made = made.sanitize_boxes(
                boxes[0],
                image=moved.inputs["X"][0],
                slots=[*self._labels_of(labels), *of_boxes],
                notation=slots[boxes[0]],
                min_visibility=min_visibility,
            )
        return made.select(*slots_before)

    def mixup_detection(
        self,
        alpha: float = 32.0,
        p: float = 1.0,
        *,
        slots: MovedSlots,
        labels: Sequence[str] | None = None,
        window: int = 64,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Blends two images of one size, and takes the boxes and labels of both.

        Args:
            alpha: of the Beta distribution that the part of the first image is drawn from.
            p: how often.
            slots: an image and its boxes, masks of objects and points.
            labels: see above.
            window: see above.
            seed: decides the draws, too.
            name: of the new reader.

        Raises:
            ValueError: ``slots`` has several images.

        Source: operator mixup_detection; MixUp of YOLOX and ultralytics.
        """
        made = self._of_records(
            "mixup_detection",
            1,
            slots,
            labels,
            window,
            alpha=float(alpha),
            p=float(p),
            seed=seed,
            name=name,
        )
        return made.select(*self._slot_names())

    def copy_paste(
        self,
        p: float = 1.0,
        *,
        slots: MovedSlots,
        labels: Sequence[str] | None = None,
        window: int = 64,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Pastes objects of another image of the same size, by their masks.

        Objects that are covered lose pixels, or go with their labels; their boxes, and ``area`` of
        all objects if it is among ``labels``, become those of their masks.

        Args:
            p: how often.
            slots: an image, masks of its objects (``object_masks``) and, if there are, boxes.
            labels: see above; key points of objects and other slots with a row for each, too.
            window: see above.
            seed: decides the draws, too.
            name: of the new reader.

        Raises:
            ValueError: ``slots`` has several images.

        Source: operator copy_paste; SimpleCopyPaste of torchvision's references for detection.
        """
        given = self._labels_of(labels)
        kept = [slot for slot in given if slot != "area"]
        made = self._of_records(
            "copy_paste",
            1,
            slots,
            kept,
            window,
            {"Areas": "area"} if "area" in given else {},
            p=float(p),
            seed=seed,
            name=name,
        )
        return made.select(*self._slot_names())

    def _labels_of(self, labels: Sequence[str] | None) -> list[str]:
        if isinstance(labels, str):
            raise TypeError(f"labels is {labels!r}; it is a list of names")
        if labels is not None:
            return list(labels)
        return [name for name in _LABELS if name in self._slot_names()]

    def _of_records(
        self,
        operator: str,
        count: int,
        slots: MovedSlots,
        labels: Sequence[str] | None,
        window: int,
        more: dict[str, str] | None = None,
        *,
        name: str,
        **attributes: object,
    ) -> Self:
        """Applies an operator to slots and labels of a record and so many partners."""
        moved: Moved = self._moved(slots)
        for some in (moved.inputs["X"], moved.inputs.get("Boxes", [])):
            if len(some) > 1:
                raise ValueError(f"{operator}: {some} are several; it makes one of each record's")
        with_boxes = self._labels_of(labels)
        own = [*(slot for some in moved.inputs.values() for slot in some), *with_boxes]
        reader = self.partners(count, window=window, slots=own)

        def of_all(some: Sequence[str]) -> list[str]:
            partners = [f"{slot}_{k + 2}" for k in range(count) for slot in some]
            return [*some, *partners]

        inputs = {parameter: of_all(some) for parameter, some in moved.inputs.items()}
        outputs: dict[str, str | Sequence[str]] = {**moved.outputs, **(more or {})}
        if with_boxes:
            inputs["With"], outputs["OutWith"] = of_all(with_boxes), with_boxes
        return reader.apply(operator, inputs, outputs, name=name, **moved.attributes, **attributes)

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
