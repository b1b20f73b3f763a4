# SPDX-License-Identifier: Apache-2.0
"""``layer.data``, as in PaddlePaddle's reader design doc; the code is in ``layers.brief_data``."""

from millhopper.layers.brief_data import data

__all__ = ["data"]
