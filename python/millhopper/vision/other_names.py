# SPDX-License-Identifier: Apache-2.0
"""What to type instead of the names that torchvision and albumentations have for transforms."""

from __future__ import annotations

_FLOATS = (
    "Normalize(mean, std) makes float32 of 0 to 1, less mean and by std, ToCHW() puts channels "
    "first, and reader.torch() yields tensors"
)
_COLOURS = "ColorJitter(brightness, contrast, saturation, hue) changes colours"
_FUNCTION = "a function in Python is called by reader.map(function)"
_DECODED = "DecodeImage() makes arrays of the bytes of images, as all transforms take them"
_AFFINE = "RandomAffine(degrees, translate=..., scale=...) moves, turns and scales"
_BOXES = 'reader.convert_boxes("boxes", ...) changes the notation of boxes'

OTHER_NAMES = {
    "Affine": _AFFINE,
    "BasicTransform": _FUNCTION,
    "Blur": "GaussianBlur(kernel_size) blurs",
    "CoarseDropout": "RandomErasing(p) erases a rectangle",
    "ConvertBoundingBoxFormat": _BOXES,
    "ConvertImageDtype": _FLOATS,
    "Cutout": "RandomErasing(p) erases a rectangle",
    "Equalize": "RandomEqualize(p) equalizes",
    "Flip": "RandomHorizontalFlip(p) and RandomVerticalFlip(p) mirror",
    "GaussNoise": "GaussianNoise(sigma=...) adds noise",
    "HorizontalFlip": "RandomHorizontalFlip(p) mirrors",
    "HueSaturationValue": _COLOURS,
    "ImageCompression": "JPEG(quality) compresses",
    "Lambda": _FUNCTION,
    "LongestMaxSize": 'Resize(size, side="long") makes the long side of this size',
    "OneOf": "RandomChoice([...]) draws one of several",
    "PadIfNeeded": "Pad(padding) pads, and RandomCrop(size, pad_if_needed=True) what is smaller",
    "PILToTensor": _FLOATS,
    "RandomBrightnessContrast": _COLOURS,
    "RandomResize": "RandomShortestSize(sizes) draws a size",
    "RandomRotate90": "RandomRotation(degrees) turns",
    "Rotate": "RandomRotation(degrees) turns",
    "Sequential": "Compose([...]) applies one after another",
    "ShiftScaleRotate": _AFFINE,
    "SmallestMaxSize": "Resize(size) makes the short side of this size",
    "SomeOf": "RandomApply([...], p) applies several or none",
    "ToDtype": _FLOATS,
    "ToFloat": _FLOATS,
    "ToImage": _DECODED,
    "ToPILImage": _DECODED,
    "ToTensor": _FLOATS,
    "ToTensorV2": _FLOATS,
    "Transform": _FUNCTION,
    "VerticalFlip": "RandomVerticalFlip(p) mirrors",
}
