# SPDX-License-Identifier: Apache-2.0
"""``batch`` under PaddlePaddle's module name; the code is in ``generators.minibatch``."""

from millhopper.generators.minibatch import batch

__all__ = ["batch"]
