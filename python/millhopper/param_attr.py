# SPDX-License-Identifier: Apache-2.0
"""``ParamAttr`` under PaddlePaddle's module name; the code is in ``programs.param_attr``."""

from millhopper.programs.param_attr import ParamAttr

__all__ = ["ParamAttr"]
