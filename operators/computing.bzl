# SPDX-License-Identifier: Apache-2.0
"""COMPUTING: the options of operators that compute with values of tensors."""

COMPUTING = [
    # Integers that programs compute with wrap around.
    "-fwrapv",
    # Loops over values need these, which -O2 leaves out. They do not change the order of sums.
    "-ftree-vectorize",
] + select({
    "//tools/bazel:clang": [],
    "//conditions:default": [
        "-funswitch-loops",
        "-fvect-cost-model=dynamic",
    ],
})
