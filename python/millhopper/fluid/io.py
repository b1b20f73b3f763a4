# SPDX-License-Identifier: Apache-2.0
"""``PyReader`` under PaddlePaddle's module name."""

from millhopper.fluid.py_reader import PyReader

__all__ = ["PyReader"]
