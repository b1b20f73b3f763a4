# SPDX-License-Identifier: Apache-2.0
"""What all other rooms use: checked integers, places, and what a forked process may do."""
