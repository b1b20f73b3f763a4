# SPDX-License-Identifier: Apache-2.0
"""The transforms of millhopper.vision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from millhopper.readers.reader import Reader

Transform = Callable[..., Reader]


class _Method:
    """A transform that calls a method of Reader."""

    method = ""

    def __init__(self, *arguments: object, **options: object) -> None:
        self._arguments = arguments
        self._options = options

    def __call__(self, reader: Reader, slot: str | None = None) -> Reader:
        method: Transform = getattr(reader, self.method)
        one = {} if "slots" in self._options else {"slot": slot}
        return method(*self._arguments, **one, **self._options)

    def __repr__(self) -> str:
        given = [repr(argument) for argument in self._arguments]
        given += [f"{name}={value!r}" for name, value in self._options.items()]
        return f"{type(self).__name__}({', '.join(given)})"


def _steps(transform: Transform, slot: str | None) -> Callable[[Reader], Reader]:
    """A transform of a slot as a function of a reader."""
    return lambda reader: transform(reader, slot=slot)


class AutoAugment(_Method):
    """``Reader.auto_augment``. Source: torchvision's AutoAugment."""

    method = "auto_augment"


class CenterCrop(_Method):
    """``Reader.center_crop``. Source: torchvision's CenterCrop."""

    method = "center_crop"


class ColorJitter(_Method):
    """``Reader.color_jitter``. Source: torchvision's ColorJitter."""

    method = "color_jitter"


class Crop(_Method):
    """``Reader.crop``. Source: Millhopper's own."""

    method = "crop"


class CutMix(_Method):
    """``Reader.cutmix``. Source: torchvision's CutMix."""

    method = "cutmix"


class DecodeImage(_Method):
    """``Reader.decode_image``. Source: Millhopper's own."""

    method = "decode_image"


class GaussianBlur(_Method):
    """``Reader.gaussian_blur``. Source: torchvision's GaussianBlur."""

    method = "gaussian_blur"


class Grayscale(_Method):
    """``Reader.grayscale``. Source: torchvision's Grayscale."""

    method = "grayscale"


class MixUp(_Method):
    """``Reader.mixup``. Source: torchvision's MixUp."""

    method = "mixup"


class Normalize(_Method):
    """``Reader.normalize``. Source: torchvision's Normalize."""

    method = "normalize"


class Pad(_Method):
    """``Reader.pad``. Source: torchvision's Pad."""

    method = "pad"


class RandAugment(_Method):
    """``Reader.rand_augment``. Source: torchvision's RandAugment."""

    method = "rand_augment"


class RandomAdjustSharpness(_Method):
    """``Reader.random_adjust_sharpness``. Source: torchvision's RandomAdjustSharpness."""

    method = "random_adjust_sharpness"


class RandomAffine(_Method):
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

    def __call__(self, reader: Reader, slot: str | None = None) -> Reader:
        steps = _steps(Compose(self.transforms), slot)
        return reader.random_apply(steps, self._p, seed=self._seed)

    def __repr__(self) -> str:
        return f"RandomApply({self.transforms!r}, p={self._p})"


class RandomAutocontrast(_Method):
    """``Reader.random_autocontrast``. Source: torchvision's RandomAutocontrast."""

    method = "random_autocontrast"


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

    def __call__(self, reader: Reader, slot: str | None = None) -> Reader:
        steps = [_steps(transform, slot) for transform in self.transforms]
        return reader.random_choice(steps, self._p, seed=self._seed)

    def __repr__(self) -> str:
        return f"RandomChoice({self.transforms!r}, p={self._p})"


class RandomCrop(_Method):
    """``Reader.random_crop``. Source: torchvision's RandomCrop."""

    method = "random_crop"


class RandomEqualize(_Method):
    """``Reader.random_equalize``. Source: torchvision's RandomEqualize."""

    method = "random_equalize"


class RandomErasing(_Method):
    """``Reader.random_erasing``. Source: torchvision's RandomErasing."""

    method = "random_erasing"


class RandomHorizontalFlip(_Method):
    """``Reader.random_horizontal_flip``. Source: torchvision's RandomHorizontalFlip."""

    method = "random_horizontal_flip"


class RandomInvert(_Method):
    """``Reader.random_invert``. Source: torchvision's RandomInvert."""

    method = "random_invert"


class RandomOrder:
    """``Reader.random_order`` of at most 4 transforms. Source: torchvision's RandomOrder.

    Args:
        transforms: the transforms.
        seed: as for the method.
    """

    def __init__(self, transforms: Iterable[Transform], *, seed: int | None = None) -> None:
        self.transforms = list(transforms)
        self._seed = seed

    def __call__(self, reader: Reader, slot: str | None = None) -> Reader:
        steps = [_steps(transform, slot) for transform in self.transforms]
        return reader.random_order(steps, seed=self._seed)

    def __repr__(self) -> str:
        return f"RandomOrder({self.transforms!r})"


class RandomPosterize(_Method):
    """``Reader.random_posterize``. Source: torchvision's RandomPosterize."""

    method = "random_posterize"


class RandomResizedCrop(_Method):
    """``Reader.random_resized_crop``. Source: torchvision's RandomResizedCrop."""

    method = "random_resized_crop"


class RandomRotation(_Method):
    """``Reader.random_rotation``. Source: torchvision's RandomRotation."""

    method = "random_rotation"


class RandomSolarize(_Method):
    """``Reader.random_solarize``. Source: torchvision's RandomSolarize."""

    method = "random_solarize"


class RandomVerticalFlip(_Method):
    """``Reader.random_vertical_flip``. Source: torchvision's RandomVerticalFlip."""

    method = "random_vertical_flip"


class Resize(_Method):
    """``Reader.resize``. Source: torchvision's Resize."""

    method = "resize"


class ToCHW(_Method):
    """``Reader.to_chw``. Source: Millhopper's own."""

    method = "to_chw"


class Compose:
    """Transforms one after another. Source: torchvision's Compose."""

    def __init__(self, transforms: Iterable[Transform]) -> None:
        self._transforms = list(transforms)

    def __call__(self, reader: Reader, slot: str | None = None) -> Reader:
        for transform in self._transforms:
            reader = transform(reader, slot)
        return reader

    def __repr__(self) -> str:
        return f"Compose({self._transforms!r})"


class TrivialAugmentWide(_Method):
    """``Reader.trivial_augment_wide``. Source: torchvision's TrivialAugmentWide."""

    method = "trivial_augment_wide"
