# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that work on images: operators in C++, under the names of torchvision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from millhopper.base.floats import floats
from millhopper.base.zipped import zip_strict
from millhopper.errors import Error
from millhopper.readers.augment_methods import AugmentMethods, Numbers, Size, fills, sides
from millhopper.readers.moved_slots import Moved, MovedSlots, SlotSpecs

if TYPE_CHECKING:
    from typing_extensions import Self


class ImageMethods(AugmentMethods):
    """What Reader can do with images. Each method returns a new reader, as ``apply`` does.

    Images are uint8 or float32 ``[N, height, width, channels]``, with N = 1 before ``batch``.
    ``slot`` is by default the slot that the method before it wrote, or the only slot, ``name`` that
    of the new reader. Methods one after another are one block of operators; from ``decode_image``
    to ``to_chw`` they are run as one, which decodes only what is needed and writes straight into
    the batch.

    Methods that move pixels take ``slots`` instead of ``slot`` to move several by one draw: images
    of one size, their masks, boxes and points. Masks are moved with interpolation nearest. A list
    names images and masks: a mask has integers of one channel that come from ``decode_image`` with
    a ``mode``, or from elsewhere. A dict says what each is: ``"image"``, ``"mask"``, ``"points"``
    (x and y), or the notation of boxes, ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``, in pixels, or
    ``"cxcywh relative"`` to the size of the image::

        pairs.random_resized_crop(224, slots=["image", "mask"])
        reader.random_horizontal_flip(slots={"image": "image", "boxes": "xywh"})

    Random methods draw by the reader's seed, their own ``seed``, their ``name``, the pass, and the
    number of the record in it: an image gets other numbers in each pass, and the same ones whatever
    the threads are, in any shard, and after any ``shuffle`` or other method that is added or taken
    away, but for those that number elements anew (``batch``, ``unbatch``, ``concat``, ``mix``). A
    source that itself yields its records in a random order (``open_files(shuffle_records=True)``,
    ``from_arrays(shuffle=True)``) numbers them by their places in that order. Without ``name`` they
    draw by that of the files' reader (``files``) and of the operator, and if the operator is used
    again, how often it has been: ``files.flip``, ``files.flip_2``. So readers of different files
    draw equal numbers for equal records unless something tells them apart: give ranks that open
    their own files, instead of ``shard`` of all files, a ``seed`` each where they open them
    (``seed=1000 * seed + rank``), and sources that are mixed a ``name``.

    Source: names and distributions of torchvision.transforms; ``executor --list_ops TYPE`` says of
    each operator whose arithmetic it follows.
    """

    def decode_image(
        self,
        slot: str | None = None,
        *,
        channels: int | None = None,
        mode: str = "pixels",
        orientation: bool = True,
        partial: bool = False,
        exact: bool = False,
        max_pixels: int | None = None,
        output: str | None = None,
        name: str = "",
    ) -> Self:
        """Decodes encoded images, uint8 ``[n]``, to uint8 ``[1, h, w, channels]``.

        These are JPEG, PNG, WebP, TIFF (the first page), GIF (the first frame), BMP and PNM. Images
        in other formats are errors that name the format; ``map`` with a function that calls Pillow
        decodes them. A mask whose palette numbers the classes, and depths of 16 bits::

            masks.decode_image("mask", mode="P").resize(256, interpolation="nearest")
            depths.decode_image("depth", mode="I;16", channels=1).cast("float32")

        Args:
            slot: the encoded bytes; by default the only slot, or ``image`` among several.
            channels: 1, 3 or 4; 0 for those of each image; by default 3, and with another mode than
                ``"pixels"`` those of each image.
            mode: ``"pixels"``: gray, colours and alpha from 0 to 255, of any image. By Pillow's
                names, of PNG images only: ``"P"``: the numbers of a palette, or of a gray image of
                at most 8 bits its values as stored, one channel; ``"I;16"``: the values of an image
                of 16 bits, as uint16.
            orientation: whether images are turned as their EXIF data asks.
            partial: whether of a damaged image what can be read of it is taken; otherwise it is an
                error.
            exact: whether JPEG images are decoded at full size even where the methods that follow
                make them at most a quarter as long and wide. Otherwise values of these differ from
                the exact ones: of photographs by 0.4 of 255 on average, at hard edges by 50 at
                most, as far as has been measured, and by more with ``interpolation`` ``"area"`` or
                ``"nearest"`` (``operators/image/README.md``).
            max_pixels: more pixels are an error, before memory is taken for them; by default 2^26.
            output: the slot for the pixels; by default that of the bytes.

        Source: operator decode_image.
        """
        return self.apply(
            "decode_image",
            self._image_slot(slot),
            output,
            channels=(3 if mode == "pixels" else 0) if channels is None else channels,
            mode=None if mode == "pixels" else mode,  # states saved by older versions stay valid
            orientation=orientation,
            partial=partial,
            exact=exact,
            max_pixels=max_pixels,
            name=name,
        )

    def resize(
        self,
        size: Size,
        *,
        interpolation: str = "bilinear",
        antialias: bool = True,
        side: str = "short",
        max_size: int | None = None,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        name: str = "",
    ) -> Self:
        """Resizes images to [height, width], or so that the short (or long) ``side`` is ``size``.

        Where the longer side would be longer than ``max_size``, it is that, and the short one less.
        Colours and gray with alpha are weighed by it, as Pillow does. Masks need
        ``interpolation="nearest"``, which makes no new values.

        Source: operator resize; the arithmetic of Pillow up to 12.
        """
        sizes = [size] if isinstance(size, int) else list(size)
        return self._move(
            "resize",
            slot,
            slots,
            size=sizes,
            interpolation=interpolation,
            antialias=antialias,
            side=side,
            max_size=max_size,
            name=name,
        )

    def crop(
        self,
        size: Size,
        *,
        top: int = 0,
        left: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        name: str = "",
    ) -> Self:
        """Keeps [height, width] pixels from row top, column left on. Source: operator crop."""
        return self._move("crop", slot, slots, size=sides(size), top=top, left=left, name=name)

    def center_crop(
        self,
        size: Size,
        *,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        name: str = "",
    ) -> Self:
        """Keeps the middle, [height, width]; smaller images are an error (``pad`` them first).

        Source: operator center_crop.
        """
        return self._move("center_crop", slot, slots, size=sides(size), name=name)

    def random_crop(
        self,
        size: Size,
        padding: Size | None = None,
        pad_if_needed: bool = False,
        *,
        fill: Numbers = 0,
        padding_mode: str = "constant",
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Keeps a random part, [height, width], of images that ``pad`` first gives ``padding``.

        With ``pad_if_needed`` smaller images get what they lack on each side; else they are errors.

        Source: operators pad and random_crop; torchvision's RandomCrop.
        """
        whole = self
        if padding is not None or pad_if_needed:
            whole = self.pad(
                0 if padding is None else padding,
                least=size if pad_if_needed else None,
                fill=fill,
                padding_mode=padding_mode,
                mask_fill=mask_fill,
                slot=slot,
                slots=slots,
            )
        return whole._move("random_crop", slot, slots, size=sides(size), seed=seed, name=name)

    def random_resized_crop(
        self,
        size: Size,
        *,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        antialias: bool = True,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Resizes a part of random area and ratio to [height, width].

        Source: operator random_resized_crop; torchvision's distribution.
        """
        return self._move(
            "random_resized_crop",
            slot,
            slots,
            size=sides(size),
            scale=floats(scale),
            ratio=floats(ratio),
            interpolation=interpolation,
            antialias=antialias,
            seed=seed,
            name=name,
        )

    def random_horizontal_flip(
        self,
        p: float = 0.5,
        *,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Mirrors left and right with probability p. Source: operator flip."""
        return self._move("flip", slot, slots, axis="horizontal", p=float(p), seed=seed, name=name)

    def random_vertical_flip(
        self,
        p: float = 0.5,
        *,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Mirrors top and bottom with probability p. Source: operator flip."""
        return self._move("flip", slot, slots, axis="vertical", p=float(p), seed=seed, name=name)

    def random_iou_crop(
        self,
        *,
        slots: MovedSlots,
        scale: Sequence[float] = (0.3, 1.0),
        ratio: Sequence[float] = (0.5, 2.0),
        min_overlaps: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
        trials: int = 40,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Keeps a part that a box overlaps by one of ``min_overlaps``, as SSD is trained.

        Boxes whose middle is outside become 0; ``sanitize_boxes`` leaves them out, next, with their
        labels.

        Args:
            slots: the image, its boxes and what else moves with it.
            scale: the shortest and the longest side over that of the image.
            ratio: the lowest and the highest width over height.
            min_overlaps: one of these is drawn; 1 leaves the image as it is.
            trials: parts that are drawn for one of them.
            seed: decides the draws, too.
            name: of the new reader.

        Source: operator random_iou_crop; torchvision's RandomIoUCrop.
        """
        return self._move(
            "random_iou_crop",
            None,
            slots,
            scale=floats(scale),
            ratio=floats(ratio),
            min_overlaps=floats(min_overlaps),
            trials=trials,
            seed=seed,
            name=name,
        )

    def random_zoom_out(
        self,
        p: float = 0.5,
        *,
        fill: Numbers = 0,
        side_range: Sequence[float] = (1.0, 4.0),
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Puts an image somewhere on one whose sides are up to ``side_range`` times as long.

        Args:
            p: how often.
            fill: the value of new pixels, or one for each channel.
            side_range: the least and the most that sides grow by.
            mask_fill: the value of new pixels of masks.
            slot: the image.
            slots: what moves with it.
            seed: decides the draws, too.
            name: of the new reader.

        Source: operator random_zoom_out; torchvision's RandomZoomOut.
        """
        return self._move(
            "random_zoom_out",
            slot,
            slots,
            p=float(p),
            fill=floats(fill),
            side_range=floats(side_range),
            mask_fill=mask_fill,
            seed=seed,
            name=name,
        )

    def pad(
        self,
        padding: Size = 0,
        *,
        least: Size | None = None,
        where: str = "each",
        fill: Numbers = 0,
        padding_mode: str = "constant",
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        name: str = "",
    ) -> Self:
        """Puts pixels around images: all, [left and right, top and bottom], or one for each side.

        Args:
            padding: how many; of a number below 0 so many are cut off.
            least: the [height, width] that images get at least, after their padding.
            where: what an image lacks then is added on ``"each"`` side; half on each side with the
                image in the ``"center"``; or on the right and at the bottom, the ``"end"``.
            fill: the value of new pixels, or one for each channel.
            padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
            mask_fill: the value of new pixels of masks.
            slot: the images.
            slots: what moves with them.
            name: of the new reader.

        Source: operator pad; torchvision's Pad.
        """
        around = [padding] if isinstance(padding, int) else list(padding)
        return self._move(
            "pad",
            slot,
            slots,
            padding=around,
            least=None if least is None else sides(least),
            where=None if where == "each" else where,
            fill=float(fill) if isinstance(fill, (int, float)) else None,
            fills=None if isinstance(fill, (int, float)) else floats(fill),
            mode=padding_mode,
            mask_fill=mask_fill or None,
            name=name,
        )

    def scale_jitter(
        self,
        size: Size,
        scale: Sequence[float] = (0.1, 2.0),
        *,
        interpolation: str = "bilinear",
        antialias: bool = True,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Resizes images to what fits into [height, width], times a random factor of ``scale``.

        Source: operator scale_jitter; torchvision's ScaleJitter.
        """
        return self._move(
            "scale_jitter",
            slot,
            slots,
            size=sides(size),
            scale=floats(scale),
            interpolation=interpolation,
            antialias=antialias,
            seed=seed,
            name=name,
        )

    def resize_keep_ratio(
        self,
        size: Size,
        longest: float = 0.0,
        *,
        scale: Sequence[float] = (0.85, 1.05),
        scale_p: float = 0.0,
        scale_area: bool = False,
        aspect: Sequence[float] = (0.9, 1.11),
        aspect_p: float = 0.0,
        interpolation: str = "bilinear",
        antialias: bool = True,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Resizes images so that they fill [height, width], or so that they fit into it.

        Args:
            size: what is filled.
            longest: 0: the size is filled; 1: images fit into it; or a number between.
            scale: the lowest and the highest factor of both sides.
            scale_p: how likely there is one.
            scale_area: whether the factor is that of the area of which the size is made, so that
                images become larger by one below 1.
            aspect: the lowest and the highest factor of the proportions.
            aspect_p: how likely there is one.
            interpolation: as for ``resize``.
            antialias: as for ``resize``.
            slot: the images.
            slots: what moves with them.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Source: operator resize_keep_ratio; timm's ResizeKeepRatio.
        """
        return self._move(
            "resize_keep_ratio",
            slot,
            slots,
            size=sides(size),
            longest=float(longest),
            scale=floats(scale),
            scale_p=float(scale_p),
            scale_area=scale_area,
            aspect=floats(aspect),
            aspect_p=float(aspect_p),
            interpolation=interpolation,
            antialias=antialias,
            seed=seed,
            name=name,
        )

    def random_shortest_size(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        *,
        interpolation: str = "bilinear",
        antialias: bool = True,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Resizes images so that the shorter side is one of ``min_size``, and none > ``max_size``.

        Source: operator random_shortest_size; torchvision's RandomShortestSize.
        """
        return self._move(
            "random_shortest_size",
            slot,
            slots,
            min_size=[min_size] if isinstance(min_size, int) else list(min_size),
            max_size=max_size,
            interpolation=interpolation,
            antialias=antialias,
            seed=seed,
            name=name,
        )

    def five_crop(self, size: Size, *, slot: str | None = None, name: str = "") -> Self:
        """Makes five images of [height, width] of each: the corners and the middle.

        They lie one after another, ``[5, height, width, channels]`` of one image.

        Source: operator five_crop; torchvision's FiveCrop.
        """
        return self.apply("five_crop", slot, size=sides(size), name=name)

    def ten_crop(
        self,
        size: Size,
        vertical_flip: bool = False,
        *,
        slot: str | None = None,
        name: str = "",
    ) -> Self:
        """Makes ten images of each: those of ``five_crop``, and of the mirrored image.

        Source: operator five_crop; torchvision's TenCrop.
        """
        mirror = "vertical" if vertical_flip else "horizontal"
        return self.apply("five_crop", slot, size=sides(size), mirror=mirror, name=name)

    def normalize(
        self,
        mean: Numbers = 0.0,
        std: Numbers = 1.0,
        *,
        scale: float = 1 / 255,
        slot: str | None = None,
        name: str = "",
    ) -> Self:
        """Makes float32 (value * scale - mean) / std, for all channels or for each.

        Raises:
            Error: as ``apply``; the slots are columns of numbers, which ``standardize`` is for.

        Source: operator normalize.
        """
        known = {} if self._applied else dict(zip_strict(self._slot_names(), self.slots()))
        spec = known.get(slot or "image")
        is_none = slot is None and len(known) > 1 and "image" not in known
        if is_none or (spec is not None and len(spec[1]) < 3):
            raise Error(
                f"{self._name}: normalize is for images, which none of {list(known)} is; columns "
                "of numbers are scaled by standardize(reader.statistics([...]))"
            )
        return self.apply(
            "normalize", slot, mean=floats(mean), std=floats(std), scale=float(scale), name=name
        )

    def to_chw(self, *, slot: str | None = None, name: str = "") -> Self:
        """Turns [N, height, width, channels] into [N, channels, height, width].

        Source: operator transpose.
        """
        return self.apply("transpose", slot, axis=[0, 3, 1, 2], name=name)

    def grayscale(self, channels: int = 1, *, slot: str | None = None, name: str = "") -> Self:
        """Makes images gray, of one channel or of three equal ones. Source: operator grayscale."""
        return self.apply("grayscale", slot, num_output_channels=channels, name=name)

    def random_grayscale(
        self, p: float = 0.1, *, slot: str | None = None, seed: int | None = None, name: str = ""
    ) -> Self:
        """Makes images gray, of three equal channels, with probability p.

        Source: operator grayscale; torchvision's RandomGrayscale.
        """
        return self.apply(
            "grayscale", slot, num_output_channels=3, p=float(p), seed=seed, name=name
        )

    def color_jitter(
        self,
        brightness: Numbers | None = None,
        contrast: Numbers | None = None,
        saturation: Numbers | None = None,
        hue: Numbers | None = None,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Changes colours at random: d, or (low, high), for each of the four.

        Source: operator color_jitter; torchvision's ColorJitter.
        """
        return self.apply(
            "color_jitter",
            slot,
            brightness=None if brightness is None else floats(brightness),
            contrast=None if contrast is None else floats(contrast),
            saturation=None if saturation is None else floats(saturation),
            hue=None if hue is None else floats(hue),
            seed=seed,
            name=name,
        )

    def random_rotation(
        self,
        degrees: Numbers,
        *,
        interpolation: str = "nearest",
        expand: bool = False,
        fill: int | Sequence[int] | None = None,
        mask_fill: int = 0,
        center: Sequence[float] | None = None,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Turns images by a random angle, from -degrees to degrees, or (low, high).

        With ``expand`` images become as large as all of the turned image needs.

        Source: operator rotate; torchvision's RandomRotation.
        """
        return self._move(
            "rotate",
            slot,
            slots,
            degrees=floats(degrees),
            interpolation=interpolation,
            expand=expand or None,
            fill=fills(fill),
            mask_fill=mask_fill or None,
            center=None if center is None else floats(center),
            seed=seed,
            name=name,
        )

    def random_perspective(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        *,
        interpolation: str = "bilinear",
        fill: int | Sequence[int] | None = None,
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Shows images from a random side with probability p.

        Each corner moves inwards by up to ``distortion_scale`` of half of the width and height.

        Source: operator perspective; torchvision's RandomPerspective.
        """
        return self._move(
            "perspective",
            slot,
            slots,
            distortion_scale=float(distortion_scale),
            p=float(p),
            interpolation=interpolation,
            fill=fills(fill),
            mask_fill=mask_fill or None,
            seed=seed,
            name=name,
        )

    def perspective(
        self,
        startpoints: Sequence[Sequence[float]],
        endpoints: Sequence[Sequence[float]],
        *,
        interpolation: str = "bilinear",
        fill: int | Sequence[int] | None = None,
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        name: str = "",
    ) -> Self:
        """Shows images from another side: ``startpoints`` go to ``endpoints``.

        Args:
            startpoints: [x, y] of four corners in pixels: upper left, upper right, lower right,
                lower left.
            endpoints: where they go.

        Source: operator perspective; torchvision's functional.perspective.
        """
        return self._move(
            "perspective",
            slot,
            slots,
            startpoints=[float(x) for point in startpoints for x in point],
            endpoints=[float(x) for point in endpoints for x in point],
            interpolation=interpolation,
            fill=fills(fill),
            mask_fill=mask_fill or None,
            name=name,
        )

    def elastic(
        self,
        alpha: Numbers = 50.0,
        sigma: Numbers = 5.0,
        *,
        interpolation: str = "bilinear",
        fill: int | Sequence[int] | None = None,
        mask_fill: int = 0,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Moves each pixel by a smooth random field.

        Args:
            alpha: how far, one number or one for x and one for y.
            sigma: how smooth, in pixels; each side of an image must be longer than 4 sigma + 1.
            interpolation: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
            fill: what lies outside of an image.
            mask_fill: what lies outside of a mask.
            slot: the images.
            slots: what moves with them; boxes and points nearly so.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Source: operator elastic; torchvision's ElasticTransform.
        """
        return self._move(
            "elastic",
            slot,
            slots,
            alpha=floats(alpha),
            sigma=floats(sigma),
            interpolation=interpolation,
            fill=fills(fill),
            mask_fill=mask_fill or None,
            seed=seed,
            name=name,
        )

    def random_affine(
        self,
        degrees: Numbers,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Numbers | None = None,
        *,
        interpolation: str = "nearest",
        fill: int | Sequence[int] | None = None,
        mask_fill: int = 0,
        center: Sequence[float] | None = None,
        slot: str | None = None,
        slots: MovedSlots | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Turns, moves, scales and shears images at random. Source: operator affine."""
        return self._move(
            "affine",
            slot,
            slots,
            degrees=floats(degrees),
            translate=None if translate is None else floats(translate),
            scale=None if scale is None else floats(scale),
            shear=None if shear is None else floats(shear),
            interpolation=interpolation,
            fill=fills(fill),
            mask_fill=mask_fill or None,
            center=None if center is None else floats(center),
            seed=seed,
            name=name,
        )

    def gaussian_blur(
        self,
        kernel_size: Size,
        sigma: Numbers = (0.1, 2.0),
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Makes images soft, by a sigma or by one that is drawn from (low, high).

        Args:
            kernel_size: how many pixels count, odd: both ways, or (along x, along y). A side of an
                image must be larger than half of it.

        Source: operator gaussian_blur; torchvision's GaussianBlur.
        """
        return self.apply(
            "gaussian_blur",
            slot,
            kernel_size=sides(kernel_size),
            sigma=floats(sigma),
            seed=seed,
            name=name,
        )

    def random_invert(
        self, p: float = 0.5, *, slot: str | None = None, seed: int | None = None, name: str = ""
    ) -> Self:
        """Turns values v into 255 - v with probability p. Source: operator invert."""
        return self.apply("invert", slot, p=float(p), seed=seed, name=name)

    def random_posterize(
        self,
        bits: int,
        p: float = 0.5,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Keeps the upper bits of values with probability p. Source: operator posterize."""
        return self.apply("posterize", slot, bits=bits, p=float(p), seed=seed, name=name)

    def random_solarize(
        self,
        threshold: float,
        p: float = 0.5,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Turns values from threshold on over with probability p. Source: operator solarize."""
        return self.apply(
            "solarize", slot, threshold=float(threshold), p=float(p), seed=seed, name=name
        )

    def random_autocontrast(
        self, p: float = 0.5, *, slot: str | None = None, seed: int | None = None, name: str = ""
    ) -> Self:
        """Spreads values over the whole range with probability p. Source: operator autocontrast."""
        return self.apply("autocontrast", slot, p=float(p), seed=seed, name=name)

    def random_equalize(
        self, p: float = 0.5, *, slot: str | None = None, seed: int | None = None, name: str = ""
    ) -> Self:
        """Makes values about equally frequent with probability p. Source: operator equalize."""
        return self.apply("equalize", slot, p=float(p), seed=seed, name=name)

    def random_adjust_sharpness(
        self,
        sharpness_factor: float,
        p: float = 0.5,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Makes images softer (below 1) or sharper (above 1) with probability p.

        Source: operator adjust_sharpness; torchvision's RandomAdjustSharpness.
        """
        return self.apply(
            "adjust_sharpness",
            slot,
            factor=float(sharpness_factor),
            p=float(p),
            seed=seed,
            name=name,
        )

    def mixup(
        self,
        *,
        num_classes: int,
        alpha: float = 1.0,
        slot: str | None = None,
        label: str = "label",
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Mixes each image of a batch, which is float32, with the one before it.

        Args:
            num_classes: how many there are: the labels, int64 ``[N]``, become float32
                ``[N, num_classes]`` with the share of each class.
            alpha: of the distribution Beta(alpha, alpha) of the shares.
            slot: the images, also as ``to_chw`` makes them; by default what the method before it
                wrote, or else the slot ``image``.
            label: the slot with the labels.

        Source: operator mixup; torchvision's MixUp.
        """
        return self._mixed("mixup", slot, label, num_classes, alpha, seed, name)

    def cutmix(
        self,
        *,
        num_classes: int,
        alpha: float = 1.0,
        slot: str | None = None,
        label: str = "label",
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Puts a rectangle of the image before it into each image of a batch, of either layout.

        The arguments are those of ``mixup``. Source: operator cutmix; torchvision's CutMix.
        """
        return self._mixed("cutmix", slot, label, num_classes, alpha, seed, name)

    def _image_slot(self, slot: str | None) -> str:
        """The slot of images: where none is given or was written before, that called image."""
        if slot is not None:
            return slot
        is_named = not self._applied and "image" in self._slot_names()
        return "image" if is_named else self._default_slot()

    def _mixed(
        self,
        operator: str,
        slot: str | None,
        label: str,
        num_classes: int,
        alpha: float,
        seed: int | None,
        name: str,
    ) -> Self:
        images = self._image_slot(slot)
        return self.apply(
            operator,
            {"X": images, "Label": label},
            {"Out": images, "LabelOut": label},
            num_classes=num_classes,
            alpha=float(alpha),
            seed=seed,
            name=name,
        )

    def _move(
        self,
        operator: str,
        slot: str | None,
        slots: MovedSlots | None,
        *,
        name: str,
        **attributes: object,
    ) -> Self:
        """Applies an operator to a slot, or to several that it moves by one draw."""
        if slots is None:
            return self.apply(operator, slot, None, name=name, **attributes)
        if slot is not None:
            raise ValueError(
                f"{operator}: slot={slot!r} and slots={slots!r} are given; one is meant"
            )
        moved = self._moved(slots)
        return self.apply(
            operator, moved.inputs, moved.outputs, name=name, **moved.attributes, **attributes
        )

    def _moved(self, slots: MovedSlots) -> Moved:
        """What each of some slots is."""
        specs: SlotSpecs = {}
        if not isinstance(slots, Mapping):  # which says what each is
            specs = dict(zip_strict(self._slot_names(), self.slots()))
        return Moved(slots, specs, self._applied[1] if self._applied else ())
