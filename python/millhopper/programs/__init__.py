# SPDX-License-Identifier: Apache-2.0
"""What builds programs: blocks, variables, operators, gradients, optimizers."""
