#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators/text/tokens/unicode_ranges.cc: the letters and numbers of Unicode 16.0.

The version is that of the regular expressions that tiktoken 0.14 splits text with. To write it
again, in a virtual environment::

    pip install unicodedata2==16.0.0
    tools/dev/unicode_classes.py > operators/text/tokens/unicode_ranges.cc
    clang-format -i operators/text/tokens/unicode_ranges.cc
"""

from __future__ import annotations

import sys

import unicodedata2

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made by tools/dev/unicode_classes.py from Unicode 16.0.0.
#include "operators/text/tokens/unicode_classes.h"

namespace millhopper {
"""


def ranges(category: str) -> list[tuple[int, int]]:
    """First and last code point of each run of a general category, such as L."""
    found: list[tuple[int, int]] = []
    for point in range(sys.maxunicode + 1):
        if unicodedata2.category(chr(point))[0] != category:
            continue
        if found and found[-1][1] == point - 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found


def main() -> None:
    if unicodedata2.unidata_version != "16.0.0":
        raise SystemExit(f"unicodedata2 is {unicodedata2.unidata_version}; 16.0.0 is needed")
    print(HEAD)
    for name, category in (("LetterRanges", "L"), ("NumberRanges", "N")):
        print(f"const std::vector<CodePointRange>& {name}() {{")
        print("  static const auto* const ranges = new std::vector<CodePointRange>{")
        print(",".join(f"{{0x{first:x}, 0x{last:x}}}" for first, last in ranges(category)))
        print("};\n  return *ranges;\n}\n")
    print("}  // namespace millhopper")


if __name__ == "__main__":
    main()
