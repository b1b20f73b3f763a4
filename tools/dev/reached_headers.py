#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the project's headers that a source file includes, directly or through other headers. A
limit on their number keeps small operators cheap to compile and to read.

    tools/dev/reached_headers.py              checks the limits below
    tools/dev/reached_headers.py FILE ...     lists what these files reach
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Operators that serve as examples: one that uses tensors and one that uses readers.
LIMITS = {"operators/math/mean_op.cc": 8, "operators/readers/read_op.cc": 12}


def included(file: str) -> list[str]:
    """The project's headers that a file includes directly."""
    found = re.findall(r'^#include "([^"]+)"', (ROOT / file).read_text(), re.MULTILINE)
    return [header for header in found if (ROOT / header).exists()]  # the others are generated


def reached(file: str) -> list[str]:
    """The project's headers that a file includes, directly or through other headers."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        for header in included(waiting.pop()):
            if header not in seen:
                seen.add(header)
                waiting.append(header)
    return sorted(seen)


def main() -> int:
    """Lists the headers of the given files; without files checks the limits."""
    if len(sys.argv) > 1:
        for file in sys.argv[1:]:
            headers = reached(file)
            print(f"{file} reaches {len(headers)}:", *headers, sep="\n  ")
        return 0
    broken = 0
    for file, limit in LIMITS.items():
        headers = reached(file)
        if len(headers) > limit:
            print(f"{file} reaches {len(headers)} headers; the limit is {limit}:", *headers)
            broken = 1
    return broken


if __name__ == "__main__":
    sys.exit(main())
