# SPDX-License-Identifier: Apache-2.0
"""Transforms of torchvision and timm as chains of Millhopper's."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from millhopper.vision import transforms as ours

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Chain: TypeAlias = "list[ours.Transform]"

_LIBRARIES = ("torchvision.transforms.", "timm.data.", "torch.nn.modules.container")


def from_torchvision(transform: object) -> ours.Compose:
    """What a transform of torchvision or timm does, as a chain of Millhopper's transforms.

    For example those that a model was trained with::

        vision.from_torchvision(timm.data.create_transform(224, is_training=True))
        vision.from_torchvision(torchvision.models.ResNet50_Weights.DEFAULT.transforms())

    The chain begins with encoded images, which are not turned as their EXIF data asks, as Pillow
    does not turn them, and makes ``[N, channels, height, width]`` where the transform makes
    tensors. Draws have the same distributions, and other numbers. ``SanitizeBoundingBoxes`` clips
    boxes first, as ``ClampBoundingBoxes`` does.

    Args:
        transform: one of ``torchvision.transforms``, ``transforms.v2`` or ``timm.data``, or a
            ``Compose`` of such.

    Raises:
        ValueError: a step has no counterpart; the text says which, and of a step that is known,
            which of its arguments.
        TypeError: it is something else.

    Source: Millhopper's own.
    """
    taken = _Taken()
    taken.take(transform)
    return ours.Compose([ours.DecodeImage(orientation=False), *taken.finished()])


class _Taken:
    """The chain so far, and what images are after it."""

    def __init__(self) -> None:
        self.chain: Chain = []
        self._count = 0  # of steps
        self._channels_first = False  # in torchvision; here at the end
        self._scale: float | None = None  # which the next normalization has to do
        self._float = False

    def take(self, transform: Any) -> None:
        """Adds what a transform does.

        Raises:
            ValueError: it has no counterpart.
            TypeError: it is no transform of these libraries.
        """
        kind = type(transform)
        name = kind.__name__
        if not kind.__module__.startswith(_LIBRARIES):
            raise TypeError(
                f"from_torchvision: {transform!r} is no transform of torchvision or timm; of a "
                "function, Reader.map makes a step"
            )
        if name in ("Compose", "Sequential"):
            for one in getattr(transform, "transforms", transform):
                self.take(one)
            return
        self._count += 1
        if name in _PRESETS:
            _PRESETS[name](self, transform)
        elif name in _TO_TENSOR:
            self._to_tensor(name, transform)
        elif name == "Normalize":
            self._normalize(_numbers(transform.mean), _numbers(transform.std))
        elif name in _METHODS:
            self._settle()
            if self._float and name not in _OF_FLOATS:
                self.refuse(transform, "after values are scaled; it can stand before")
            try:
                self.chain += self._steps(name, transform)
            except _Unlike as unlike:
                self.refuse(transform, str(unlike))
        else:
            self.refuse(transform, "")

    def _steps(self, name: str, transform: Any) -> Chain:
        mode = getattr(transform, "interpolation", None)
        resamples = hasattr(transform, "antialias")
        if resamples and self._channels_first:  # of tensors, which are resampled otherwise
            if getattr(mode, "value", mode) == "nearest":
                raise _Unlike("of a tensor, for interpolation='nearest'")
            if transform.antialias is False and getattr(mode, "value", mode) == "bicubic":
                raise _Unlike("of a tensor, for antialias=False and interpolation='bicubic'")
        steps = _METHODS[name](transform)
        if resamples and not self._channels_first:  # Pillow knows no antialias=False
            for step in steps:
                for one in getattr(step, "transforms", [step]):
                    one.options.pop("antialias", None)
        if name == "CenterCrop" and not self._is_large_enough(steps[0]):
            steps = [ours.Pad(least=_square(transform.size), where="center"), *steps]
        return steps

    def _is_large_enough(self, crop: Any) -> bool:
        """Whether the step before makes images that a crop in the middle need not pad."""
        before = self.chain[-1] if self.chain else None
        if not isinstance(before, (ours.Resize, ours.RandomResizedCrop)) or before.options.get(
            "max_size"
        ):
            return False
        sides = [
            [size] if isinstance(size, int) else list(size)
            for size in (before.arguments[0], crop.arguments[0])
        ]
        return min(sides[0]) >= max(sides[1])

    def finished(self) -> Chain:
        self._settle()
        return [*self.chain, ours.ToCHW()] if self._channels_first else self.chain

    def refuse(self, transform: object, why: str) -> None:
        shown = textwrap.shorten(repr(transform), 160, placeholder=" ...")
        of_it = f" {why}" if why else ""
        raise ValueError(
            f"from_torchvision: step {self._count}, {shown}, has no counterpart{of_it}"
        )

    def _to_tensor(self, name: str, transform: Any) -> None:
        self._channels_first |= name not in _KEEPING_LAYOUT
        if name == "RGB" and any(isinstance(step, ours.Grayscale) for step in self.chain):
            self.chain.append(ours.Grayscale(3))
        scale: float | None = None
        if name in ("ToTensor", "MaybeToTensor"):
            scale = 1 / 255
        elif name in ("ToDtype", "ConvertImageDtype"):
            dtype = str(transform.dtype).rpartition(".")[2]
            if dtype == "float32":
                scale = 1 / 255 if getattr(transform, "scale", True) else 1.0
            elif dtype != "uint8" or self._float or self._scale is not None:
                self.refuse(transform, f"for {dtype}")
        if scale is not None and not self._float and self._scale is None:
            self._scale = scale

    def _normalize(self, mean: list[float], std: list[float]) -> None:
        self._float = True
        if self._scale == 1 / 255:
            self.chain.append(ours.Normalize(tuple(mean), tuple(std)))
        else:
            self.chain.append(ours.Normalize(tuple(mean), tuple(std), scale=self._scale or 1.0))
        self._scale = None

    def _settle(self) -> None:
        """Scales values now if that is left to do."""
        if self._scale is not None:
            self._normalize([0.0], [1.0])

    def classification(self, preset: Any) -> None:
        """The transforms of weights of classification."""
        self.chain += [
            ours.Resize(_size(preset.resize_size), interpolation=_interpolation(preset)),
            ours.CenterCrop(_size(preset.crop_size)),
        ]
        self._of_weights(preset)

    def segmentation(self, preset: Any) -> None:
        """The transforms of weights of segmentation."""
        if preset.resize_size is not None:
            size = _size(preset.resize_size)
            self.chain.append(ours.Resize(size, interpolation=_interpolation(preset)))
        self._of_weights(preset)

    def detection(self, preset: Any) -> None:
        """The transforms of weights of detection, whose models normalise."""
        self._channels_first = True
        self._scale = 1 / 255

    def _of_weights(self, preset: Any) -> None:
        self._channels_first = True
        self._scale = 1 / 255
        self._normalize(_numbers(preset.mean), _numbers(preset.std))


class _Unlike(Exception):
    """An argument that has no counterpart."""


def _default(transform: object, **usual: object) -> None:
    """Raises _Unlike if an attribute of a transform is not what it must be."""
    for name, value in usual.items():
        given = getattr(transform, name, value)
        if given != value:
            raise _Unlike(f"for {name}={given!r}")


def _interpolation(transform: Any) -> str:
    return _mode(transform.interpolation)


def _mode(interpolation: Any) -> str:
    mode = getattr(interpolation, "value", interpolation)
    if mode not in ("nearest", "bilinear", "bicubic", "lanczos"):
        raise _Unlike(f"for interpolation={mode!r}")
    return str(mode)


def _size(size: Any) -> int | tuple[int, ...]:
    sides = [size] if isinstance(size, int) else list(size)
    return int(sides[0]) if len(set(sides)) == 1 and len(sides) != 2 else tuple(map(int, sides))


def _square(size: Any) -> int | tuple[int, ...]:
    """[height, width], as one number where both are equal."""
    sides = [size] if isinstance(size, int) else list(size)
    return int(sides[0]) if len(set(sides)) == 1 else tuple(map(int, sides))


def _filled(transform: Any) -> dict[str, object]:
    fill = transform.fill
    if isinstance(fill, Mapping):
        raise _Unlike(f"for fill={fill!r}")
    if isinstance(fill, (int, float)):
        return {"fill": _whole(fill)} if fill else {}
    values = [] if fill is None else [_whole(value) for value in fill]
    return {"fill": values} if any(values) else {}


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else float(value)


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def _moved(transform: Any) -> dict[str, object]:
    center = None if transform.center is None else tuple(transform.center)
    interpolation = _interpolation(transform)
    other = None if interpolation == "nearest" else interpolation
    return {**_given(interpolation=other, center=center), **_filled(transform)}


def _augment(transform: Any) -> dict[str, object]:
    interpolation = _interpolation(transform)
    other = None if interpolation == "nearest" else interpolation
    return {**_given(interpolation=other), **_filled(transform)}


def _numbers(values: Any) -> list[float]:
    """Numbers of a list, or of a tensor of float32, whose decimal digits they have."""
    if hasattr(values, "dtype"):
        return [float(f"{float(value):.7g}") for value in values]
    return [float(value) for value in values]


def _range(values: Any) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(value) for value in values)


def _smooth(t: Any) -> dict[str, object]:
    is_smooth = getattr(t, "antialias", True) in (True, "warn", None)
    return _given(antialias=None if is_smooth else False)


def _resampled(t: Any) -> dict[str, object]:
    """How pixels are resampled."""
    return {"interpolation": _interpolation(t), **_smooth(t)}


def _resize(t: Any) -> Chain:
    if t.size is None:
        raise _Unlike("for size=None")
    return [ours.Resize(_size(t.size), **_given(max_size=t.max_size), **_resampled(t))]


def _resize_keep_ratio(t: Any) -> Chain:
    modes = t.interpolation if isinstance(t.interpolation, (tuple, list)) else [t.interpolation]
    more = _given(longest=float(t.longest) or None)
    if t.random_scale_prob:
        area = bool(t.random_scale_area) or None
        more.update(scale=_range(t.random_scale_range), scale_p=float(t.random_scale_prob))
        more.update(_given(scale_area=area))
    if t.random_aspect_prob:
        more.update(aspect=_range(t.random_aspect_range), aspect_p=float(t.random_aspect_prob))
    resizes: Chain = [
        ours.ResizeKeepRatio(_square(t.size), **more, interpolation=_mode(mode)) for mode in modes
    ]
    return resizes if len(resizes) == 1 else [ours.RandomChoice(resizes)]


def _center_crop_or_pad(t: Any) -> Chain:
    size, mode = _square(t.size), None if t.padding_mode == "constant" else t.padding_mode
    pad = ours.Pad(least=size, where="center", **_given(padding_mode=mode), **_filled(t))
    return [pad, ours.CenterCrop(size)]


def _random_crop_or_pad(t: Any) -> Chain:
    """What lacks is added on both sides, so that an image lies anywhere in what is cut out."""
    mode = None if t.padding_mode == "constant" else t.padding_mode
    more = _given(pad_if_needed=True, padding_mode=mode)
    return [ours.RandomCrop(_square(t.size), **more, **_filled(t))]


def _scale_jitter(t: Any) -> Chain:
    width, height = t.target_size  # so torchvision takes what it calls (height, width)
    return [ours.ScaleJitter(_square((height, width)), _range(t.scale_range), **_resampled(t))]


def _shortest_size(t: Any) -> Chain:
    return [ours.RandomShortestSize(list(t.min_size), t.max_size, **_resampled(t))]


def _random_resize(t: Any) -> Chain:
    return [ours.RandomShortestSize(range(t.min_size, t.max_size), **_resampled(t))]


def _random_crop(t: Any) -> Chain:
    options: dict[str, object] = {}
    if t.padding or t.pad_if_needed:
        padding = t.padding if isinstance(t.padding, int) else list(t.padding or []) or None
        if isinstance(padding, list) and ".v2." in type(t).__module__:
            left, right, top, bottom = padding
            padding = [left, top, right, bottom]
        if isinstance(padding, list) and len(set(padding)) == 1:
            padding = padding[0]
        mode = None if t.padding_mode == "constant" else t.padding_mode
        needed = t.pad_if_needed or None
        options = _given(padding=padding, pad_if_needed=needed, padding_mode=mode)
        options.update(_filled(t))
    return [ours.RandomCrop(_square(t.size), **options)]


def _pad(t: Any) -> Chain:
    padding = t.padding if isinstance(t.padding, int) else list(t.padding)
    mode = None if t.padding_mode == "constant" else t.padding_mode
    return [ours.Pad(padding, **_given(padding_mode=mode), **_filled(t))]


def _resized_crop(t: Any) -> Chain:
    modes = t.interpolation if isinstance(t.interpolation, (tuple, list)) else [t.interpolation]
    crops: Chain = [
        ours.RandomResizedCrop(
            _square(t.size),
            scale=_range(t.scale),
            ratio=_range(t.ratio),
            interpolation=str(getattr(mode, "value", mode)),
            **_smooth(t),
        )
        for mode in modes
    ]
    return crops if len(crops) == 1 else [ours.RandomChoice(crops)]


def _color_jitter(t: Any) -> Chain:
    names = ("brightness", "contrast", "saturation", "hue")
    return [ours.ColorJitter(**_given(**{name: _range(getattr(t, name)) for name in names}))]


def _rotation(t: Any) -> Chain:
    expand = _given(expand=getattr(t, "expand", False) or None)
    return [ours.RandomRotation(_range(t.degrees), **expand, **_moved(t))]


def _perspective(t: Any) -> Chain:
    return [
        ours.RandomPerspective(
            float(t.distortion_scale),
            float(t.p),
            interpolation=_interpolation(t),
            **_filled(t),
        )
    ]


def _affine(t: Any) -> Chain:
    more = _given(translate=_range(t.translate), scale=_range(t.scale), shear=_range(t.shear))
    return [ours.RandomAffine(_range(t.degrees), **more, **_moved(t))]


def _erasing(t: Any) -> Chain:
    if hasattr(t, "probability"):  # timm's
        ratio = tuple(float(f"{math.exp(x):.7g}") for x in t.log_aspect_ratio)
        count = (t.min_count, t.max_count)
        more = _given(
            mode=None if t.mode in ("", "const") else t.mode,
            count=None if count == (1, 1) else count,
        )
        return [ours.RandomErasing(t.probability, (t.min_area, t.max_area), ratio, **more)]
    values = t.value if isinstance(t.value, (list, tuple)) else [t.value]
    if t.value is None or isinstance(t.value, str):  # "random"
        more = {"mode": "pixel"}
    else:
        more = _given(value=_range(values) if any(values) else None)
    return [ours.RandomErasing(float(t.p), _range(t.scale), _range(t.ratio), **more)]


def _blur(t: Any) -> Chain:
    return [ours.GaussianBlur(_square(t.kernel_size), _range(t.sigma))]


# The changes of timm's RandAugment, and which of them it makes stronger with "inc".
_TIMM_CHANGES = (
    "AutoContrast Equalize Invert Rotate Posterize Solarize SolarizeAdd Color Contrast Brightness "
    "Sharpness ShearX ShearY TranslateXRel TranslateYRel"
).split()
_TIMM_INCREASING = "Posterize Solarize Color Contrast Brightness Sharpness".split()


def _timm_policy(t: Any) -> Chain:
    """RandAugment of timm, whose text is lost: it is made anew of its changes."""
    first = t.ops[0]
    names = [op.name for op in t.ops]
    increasing = [
        f"{name}Increasing" if name in _TIMM_INCREASING else name for name in _TIMM_CHANGES
    ]
    settings = {(op.magnitude, op.magnitude_std, op.magnitude_max, op.prob) for op in t.ops}
    if names not in (_TIMM_CHANGES, increasing) or len(settings) > 1:
        raise _Unlike("for other changes")
    if t.choice_weights is not None:
        raise _Unlike("for weights of the changes")
    policy = f"rand-m{first.magnitude:g}-n{t.num_layers}-p{first.prob:g}"
    if first.magnitude_std:
        policy += f"-mstd{min(first.magnitude_std, 101):g}"  # timm makes infinity of 101
    if first.magnitude_max is not None:
        policy += f"-mmax{first.magnitude_max:g}"
    if names == increasing:
        policy += "-inc1"
    return [ours.RandAugment(policy=policy, **_timm_moved(first))]


def _timm_moved(op: Any) -> dict[str, object]:
    """How a change of timm moves pixels."""
    if op.hparams.get("translate_pct", 0.45) != 0.45:
        raise _Unlike("for translate_pct")
    resample = op.kwargs["resample"]
    drawn = isinstance(resample, (tuple, list))
    mode = None if drawn else {2: "bilinear", 3: "bicubic"}.get(int(resample))
    if mode is None and not drawn:
        raise _Unlike(f"for resampling {resample}")
    fill = list(op.kwargs["fillcolor"])
    return _given(interpolation=mode, fill=fill if fill != [128, 128, 128] else None)


def _auto_augment(t: Any) -> Chain:
    if hasattr(t, "interpolation"):
        return [ours.AutoAugment(str(t.policy.value), **_augment(t))]
    # Not that of its type: a class that stands on timm's may lie elsewhere.
    timm = sys.modules.get("timm.data.auto_augment")
    if timm is None:
        raise _Unlike("without timm's policies")
    policies = timm.auto_augment_policy

    def listed(policy: Any) -> list[list[tuple[str, float, float]]]:
        return [[(op.name, op.prob, op.magnitude) for op in pair] for pair in policy]

    names = ("original", "originalr", "v0", "v0r")
    name = next((name for name in names if listed(policies(name)) == listed(t.policy)), None)
    first = t.policy[0][0]
    if name is None or first.magnitude_max is not None or first.magnitude_std > 100:
        raise _Unlike("for other changes")
    if first.magnitude_std:
        name += f"-mstd{first.magnitude_std:g}"
    return [ours.AutoAugment(name, **_timm_moved(first))]


def _rand_augment(t: Any) -> Chain:
    if not hasattr(t, "magnitude"):
        return _timm_policy(t)
    return [ours.RandAugment(t.num_ops, t.magnitude, t.num_magnitude_bins, **_augment(t))]


def _aug_mix(t: Any) -> Chain:
    return [
        ours.AugMix(
            t.severity,
            t.mixture_width,
            t.chain_depth,
            float(t.alpha),
            bool(t.all_ops),
            interpolation=_interpolation(t),
            **_filled(t),
        )
    ]


def _photometric_distort(t: Any) -> Chain:
    names = ("brightness", "contrast", "saturation", "hue")
    ranges = {name: _range(getattr(t, name)) for name in names}
    return [ours.RandomPhotometricDistort(**ranges, p=float(t.p))]


def _elastic(t: Any) -> Chain:
    alpha, sigma = _range(t.alpha), _range(t.sigma)
    return [ours.ElasticTransform(alpha, sigma, interpolation=_interpolation(t), **_filled(t))]


def _iou_crop(t: Any) -> Chain:
    return [
        ours.RandomIoUCrop(
            scale=(float(t.min_scale), float(t.max_scale)),
            ratio=(float(t.min_aspect_ratio), float(t.max_aspect_ratio)),
            min_overlaps=_range(t.options),
            trials=int(t.trials),
        )
    ]


def _zoom_out(t: Any) -> Chain:
    return [ours.RandomZoomOut(float(t.p), side_range=_range(t.side_range), **_filled(t))]


def _sanitized(t: Any) -> Chain:
    getter = t.labels_getter
    if getter is not None and not isinstance(getter, str):
        raise _Unlike("for a function that finds labels")
    labels = () if getter is None else ("labels",) if getter == "default" else (getter,)
    return [ours.SanitizeBoxes(labels, min_size=float(t.min_size), min_area=float(t.min_area))]


def _noise(t: Any) -> Chain:
    return [ours.GaussianNoise(float(t.mean), float(t.sigma), bool(t.clip))]


def _inner(transforms: Iterable[object]) -> Chain:
    """The steps of a choice, which change nothing but values."""
    made: Chain = []
    for one in transforms:
        taken = _Taken()
        taken.take(one)
        steps = taken.finished()
        if any(isinstance(step, (ours.ToCHW, ours.Normalize)) for step in steps):
            raise _Unlike("where a choice decides about it")
        made += steps if len(steps) == 1 else [ours.Compose(steps)]
    return made


def _choice(t: Any) -> Chain:
    return [ours.RandomChoice(_inner(t.transforms), _range(t.p))]


# What steps of one transform each make, by its name.
_METHODS: dict[str, Callable[[Any], Chain]] = {
    "AugMix": _aug_mix,
    "AutoAugment": _auto_augment,
    "CenterCropOrPad": _center_crop_or_pad,
    "CenterCrop": lambda t: [ours.CenterCrop(_square(t.size))],
    "ColorJitter": _color_jitter,
    "ElasticTransform": _elastic,
    "FiveCrop": lambda t: [ours.FiveCrop(_square(t.size))],
    "GaussianBlur": _blur,
    "GaussianNoise": _noise,
    "Grayscale": lambda t: [ours.Grayscale(t.num_output_channels)],
    "JPEG": lambda t: [ours.JPEG(_square(t.quality))],
    "Pad": _pad,
    "RandAugment": _rand_augment,
    "RandomAdjustSharpness": lambda t: [
        ours.RandomAdjustSharpness(float(t.sharpness_factor), float(t.p))
    ],
    "RandomAffine": _affine,
    "RandomApply": lambda t: [ours.RandomApply(_inner(t.transforms), p=float(t.p))],
    "RandomAutocontrast": lambda t: [ours.RandomAutocontrast(float(t.p))],
    "RandomChannelPermutation": lambda t: [ours.RandomChannelPermutation()],
    "RandomChoice": _choice,
    "RandomCrop": _random_crop,
    "RandomCropOrPad": _random_crop_or_pad,
    "RandomEqualize": lambda t: [ours.RandomEqualize(float(t.p))],
    "RandomErasing": _erasing,
    "RandomGrayscale": lambda t: [ours.RandomGrayscale(float(t.p))],
    "RandomHorizontalFlip": lambda t: [ours.RandomHorizontalFlip(float(t.p))],
    "RandomIoUCrop": _iou_crop,
    "RandomInvert": lambda t: [ours.RandomInvert(float(t.p))],
    "RandomOrder": lambda t: [ours.RandomOrder(_inner(t.transforms))],
    "RandomPerspective": _perspective,
    "RandomPhotometricDistort": _photometric_distort,
    "RandomPosterize": lambda t: [ours.RandomPosterize(t.bits, float(t.p))],
    "RandomResize": _random_resize,
    "RandomResizedCrop": _resized_crop,
    "RandomResizedCropAndInterpolation": _resized_crop,
    "RandomRotation": _rotation,
    "RandomShortestSize": _shortest_size,
    "RandomSolarize": lambda t: [ours.RandomSolarize(float(t.threshold), float(t.p))],
    "RandomVerticalFlip": lambda t: [ours.RandomVerticalFlip(float(t.p))],
    "RandomZoomOut": _zoom_out,
    "Resize": _resize,
    "ResizeKeepRatio": _resize_keep_ratio,
    "SanitizeBoundingBoxes": _sanitized,
    "ScaleJitter": _scale_jitter,
    "TrimBorder": lambda t: [ours.Pad(-t.border_size)],
    "TenCrop": lambda t: [ours.TenCrop(_square(t.size), bool(t.vertical_flip))],
    "TrivialAugmentWide": lambda t: [ours.TrivialAugmentWide(t.num_magnitude_bins, **_augment(t))],
}
# Those of them that do to scaled values what they do to bytes.
_OF_FLOATS = {
    "CenterCrop",
    "GaussianNoise",
    "Pad",
    "RandomChannelPermutation",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomIoUCrop",
    "RandomResizedCrop",
    "RandomResizedCropAndInterpolation",
    "RandomVerticalFlip",
    "Resize",
    "SanitizeBoundingBoxes",
}
# Steps about types and layouts.
_TO_TENSOR = (
    "ClampBoundingBoxes",
    "ConvertImageDtype",
    "Identity",
    "MaybeToTensor",
    "PILToTensor",
    "MaybePILToTensor",
    "RGB",
    "ToDtype",
    "ToImage",
    "ToNumpy",
    "ToPureTensor",
    "ToTensor",
)
_KEEPING_LAYOUT = ("ClampBoundingBoxes", "ConvertImageDtype", "Identity", "RGB", "ToDtype")
# What weights of torchvision's models come with.
_PRESETS: dict[str, Callable[[_Taken, Any], None]] = {
    "ImageClassification": _Taken.classification,
    "ObjectDetection": _Taken.detection,
    "SemanticSegmentation": _Taken.segmentation,
}
