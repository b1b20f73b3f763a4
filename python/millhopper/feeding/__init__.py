# SPDX-License-Identifier: Apache-2.0
"""What takes what Python makes to the core: fed values, queues with a provider, RecordIO files."""
