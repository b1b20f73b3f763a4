# SPDX-License-Identifier: Apache-2.0
"""``PyReader`` under PaddlePaddle's module name; the code is in ``feeding.py_reader``."""

from millhopper.feeding.py_reader import PyReader

__all__ = ["PyReader"]
