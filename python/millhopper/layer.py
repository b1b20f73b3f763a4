# SPDX-License-Identifier: Apache-2.0
"""``layer.data``, as the reader design doc writes it; the code is in ``layers.brief_data``."""

from millhopper.layers.brief_data import data

__all__ = ["data"]
