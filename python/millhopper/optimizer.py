# SPDX-License-Identifier: Apache-2.0
"""Optimizers under PaddlePaddle's module name; the code is in ``programs.optimizer``."""

from millhopper.programs.optimizer import (
    SGD,
    Adam,
    AdamOptimizer,
    Momentum,
    MomentumOptimizer,
    Optimizer,
    SGDOptimizer,
)

__all__ = [
    "Adam",
    "AdamOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "Optimizer",
    "SGD",
    "SGDOptimizer",
]
