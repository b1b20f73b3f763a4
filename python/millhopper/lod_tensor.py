# SPDX-License-Identifier: Apache-2.0
"""LoDTensors of lists, under PaddlePaddle's module name; the code is in ``feeding.lod_tensor``."""

from millhopper.feeding.lod_tensor import create_lod_tensor, create_random_int_lodtensor

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]
