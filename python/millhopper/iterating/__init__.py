# SPDX-License-Identifier: Apache-2.0
"""Loops over batches of the core: Reader, DataLoader, and their torch and JAX views."""
