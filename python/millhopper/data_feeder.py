# SPDX-License-Identifier: Apache-2.0
"""``DataFeeder`` under PaddlePaddle's module name; the code is in ``feeding.data_feeder``."""

from millhopper.feeding.data_feeder import DataFeeder

__all__ = ["DataFeeder"]
