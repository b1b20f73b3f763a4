# SPDX-License-Identifier: Apache-2.0
"""Feeding programs, under the names of the lineage's module ``io``."""

from millhopper.py_reader import PyReader

__all__ = ["PyReader"]
