# SPDX-License-Identifier: Apache-2.0
"""Data sets as readers: ``digits`` and ``mnist``, each with ``train`` and ``test``, and images.

    from millhopper import batch, dataset

    for images_and_labels in batch(dataset.digits.train("tools/digits"), 32)():
        ...

``image_folder(folder)`` is a Reader of images in class folders, ``coco(annotations, images)`` one
of images with boxes, labels and outlines, ``voc(root, image_set)`` one of images with boxes.

The files are in a folder that is given, or else in the one that the environment's
``MILLHOPPER_DATA`` names or a folder of it. Nothing is downloaded. Names and items are those of
PaddlePaddle's paddle.dataset, 2018.
"""

from millhopper.dataset import digits, mnist
from millhopper.dataset.coco import coco
from millhopper.dataset.image_folder import image_folder
from millhopper.dataset.voc import voc
from millhopper.readers.other_names import answer_for_module

__all__ = ["coco", "digits", "image_folder", "mnist", "voc"]

_FOLDER = "image_folder(folder) reads images, whose classes are folders"
_COCO = "coco(annotations, images) reads images with boxes, labels and outlines"
_VOC = "voc(root, image_set) reads images with boxes"
_OTHERS = (
    "nothing is downloaded: millhopper.Reader.from_dataset(dataset) reads what torchvision or "
    "another library has downloaded"
)

answer_for_module(
    __name__,
    __all__,
    {
        "CIFAR10": _OTHERS,
        "CIFAR100": _OTHERS,
        "CocoCaptions": _COCO,
        "CocoDetection": _COCO,
        "DatasetFolder": _FOLDER,
        "FashionMNIST": _OTHERS,
        "ImageFolder": _FOLDER,
        "ImageNet": _FOLDER,
        "KMNIST": _OTHERS,
        "MNIST": "mnist.train(folder) and mnist.test(folder) read its files",
        "SVHN": _OTHERS,
        "VOCDetection": _VOC,
        "VOCSegmentation": _VOC,
    },
)
