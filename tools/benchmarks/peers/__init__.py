# SPDX-License-Identifier: Apache-2.0
"""Readers of other projects and ours, for tools/benchmarks/bench_peers."""
