# SPDX-License-Identifier: Apache-2.0
"""Readers of other projects and ours, for tools/bench_peers."""
