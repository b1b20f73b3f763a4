# SPDX-License-Identifier: Apache-2.0
"""``append_backward`` under PaddlePaddle's module name; the code is in ``programs.backward``."""

from millhopper.programs.backward import append_backward

__all__ = ["append_backward"]
