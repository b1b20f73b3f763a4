# SPDX-License-Identifier: Apache-2.0
"""What holds for the whole process: settings, threads that read ahead in Python, the exit."""
