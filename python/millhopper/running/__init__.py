# SPDX-License-Identifier: Apache-2.0
"""Runs programs: executors, training loops, and settings of the whole process."""
