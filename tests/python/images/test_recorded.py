# SPDX-License-Identifier: Apache-2.0
"""The bytes of methods of images, as they were when they were compared with torchvision's.

To record them anew, after ``test_torchvision.py`` has passed::

    MILLHOPPER_RECORD=1 pytest tests/python/images/test_recorded.py
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import millhopper
import numpy as np
import pytest
from image_cases import CASES, some_images
from millhopper import dataset
from test_vision import png

RECORDED = Path(__file__).with_name("recorded.json")


@pytest.fixture(scope="module")
def decoded(tmp_path_factory: pytest.TempPathFactory) -> millhopper.Reader:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "all").mkdir()
    for i, image in enumerate(some_images()):
        (folder / "all" / f"{i:02d}.png").write_bytes(png(image))
    return dataset.image_folder(folder).decode_image("image")


def test_bytes_are_those_recorded(decoded: millhopper.Reader) -> None:
    made = {}
    for case in CASES:
        images = [np.asarray(element["image"])[0] for element in case.ours(decoded)]
        made[case.name] = " ".join(
            f"{zlib.crc32(bytes(str(image.shape), 'ascii') + image.tobytes()):08x}"
            for image in images
        )
    assert len(made) == len(CASES)
    if os.environ.get("MILLHOPPER_RECORD"):
        RECORDED.write_text(json.dumps(made, indent=1) + "\n")
    assert made == json.loads(RECORDED.read_text())
