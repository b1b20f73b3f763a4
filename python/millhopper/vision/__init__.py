# SPDX-License-Identifier: Apache-2.0
"""Transforms of images under torchvision's names, written once and run in C++.

A transform is called with a reader and returns a new one::

    from millhopper import dataset, vision

    augment = vision.Compose([
        vision.DecodeImage(),
        vision.RandomResizedCrop(224),
        vision.RandomHorizontalFlip(),
        vision.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
        vision.ToCHW(),
    ])
    reader = augment(dataset.image_folder("photos"), slot="image").shuffle(4096).batch(64)

The arguments of each are those of the method of Reader that its docstring names.

Recipes that people train with are there by name, as such chains, which can be printed and changed,
and ``from_torchvision`` makes one of a transform of torchvision or timm::

    print(vision.imagenet_train(auto_augment="ra", erase=0.1))
    augment = vision.from_torchvision(timm.data.create_transform(224, is_training=True))

Bytes are those of Pillow (``Resize``, ``RandomResizedCrop``, ``Grayscale``), and of the functions
for tensors of ``torchvision.transforms`` (colours, tones, sharpness). ``transforms.v2``, whose
names these are, rounds some values otherwise, by 1. ``executor --list_ops TYPE`` says what holds
for each operator.

Source: names of torchvision.transforms.v2.
"""

from millhopper.readers.other_names import answer_for_module
from millhopper.vision.other_names import OTHER_NAMES
from millhopper.vision.presets import (
    clip,
    coco_detection,
    dinov2,
    imagenet_eval,
    imagenet_train,
    segmentation,
    simclr,
)
from millhopper.vision.taken_apart import from_torchvision
from millhopper.vision.transforms import (
    JPEG,
    AugMix,
    AutoAugment,
    CenterCrop,
    ColorJitter,
    Compose,
    CopyPaste,
    Crop,
    CutMix,
    DecodeImage,
    ElasticTransform,
    FiveCrop,
    GaussianBlur,
    GaussianNoise,
    Grayscale,
    MixUp,
    MixUpDetection,
    Mosaic,
    Normalize,
    Pad,
    RandAugment,
    RandomAdjustSharpness,
    RandomAffine,
    RandomApply,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomChoice,
    RandomCrop,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomIoUCrop,
    RandomOrder,
    RandomPerspective,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomSolarize,
    RandomVerticalFlip,
    RandomZoomOut,
    Resize,
    ResizeKeepRatio,
    SanitizeBoxes,
    ScaleJitter,
    TenCrop,
    ToCHW,
    TrivialAugmentWide,
    Views,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "CopyPaste",
    "Crop",
    "CutMix",
    "DecodeImage",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "JPEG",
    "MixUp",
    "MixUpDetection",
    "Mosaic",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ResizeKeepRatio",
    "SanitizeBoxes",
    "ScaleJitter",
    "TenCrop",
    "ToCHW",
    "TrivialAugmentWide",
    "Views",
    "clip",
    "coco_detection",
    "dinov2",
    "from_torchvision",
    "imagenet_eval",
    "imagenet_train",
    "segmentation",
    "simclr",
]

answer_for_module(__name__, __all__, OTHER_NAMES)
