# SPDX-License-Identifier: Apache-2.0
"""Passes data from Python to the core: fed values, queues with a provider, RecordIO files."""
