# SPDX-License-Identifier: Apache-2.0
"""Methods of images with what torchvision and Pillow have for them.

``test_torchvision.py`` compares the two where torchvision is installed; ``test_recorded.py``
expects the bytes that were equal to theirs, or as near as it says here, in ``recorded.json``.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from millhopper import Reader

CORNERS = [[0, 0], [39, 0], [39, 39], [0, 39]]
SEEN = [[5, 3], [36, 0], [33, 38], [1, 35]]
FILTERS = {"nearest": 0, "bilinear": 2, "bicubic": 3}  # Pillow's numbers
# Turned so that an edge lies outside of the image, and back.
FAR = [[-20, 8], [30, -5], [60, 50], [4, 33]]


@dataclasses.dataclass
class Case:
    """A method, and what has the same name in torchvision (``v2`` is its functional)."""

    name: str
    ours: Callable[[Reader], Reader]
    theirs: Callable[[Any, Any], Any]  # of v2 and of a tensor uint8 [3, h, w]
    most: int = 0  # how far values may be from theirs
    share: float = 0.0  # how many of them


def some_images() -> list[np.ndarray]:
    """Smooth images, some of few tones, and noise, of odd and even sizes."""
    state = 1
    made = []
    for height, width in [(64, 96), (61, 97), (40, 41), (50, 133)]:
        y, x = np.mgrid[:height, :width]
        waves = [(x * (3 + c) + y * (2 * c - 1)) % 254 for c in range(3)]
        smooth = np.stack([np.minimum(wave, 254 - wave) * 2 for wave in waves], axis=-1)
        noise = np.empty(smooth.size, np.int64)
        for i in range(noise.size):  # the same with any version of numpy
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            noise[i] = state >> 16 & 255
        noise = noise.reshape(smooth.shape)
        made += [image.astype(np.uint8) for image in (smooth, smooth // 3 + noise // 32, noise)]
    return made


def _perspective_cases() -> list[Case]:
    cases = []
    for filter, most, share in [("nearest", 255, 0.0002), ("bilinear", 1, 0.02)]:
        for name, corners in [("seen", SEEN), ("far", FAR)]:
            cases.append(
                Case(
                    f"perspective {name} {filter}",
                    functools.partial(
                        Reader.perspective,
                        startpoints=CORNERS,
                        endpoints=corners,
                        interpolation=filter,
                    ),
                    lambda v2, image, corners=corners, filter=filter: v2.perspective(
                        image, CORNERS, corners, FILTERS[filter]
                    ),
                    most,
                    share,
                )
            )
    return cases


def _rotation_cases() -> list[Case]:
    cases = []
    for degrees in (3.0, 45.0, 90.0, -117.0):
        for filter, most, share in [("nearest", 255, 0.0002), ("bilinear", 1, 0.02)]:
            if degrees == 90 and filter == "nearest":
                share = 0.02  # places lie between two pixels
            cases.append(
                Case(
                    f"rotation {degrees} {filter} expand",
                    functools.partial(
                        Reader.random_rotation,
                        degrees=(degrees, degrees),
                        interpolation=filter,
                        expand=True,
                    ),
                    lambda v2, image, degrees=degrees, filter=filter: v2.rotate(
                        image, degrees, FILTERS[filter], expand=True
                    ),
                    most,
                    share,
                )
            )
    return cases


def _of_pillow(change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A change of Pillow's images as one of tensors."""
    return lambda v2, image: v2.pil_to_tensor(change(v2.to_pil_image(image)))


CASES = [
    *_perspective_cases(),
    *_rotation_cases(),
    Case(
        "rotation bicubic",
        lambda reader: reader.random_rotation((35, 35), interpolation="bicubic"),
        _of_pillow(lambda image: image.rotate(35, FILTERS["bicubic"])),
        1,
        0.0001,  # places have 24 bits after the point
    ),
    Case(
        "resize to a longest side",
        lambda reader: reader.resize(40, max_size=50, interpolation="nearest"),
        lambda v2, image: v2.pil_to_tensor(v2.resize(v2.to_pil_image(image), [40], 0, 50)),
    ),
    *(
        Case(
            f"jpeg {quality}",
            functools.partial(Reader.jpeg, quality=quality),
            lambda v2, image, quality=quality: v2.jpeg(image, quality),
            1,  # both have a libjpeg-turbo of their own
            0.0,
        )
        for quality in (1, 30, 75, 100)
    ),
]
