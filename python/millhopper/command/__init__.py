# SPDX-License-Identifier: Apache-2.0
"""What ``python -m millhopper`` prints: the catalog of operators and formats, the reference."""
