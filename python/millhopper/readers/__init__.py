# SPDX-License-Identifier: Apache-2.0
"""Readers of the core as Python has them: class Reader, its methods, its torch and JAX views."""
