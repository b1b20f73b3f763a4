# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that change values of images and leave them in their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millhopper.base.floats import floats
from millhopper.readers.operator_methods import OperatorMethods

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias


Numbers: TypeAlias = "float | Sequence[float]"
Size: TypeAlias = "int | Sequence[int]"


def sides(size: Size) -> list[int]:
    """[height, width]; one number stands for both."""
    return [size, size] if isinstance(size, int) else list(size)


def fills(fill: int | Sequence[int] | None) -> list[int] | None:
    """What lies outside of an image: one value, or one for each channel."""
    return [fill] if isinstance(fill, int) else None if fill is None else list(fill)


class AugmentMethods(OperatorMethods):
    """Augmentations of images; see ``ImageMethods``."""

    def random_erasing(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Numbers | None = None,
        *,
        size: int | None = None,
        count: int | Sequence[int] = 1,
        mode: str = "const",
        mean: Numbers | None = None,
        std: Numbers | None = None,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Covers random rectangles with probability p.

        Args:
            p: the probability, from 0 to 1.
            scale: the least and the most part of the image that is covered.
            ratio: the least and the most height by width.
            value: what covers with mode ``"const"``: one number, or one a channel.
            size: of a square in pixels, as in Cutout, part of which may lie outside.
            count: how many rectangles, or the least and the most; they share the part.
            mode: by timm's names, what covers: ``"const"``; ``"rand"``, a normal number for each
                channel; ``"pixel"``, one for each value.
            mean: of the normal numbers, one or one a channel; by default 0.
            std: their standard deviation; by default 1, which is for images after ``normalize``.
            slot: the images.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Source: operator cutout; torchvision's RandomErasing, and timm's.
        """
        return self.apply(
            "cutout",
            slot,
            p=float(p),
            scale=floats(scale),
            ratio=floats(ratio),
            value=None if value is None else floats(value),
            size=size,
            count=None if count == 1 else [count] if isinstance(count, int) else list(count),
            mode=None if mode == "const" else mode,
            mean=None if mean is None else floats(mean),
            std=None if std is None else floats(std),
            seed=seed,
            name=name,
        )

    def random_photometric_distort(
        self,
        brightness: Numbers = (0.875, 1.125),
        contrast: Numbers = (0.5, 1.5),
        saturation: Numbers = (0.5, 1.5),
        hue: Numbers = (-0.05, 0.05),
        p: float = 0.5,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Changes brightness, contrast, saturation, hue and order of channels, each by chance p.

        Source: operator photometric_distort; torchvision's RandomPhotometricDistort.
        """
        return self.apply(
            "photometric_distort",
            slot,
            brightness=floats(brightness),
            contrast=floats(contrast),
            saturation=floats(saturation),
            hue=floats(hue),
            p=float(p),
            seed=seed,
            name=name,
        )

    def random_channel_permutation(
        self, p: float = 1.0, *, slot: str | None = None, seed: int | None = None, name: str = ""
    ) -> Self:
        """Puts the channels into a random order with probability p.

        Source: operator channel_permutation; torchvision's RandomChannelPermutation.
        """
        return self.apply("channel_permutation", slot, p=float(p), seed=seed, name=name)

    def gaussian_noise(
        self,
        mean: float = 0.0,
        sigma: float = 0.1,
        clip: bool = True,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Adds a normal number to each value of uint8 or float32 images.

        Args:
            mean: of the numbers, where 1 is the range of values: 255 of uint8, 1 of float32.
            sigma: their standard deviation, in the same unit.
            clip: whether float32 values are held between 0 and 1, as those of uint8 always are
                between 0 and 255.
            slot: the images.
            seed: decides the draws, too.
            name: of the new reader, which the draws depend on.

        Source: operator gaussian_noise; torchvision's GaussianNoise.
        """
        return self.apply(
            "gaussian_noise",
            slot,
            mean=float(mean),
            sigma=float(sigma),
            clip=clip,
            seed=seed,
            name=name,
        )

    def jpeg(
        self,
        quality: int | Sequence[int],
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Compresses images as JPEG, with a quality or one drawn from (lowest, highest).

        Source: operator jpeg; torchvision's JPEG.
        """
        return self.apply("jpeg", slot, quality=sides(quality), seed=seed, name=name)

    def aug_mix(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: str = "bilinear",
        fill: int | Sequence[int] | None = None,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Mixes images with ``mixture_width`` chains of changes of themselves.

        Source: operator aug_mix; torchvision's AugMix.
        """
        return self.apply(
            "aug_mix",
            slot,
            severity=severity,
            mixture_width=mixture_width,
            chain_depth=chain_depth,
            alpha=float(alpha),
            all_ops=all_ops,
            interpolation=interpolation,
            fill=fills(fill),
            seed=seed,
            name=name,
        )

    def rand_augment(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: int | Sequence[int] | None = None,
        *,
        policy: str | None = None,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Changes images num_ops times, each time in one of 14 ways that is drawn.

        With ``policy``, a text of timm's such as ``"rand-m9-mstd0.5-inc1"``, changes, numbers and
        draws are those of timm, in place of the three numbers; ``interpolation`` ``"nearest"`` then
        stands for bilinear or bicubic, which are drawn, and without ``fill`` what lies outside is
        128.

        Source: operator rand_augment; torchvision's RandAugment, and timm's.
        """
        return self.apply(
            "rand_augment",
            slot,
            num_ops=num_ops,
            magnitude=magnitude,
            num_magnitude_bins=num_magnitude_bins,
            policy=policy,
            interpolation=interpolation,
            fill=fills(fill),
            seed=seed,
            name=name,
        )

    def auto_augment(
        self,
        policy: str = "imagenet",
        interpolation: str = "nearest",
        fill: int | Sequence[int] | None = None,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Changes images by one of 25 pairs of changes: policy ``imagenet``, ``cifar10``, ``svhn``.

        Or by those of timm: ``original``, ``originalr``, ``v0`` or ``v0r``, also with noise of
        magnitudes, ``"original-mstd0.5"``; pixels are then moved as ``rand_augment`` does for
        timm's policies.

        Source: operator auto_augment; torchvision's AutoAugment, and timm's.
        """
        return self.apply(
            "auto_augment",
            slot,
            policy=policy,
            interpolation=interpolation,
            fill=fills(fill),
            seed=seed,
            name=name,
        )

    def trivial_augment_wide(
        self,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: int | Sequence[int] | None = None,
        *,
        slot: str | None = None,
        seed: int | None = None,
        name: str = "",
    ) -> Self:
        """Changes images once, in one of 14 ways and by any strength that is drawn.

        Source: operator trivial_augment_wide; torchvision's TrivialAugmentWide.
        """
        return self.apply(
            "trivial_augment_wide",
            slot,
            num_magnitude_bins=num_magnitude_bins,
            interpolation=interpolation,
            fill=fills(fill),
            seed=seed,
            name=name,
        )
