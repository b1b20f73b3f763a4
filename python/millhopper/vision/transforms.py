# SPDX-License-Identifier: Apache-2.0
"""The transforms of millhopper.vision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millhopper.readers.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.readers.moved_slots import MovedSlots

Transform: TypeAlias = "Callable[..., Reader]"


class _Method:
    """A transform that calls a method of Reader.

    With ``slots``, as methods that move pixels take them, it changes the images among these.
    """

    method = ""
    moves = False  # whether masks, boxes and points go with the images

    def __init__(self, *arguments: object, **options: object) -> None:
        self.arguments = arguments
        self.options = options

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        method: Transform = getattr(reader, self.method)
        what: dict[str, object] = {"slot": slot}
        if "slot" in self.options or "slots" in self.options:
            what = {}
        elif slots is not None and self.moves:
            what = {"slots": slots}
        elif slots is not None:
            what = {"slot": self._image(reader, slots)}
        return method(*self.arguments, **what, **self.options)

    def _image(self, reader: Reader, slots: MovedSlots) -> str:
        images = reader._moved(slots).inputs["X"]
        if len(images) > 1:
            raise ValueError(
                f"{type(self).__name__}: {images} are images; it changes one, that of slot=..."
            )
        return images[0]

    def __repr__(self) -> str:
        given = [repr(argument) for argument in self.arguments]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{type(self).__name__}({', '.join(given)})"


def _shown(name: str, transforms: Iterable[str], *more: str) -> str:
    """What makes a transform of others, one on a line."""
    lines = "".join(f"    {one},\n".replace("\n", "\n    ").rstrip(" ") for one in transforms)
    return f"{name}({', '.join(['[' + chr(10) + lines + ']', *more])})"


class _MovingMethod(_Method):
    moves = True


class _OfRecords(_Method):
    """A method that makes one record of several, and needs to know all that belongs to an image."""

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        if slots is None:
            raise ValueError(
                f'{type(self).__name__}: slots={{"image": "image", "boxes": "xyxy"}} says what '
                "belongs to an image"
            )
        made: Reader = getattr(reader, self.method)(*self.arguments, slots=slots, **self.options)
        return made


def _steps(
    transform: Transform, slot: str | None, slots: MovedSlots | None
) -> Callable[[Reader], Reader]:
    """A transform of slots as a function of a reader."""
    return lambda reader: transform(reader, slot=slot, slots=slots)


class AugMix(_Method):
    """``Reader.aug_mix``. Source: torchvision's AugMix."""

    method = "aug_mix"


class AutoAugment(_Method):
    """``Reader.auto_augment``. Source: torchvision's AutoAugment."""

    method = "auto_augment"


class CenterCrop(_MovingMethod):
    """``Reader.center_crop``. Source: torchvision's CenterCrop."""

    method = "center_crop"


class ColorJitter(_Method):
    """``Reader.color_jitter``. Source: torchvision's ColorJitter."""

    method = "color_jitter"


class CopyPaste(_OfRecords):
    """``Reader.copy_paste``. Source: SimpleCopyPaste of torchvision's references."""

    method = "copy_paste"


class Crop(_MovingMethod):
    """``Reader.crop``. Source: Millhopper's own."""

    method = "crop"


class CutMix(_Method):
    """``Reader.cutmix``. Source: torchvision's CutMix."""

    method = "cutmix"


class DecodeImage(_Method):
    """``Reader.decode_image``; masks among ``slots`` have the numbers of their palettes.

    With masks, boxes or points among ``slots`` images are not turned as their EXIF data asks,
    unless ``orientation`` says so: what is annotated are the pixels as stored.

    Source: Millhopper's own.
    """

    method = "decode_image"

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        if slots is None:
            return super().__call__(reader, slot)
        moved = reader._moved(slots).inputs
        for mask in moved.get("Masks", []):
            reader = reader.decode_image(mask, mode="P", orientation=False)
        options: dict[str, Any] = {} if len(moved) == 1 else {"orientation": False}
        options.update(self.options)
        for image in moved["X"]:
            reader = reader.decode_image(image, **options)
        return reader


class ElasticTransform(_MovingMethod):
    """``Reader.elastic``. Source: torchvision's ElasticTransform."""

    method = "elastic"


class FiveCrop(_Method):
    """``Reader.five_crop``. Source: torchvision's FiveCrop."""

    method = "five_crop"


class GaussianBlur(_Method):
    """``Reader.gaussian_blur``. Source: torchvision's GaussianBlur."""

    method = "gaussian_blur"


class GaussianNoise(_Method):
    """``Reader.gaussian_noise``. Source: torchvision's GaussianNoise."""

    method = "gaussian_noise"


class Grayscale(_Method):
    """``Reader.grayscale``. Source: torchvision's Grayscale."""

    method = "grayscale"


class JPEG(_Method):
    """``Reader.jpeg``. Source: torchvision's JPEG."""

    method = "jpeg"


class MixUp(_Method):
    """``Reader.mixup``. Source: torchvision's MixUp."""

    method = "mixup"


class MixUpDetection(_OfRecords):
    """``Reader.mixup_detection``. Source: MixUp of YOLOX."""

    method = "mixup_detection"


class Mosaic(_OfRecords):
    """``Reader.mosaic``. Source: Mosaic of mmdetection."""

    method = "mosaic"


class Normalize(_Method):
    """``Reader.normalize``. Source: torchvision's Normalize."""

    method = "normalize"


class Pad(_MovingMethod):
    """``Reader.pad``. Source: torchvision's Pad."""

    method = "pad"


class RandAugment(_Method):
    """``Reader.rand_augment``. Source: torchvision's RandAugment."""

    method = "rand_augment"


class RandomAdjustSharpness(_Method):
    """``Reader.random_adjust_sharpness``. Source: torchvision's RandomAdjustSharpness."""

    method = "random_adjust_sharpness"


class RandomAffine(_MovingMethod):
    """``Reader.random_affine``. Source: torchvision's RandomAffine."""

    method = "random_affine"


class RandomApply:
    """``Reader.random_apply`` of transforms, one after another. Source: torchvision's RandomApply.

    Args:
        transforms: the transforms.
        p: how likely they are applied, all or none.
        seed: as for the method.
    """

    def __init__(
        self, transforms: Iterable[Transform], p: float = 0.5, *, seed: int | None = None
    ) -> None:
        self.transforms = list(transforms)
        self._p = p
        self._seed = seed

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        steps = _steps(Compose(self.transforms), slot, slots)
        return reader.random_apply(steps, self._p, seed=self._seed)

    def __repr__(self) -> str:
        return _shown("RandomApply", map(repr, self.transforms), f"p={self._p}")


class RandomAutocontrast(_Method):
    """``Reader.random_autocontrast``. Source: torchvision's RandomAutocontrast."""

    method = "random_autocontrast"


class RandomChannelPermutation(_Method):
    """``Reader.random_channel_permutation``. Source: torchvision's RandomChannelPermutation."""

    method = "random_channel_permutation"


class RandomChoice:
    """``Reader.random_choice`` of transforms. Source: torchvision's RandomChoice.

    Args:
        transforms: the transforms, one of which is applied.
        p: how likely each is; all equally by default.
        seed: as for the method.
    """

    def __init__(
        self,
        transforms: Iterable[Transform],
        p: Sequence[float] | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.transforms = list(transforms)
        self._p = p
        self._seed = seed

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        steps = [_steps(transform, slot, slots) for transform in self.transforms]
        return reader.random_choice(steps, self._p, seed=self._seed)

    def __repr__(self) -> str:
        return _shown("RandomChoice", map(repr, self.transforms), f"p={self._p}")


class RandomCrop(_MovingMethod):
    """``Reader.random_crop``. Source: torchvision's RandomCrop."""

    method = "random_crop"


class RandomEqualize(_Method):
    """``Reader.random_equalize``. Source: torchvision's RandomEqualize."""

    method = "random_equalize"


class RandomErasing(_Method):
    """``Reader.random_erasing``. Source: torchvision's RandomErasing."""

    method = "random_erasing"


class RandomGrayscale(_Method):
    """``Reader.random_grayscale``. Source: torchvision's RandomGrayscale."""

    method = "random_grayscale"


class RandomHorizontalFlip(_MovingMethod):
    """``Reader.random_horizontal_flip``. Source: torchvision's RandomHorizontalFlip."""

    method = "random_horizontal_flip"


class RandomInvert(_Method):
    """``Reader.random_invert``. Source: torchvision's RandomInvert."""

    method = "random_invert"


class RandomIoUCrop(_MovingMethod):
    """``Reader.random_iou_crop``. Source: torchvision's RandomIoUCrop."""

    method = "random_iou_crop"


class RandomOrder:
    """``Reader.random_order`` of at most 4 transforms. Source: torchvision's RandomOrder.

    Args:
        transforms: the transforms.
        seed: as for the method.
    """

    def __init__(self, transforms: Iterable[Transform], *, seed: int | None = None) -> None:
        self.transforms = list(transforms)
        self._seed = seed

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        steps = [_steps(transform, slot, slots) for transform in self.transforms]
        return reader.random_order(steps, seed=self._seed)

    def __repr__(self) -> str:
        return _shown("RandomOrder", map(repr, self.transforms))


class RandomPerspective(_MovingMethod):
    """``Reader.random_perspective``. Source: torchvision's RandomPerspective."""

    method = "random_perspective"


class RandomPhotometricDistort(_Method):
    """``Reader.random_photometric_distort``. Source: torchvision's RandomPhotometricDistort."""

    method = "random_photometric_distort"


class RandomPosterize(_Method):
    """``Reader.random_posterize``. Source: torchvision's RandomPosterize."""

    method = "random_posterize"


class RandomResizedCrop(_MovingMethod):
    """``Reader.random_resized_crop``. Source: torchvision's RandomResizedCrop."""

    method = "random_resized_crop"


class RandomRotation(_MovingMethod):
    """``Reader.random_rotation``. Source: torchvision's RandomRotation."""

    method = "random_rotation"


class RandomShortestSize(_MovingMethod):
    """``Reader.random_shortest_size``. Source: torchvision's RandomShortestSize."""

    method = "random_shortest_size"


class RandomSolarize(_Method):
    """``Reader.random_solarize``. Source: torchvision's RandomSolarize."""

    method = "random_solarize"


class RandomVerticalFlip(_MovingMethod):
    """``Reader.random_vertical_flip``. Source: torchvision's RandomVerticalFlip."""

    method = "random_vertical_flip"


class RandomZoomOut(_MovingMethod):
    """``Reader.random_zoom_out``. Source: torchvision's RandomZoomOut."""

    method = "random_zoom_out"


class Resize(_MovingMethod):
    """``Reader.resize``. Source: torchvision's Resize."""

    method = "resize"


class ResizeKeepRatio(_MovingMethod):
    """``Reader.resize_keep_ratio``. Source: timm's ResizeKeepRatio."""

    method = "resize_keep_ratio"


class SanitizeBoxes:
    """``Reader.sanitize_boxes`` of the boxes among ``slots``.

    Args:
        labels: what has a row for each box, and goes with it; None: those of ``labels``, ``area``
            and ``iscrowd`` that the reader has.
        options: the other arguments of the method.

    Source: torchvision's SanitizeBoundingBoxes.
    """

    def __init__(self, labels: Sequence[str] | None = None, **options: Any) -> None:
        self.labels = None if labels is None else tuple(labels)
        self.options = options

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        if slots is None:
            raise ValueError('SanitizeBoxes: slots={"image": "image", "boxes": "xyxy"} says which')
        moved = reader._moved(slots)
        boxes = moved.inputs.get("Boxes", [])
        if len(boxes) != 1 or not isinstance(slots, Mapping):
            raise ValueError(f"SanitizeBoxes: slots is {slots!r}; one of them is boxes")
        return reader.sanitize_boxes(
            boxes[0],
            image=moved.inputs["X"][0],
            slots=self._labels(reader),
            notation=slots[boxes[0]],
            **self.options,
        )

    def _labels(self, reader: Reader) -> Sequence[str]:
        if self.labels is not None:
            return self.labels
        return [name for name in ("labels", "area", "iscrowd") if name in reader._slot_names()]

    def __repr__(self) -> str:
        given = [] if self.labels is None else [repr(self.labels)]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"SanitizeBoxes({', '.join(given)})"


class ScaleJitter(_MovingMethod):
    """``Reader.scale_jitter``. Source: torchvision's ScaleJitter."""

    method = "scale_jitter"


class TenCrop(_Method):
    """``Reader.ten_crop``. Source: torchvision's TenCrop."""

    method = "ten_crop"


class ToCHW(_Method):
    """``Reader.to_chw``. Source: Millhopper's own."""

    method = "to_chw"


class Compose:
    """Transforms one after another.

    They are called with a reader and a slot, or with ``slots`` as the methods take them that move
    pixels: those of the transforms that do so move all of these, the others change the image::

        vision.segmentation()(pairs, slots={"image": "image", "mask": "mask"})

    Args:
        transforms: the transforms.
        slots: what they are called with if neither a slot nor slots are given.

    Attributes:
        transforms: the same as a list, which may be changed.
        slots: the same.

    Source: torchvision's Compose.
    """

    def __init__(self, transforms: Iterable[Transform], *, slots: MovedSlots | None = None) -> None:
        self.transforms = list(transforms)
        self.slots = slots

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        if slot is None and slots is None:
            slots = self.slots
        others = {} if slots is None else {"slots": slots}
        made = reader
        for transform in self.transforms:
            # Functions of a reader and a slot are transforms, too.
            made = transform(made._noting(), slot, **others)
        return made if reader._notes or not self.transforms else made._settled()

    def __repr__(self) -> str:
        more = [] if self.slots is None else [f"slots={self.slots!r}"]
        return _shown("Compose", map(repr, self.transforms), *more)


class TrivialAugmentWide(_Method):
    """``Reader.trivial_augment_wide``. Source: torchvision's TrivialAugmentWide."""

    method = "trivial_augment_wide"


class Views:
    """Several images of each one, as methods that learn from what images have in common need them.

    Each is a slot of its own, and the image that they are made of is left out::

        views = vision.Views({"view_1": augment, "view_2": augment})
        reader = views(photos.decode_image("image"), slot="image").batch(256)

    Args:
        transforms: by the name of the slot, what makes it of the image.

    Attributes:
        transforms: the same, which may be changed.

    Raises:
        ValueError: when it is called: a view has the name of the image.

    Source: Millhopper's own.
    """

    def __init__(self, transforms: Mapping[str, Transform]) -> None:
        self.transforms = dict(transforms)

    def __call__(
        self, reader: Reader, slot: str | None = None, slots: MovedSlots | None = None
    ) -> Reader:
        if slots is not None:
            (slot,) = reader._moved(slots).inputs["X"]
        image = reader._default_slot() if slot is None else slot
        if image in self.transforms:
            raise ValueError(f"Views: {image!r} is the image itself; give the view another name")
        others = [name for name in reader._slot_names() if name != image]
        for name, transform in self.transforms.items():
            reader = transform(reader.apply("assign", image, name), name)
        return reader.select(*others, *self.transforms)

    def __repr__(self) -> str:
        shown = (f"{name!r}: {transform!r}" for name, transform in self.transforms.items())
        return _shown("Views", shown).replace("[", "{", 1)[:-2] + "})"
