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

Bytes are those of Pillow (``Resize``, ``RandomResizedCrop``, ``Grayscale``), and of the functions
for tensors of ``torchvision.transforms`` (colours, tones, sharpness). ``transforms.v2``, whose
names these are, rounds some values otherwise, by 1. ``executor --list_ops TYPE`` says what holds
for each operator.

Source: names of torchvision.transforms.v2.
"""

from millhopper.readers.transforms import (
    AutoAugment,
    CenterCrop,
    ColorJitter,
    Compose,
    Crop,
    CutMix,
    DecodeImage,
    GaussianBlur,
    Grayscale,
    MixUp,
    Normalize,
    Pad,
    RandAugment,
    RandomAdjustSharpness,
    RandomAffine,
    RandomApply,
    RandomAutocontrast,
    RandomChoice,
    RandomCrop,
    RandomEqualize,
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomPosterize,
    RandomResizedCrop,
    RandomRotation,
    RandomSolarize,
    RandomVerticalFlip,
    Resize,
    ToCHW,
    TrivialAugmentWide,
)

__all__ = [
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "Crop",
    "CutMix",
    "DecodeImage",
    "GaussianBlur",
    "Grayscale",
    "MixUp",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "ToCHW",
    "TrivialAugmentWide",
]
