# SPDX-License-Identifier: Apache-2.0
"""What runs: executors, training loops, and what holds for the whole process."""
