# SPDX-License-Identifier: Apache-2.0
"""Recipes of images that people train with, by their names, as chains of transforms.

Each returns a ``Compose``, which can be printed, and whose ``transforms`` may be changed. It begins
with encoded images and ends with float32 ``[N, channels, height, width]``.
"""

from __future__ import annotations

from collections.abc import Sequence

from millhopper.vision.transforms import (
    AugMix,
    AutoAugment,
    CenterCrop,
    ColorJitter,
    Compose,
    DecodeImage,
    GaussianBlur,
    Normalize,
    Pad,
    RandAugment,
    RandomApply,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomIoUCrop,
    RandomPhotometricDistort,
    RandomResizedCrop,
    RandomShortestSize,
    RandomSolarize,
    RandomZoomOut,
    Resize,
    SanitizeBoxes,
    ScaleJitter,
    ToCHW,
    Transform,
    TrivialAugmentWide,
    Views,
)

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


def imagenet_train(
    size: int = 224,
    *,
    interpolation: str = "bilinear",
    flip: float = 0.5,
    auto_augment: str | None = None,
    magnitude: int = 9,
    erase: float = 0.0,
    erase_mode: str = "const",
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Compose:
    """Training of classification: crop, flip, and what is asked for.

    Args:
        size: of the images that are made.
        interpolation: of the crop and of what moves pixels after it.
        flip: the probability of a flip.
        auto_augment: ``"ra"``, ``"ta_wide"``, ``"augmix"``, a policy of AutoAugment:
            ``"imagenet"``, ``"cifar10"``, ``"svhn"``, or one of timm's: ``"rand-m9-mstd0.5-inc1"``,
            ``"original-mstd0.5"``, ``"v0"``.
        magnitude: of ``"ra"``.
        erase: the probability that a rectangle is erased.
        erase_mode: what covers it: ``"const"``, zeros; ``"rand"`` or ``"pixel"``, as in timm.
        mean: of the channels, where values are from 0 to 1.
        std: their standard deviations.

    Raises:
        ValueError: there is no such policy.

    Source: ClassificationPresetTrain of torchvision's references, whose names the policies have;
    timm's create_transform, of which its policies and ``erase_mode`` are.
    """
    chain: list[Transform] = [
        DecodeImage(),
        RandomResizedCrop(size, interpolation=interpolation),
        RandomHorizontalFlip(flip),
    ]
    if auto_augment == "ra":
        chain.append(RandAugment(magnitude=magnitude, interpolation=interpolation))
    elif auto_augment == "ta_wide":
        chain.append(TrivialAugmentWide(interpolation=interpolation))
    elif auto_augment == "augmix":
        chain.append(AugMix(interpolation=interpolation))
    elif auto_augment in ("imagenet", "cifar10", "svhn"):
        chain.append(AutoAugment(auto_augment, interpolation=interpolation))
    elif auto_augment is not None and auto_augment.startswith(("rand-", "original", "v0")):
        fill = [round(255 * value) for value in mean]
        timm = RandAugment if auto_augment.startswith("rand-") else AutoAugment
        chain.append(timm(policy=auto_augment, interpolation=interpolation, fill=fill))
    elif auto_augment is not None:
        raise ValueError(
            f"imagenet_train: auto_augment is {auto_augment!r}; it is None, 'ra', 'ta_wide', "
            "'augmix', 'imagenet', 'cifar10', 'svhn' or a policy of timm such as "
            "'rand-m9-mstd0.5-inc1' or 'original'"
        )
    chain.append(Normalize(mean, std))
    if erase > 0:
        mode = {} if erase_mode == "const" else {"mode": erase_mode}
        chain.append(RandomErasing(erase, **mode))
    return Compose([*chain, ToCHW()])


def imagenet_eval(
    size: int = 224,
    *,
    resize: int = 256,
    interpolation: str = "bilinear",
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Compose:
    """Validation of classification: the middle of images whose short side is ``resize``.

    The other arguments are those of ``imagenet_train``. Errors of values come when
    it is called.

    Source: ClassificationPresetEval of torchvision's references, and the transforms of its weights.
    """
    return Compose(
        [
            DecodeImage(),
            Resize(resize, interpolation=interpolation),
            CenterCrop(size),
            Normalize(mean, std),
            ToCHW(),
        ]
    )


def clip(
    size: int = 224,
    *,
    train: bool = True,
    scale: Sequence[float] = (0.9, 1.0),
    mean: Sequence[float] = CLIP_MEAN,
    std: Sequence[float] = CLIP_STD,
) -> Compose:
    """Images of CLIP: a crop of nearly all for training, the middle for validation, bicubic.

    Args:
        size: of the images that are made.
        train: whether for training.
        scale: the lowest and the highest share of an image's area, for training.
        mean: as for ``imagenet_train``.
        std: as for ``imagenet_train``.

    Errors of values come when it is called.

    Source: image_transform of OpenCLIP; the preprocessing of OpenAI's CLIP for validation.
    """
    crop: list[Transform] = [Resize(size, interpolation="bicubic"), CenterCrop(size)]
    if train:
        crop = [RandomResizedCrop(size, scale=tuple(scale), interpolation="bicubic")]
    return Compose([DecodeImage(), *crop, Normalize(mean, std), ToCHW()])


def segmentation(
    size: int = 480,
    *,
    base: int = 520,
    train: bool = True,
    flip: float = 0.5,
    ignore: int = 255,
    image: str = "image",
    mask: str = "mask",
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Compose:
    """Images and masks of classes: resized by chance, mirrored and cropped together.

    Masks are PNG images whose palette, or gray, numbers the classes; they become uint8
    ``[N, height, width, 1]``.

    Args:
        size: of the crops for training.
        base: the length of the short side; for training any from half of it up to twice of it.
        train: whether for training; else all of an image is kept.
        flip: the probability of a flip.
        ignore: the class of what a crop has beyond its image.
        image: the slot of the images.
        mask: the slot of the masks.
        mean: as for ``imagenet_train``.
        std: as for ``imagenet_train``. Errors of values come when it is called.

    Source: SegmentationPresetTrain and SegmentationPresetEval of torchvision's references.
    """
    places: list[Transform] = [Resize(base)]
    if train:
        places = [
            RandomShortestSize(range(base // 2, 2 * base)),
            RandomHorizontalFlip(flip),
            RandomCrop(size, pad_if_needed=True, mask_fill=ignore),
        ]
    chain: list[Transform] = [DecodeImage(), *places, Normalize(mean, std), ToCHW()]
    return Compose(chain, slots={image: "image", mask: "mask"})


def coco_detection(
    policy: str = "hflip",
    *,
    size: int | None = None,
    flip: float = 0.5,
    image: str = "image",
    boxes: str = "boxes",
    labels: Sequence[str] | None = None,
    notation: str = "xyxy",
) -> Compose:
    """Images with boxes, such as those of ``dataset.coco``, for training of detection.

    Values are from 0 to 1: torchvision's models of detection normalise them. Images are not turned
    as their EXIF data asks, as boxes are those of the pixels as stored. Polygons and masks of
    objects do not move unless they are among the ``slots`` of the call.

    Args:
        policy: ``"hflip"``: a flip; ``"multiscale"``: of one of 11 sizes, too; ``"lsj"``: jitter
            of scale from 0.1 to 2 in images of ``size``, by default 1024; ``"ssd"``: distorted
            colours, zoomed out, and cropped by the overlap with boxes; ``"ssdlite"``: cropped so;
            ``"none"``, for validation.
        size: of all images at the end, both ways, so that they can be batched. By default they
            keep theirs.
        flip: the probability of a flip.
        image: the slot of the images.
        boxes: the slot of the boxes.
        labels: slots with a row for each box, which go where their box is left out; None: those of
            ``labels``, ``area`` and ``iscrowd`` that the reader has.
        notation: of the boxes: as ``to`` of ``Reader.convert_boxes``.

    Raises:
        ValueError: there is no such policy.

    Source: DetectionPresetTrain of torchvision's references.
    """
    mean = [123.0, 117.0, 104.0]  # what lies outside there
    policies: dict[str, list[Transform]] = {
        "none": [],
        "hflip": [],
        "multiscale": [RandomShortestSize(range(480, 801, 32), 1333)],
        "lsj": [
            ScaleJitter(size or 1024),
            Pad(least=size or 1024, where="end", fill=mean),
            RandomCrop(size or 1024),
        ],
        "ssd": [RandomPhotometricDistort(), RandomZoomOut(fill=mean), RandomIoUCrop()],
        "ssdlite": [RandomIoUCrop()],
    }
    if policy not in policies:
        raise ValueError(
            f"coco_detection: policy is {policy!r}; it is one of {', '.join(map(repr, policies))}"
        )
    chain: list[Transform] = [DecodeImage(), *policies[policy]]
    if size is not None and policy != "lsj":
        chain.append(Resize((size, size)))  # before the flip, so that less is decoded
    if policy != "none":
        chain.append(RandomHorizontalFlip(flip))
    sanitize = SanitizeBoxes() if labels is None else SanitizeBoxes(labels)
    chain += [sanitize, Normalize(), ToCHW()]
    return Compose(chain, slots={image: "image", boxes: notation})


def simclr(
    size: int = 224,
    *,
    views: int = 2,
    strength: float = 1.0,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Compose:
    """Views of an image for contrastive learning, slots ``view_1``, ``view_2`` ...

    Args:
        size: of the views.
        views: how many there are.
        strength: of the changes of colours.
        mean: as for ``imagenet_train``; the paper has values from 0 to 1, mean 0 and std 1.
        std: as for ``imagenet_train``.

    Errors of values come when it is called.

    Source: appendix A of Chen et al., "A Simple Framework for Contrastive Learning of Visual
    Representations", 2020.
    """
    s = strength
    view = Compose(
        [
            RandomResizedCrop(size),
            RandomHorizontalFlip(),
            RandomApply([ColorJitter(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s)], p=0.8),
            RandomGrayscale(0.2),
            RandomApply([GaussianBlur(size // 20 * 2 + 1, (0.1, 2.0))], p=0.5),
            Normalize(mean, std),
            ToCHW(),
        ]
    )
    return Compose([DecodeImage(), Views({f"view_{i + 1}": view for i in range(views)})])


def dinov2(
    global_size: int = 224,
    local_size: int = 96,
    *,
    local_crops: int = 8,
    global_scale: Sequence[float] = (0.32, 1.0),
    local_scale: Sequence[float] = (0.05, 0.32),
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Compose:
    """The crops of DINOv2: slots ``global_1``, ``global_2``, ``local_1``, ``local_2`` ...

    Args:
        global_size: of the two global crops.
        local_size: of the local crops.
        local_crops: how many of them there are.
        global_scale: the lowest and the highest share of an image's area.
        local_scale: the same for local crops.
        mean: as for ``imagenet_train``.
        std: as for ``imagenet_train``.

    Errors of values come when it is called.

    Source: DataAugmentationDINO of facebookresearch/dinov2. Blur is as likely as is written there;
    the code takes that number for the probability of leaving an image as it is.
    """

    def crop(size: int, scale: Sequence[float], *last: Transform) -> Compose:
        return Compose(
            [
                RandomResizedCrop(size, scale=tuple(scale), interpolation="bicubic"),
                RandomHorizontalFlip(),
                RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
                RandomGrayscale(0.2),
                *last,
                Normalize(mean, std),
                ToCHW(),
            ]
        )

    def blur(p: float) -> Transform:
        return RandomApply([GaussianBlur(9, (0.1, 2.0))], p=p)

    crops = {
        "global_1": crop(global_size, global_scale, blur(1.0)),
        "global_2": crop(global_size, global_scale, blur(0.1), RandomSolarize(128, 0.2)),
    }
    local = crop(local_size, local_scale, blur(0.5))
    crops.update({f"local_{i + 1}": local for i in range(local_crops)})
    return Compose([DecodeImage(), Views(crops)])
