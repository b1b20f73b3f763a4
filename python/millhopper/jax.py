# SPDX-License-Identifier: Apache-2.0
"""Batches as JAX arrays: ``Reader.jax()``. Importing this module imports JAX."""

from millhopper.readers.jax import JaxReader

__all__ = ["JaxReader"]
