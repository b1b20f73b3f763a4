# SPDX-License-Identifier: Apache-2.0
"""Readers that are functions of Python: decorators, threads, processes, pipes."""
