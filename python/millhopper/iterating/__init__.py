# SPDX-License-Identifier: Apache-2.0
"""What loops over batches of the core: Reader, DataLoader, torch and JAX."""
