# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors: ``Reader.torch()``. Importing this module imports torch."""

from millhopper.readers.torch import TorchReader

__all__ = ["TorchReader"]
