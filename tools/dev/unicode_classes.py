#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators/text/unicode/unicode_ranges.cc: what tokenizers ask of Unicode.

Categories are those of Unicode 16.0, as in the regular expressions of tiktoken 0.14 and
tokenizers 0.23. Of normalization, and of what BERT calls punctuation, tokenizers has older
versions, 9.0 and 8.0; what was added since is told by ages. Small letters are those of
Unicode 17.0. To write it again, in a virtual environment::

    pip install unicodedataplus==16.0.0
    tools/dev/unicode_classes.py > operators/text/unicode/unicode_ranges.cc
    clang-format -i operators/text/unicode/unicode_ranges.cc
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import unicodedataplus as unicode

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made by tools/dev/unicode_classes.py from Unicode 16.0.0.
#include "operators/text/unicode/unicode_classes.h"
#include "operators/text/unicode/unicode_normal.h"

namespace millhopper {
"""
# In the order of the enum Category.
CATEGORIES = (
    "Cn Cc Cf Co Cs Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp"
).split()
NEXT_LINE = len(CATEGORIES)
# What has a small letter since Unicode 15, and is not in Python's tables: first, last, small one.
NEWER_LOWER = (
    (0x1C89, 0x1C89, 0x1C8A),
    (0xA7CB, 0xA7CB, 0x264),
    (0xA7CC, 0xA7CC, 0xA7CD),
    (0xA7CE, 0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2, 0xA7D3),
    (0xA7D4, 0xA7D4, 0xA7D5),
    (0xA7DA, 0xA7DA, 0xA7DB),
    (0xA7DC, 0xA7DC, 0x19B),
    (0x10D50, 0x10D65, 0x10D70),
    (0x16EA0, 0x16EB8, 0x16EBB),
)


def category(point: int) -> int:
    return NEXT_LINE if point == 0x85 else CATEGORIES.index(unicode.category(chr(point)))


def age(point: int) -> int:
    """0 up to Unicode 8.0, 1 for 9.0, 2 for later ones."""
    text = unicode.age(chr(point))
    number = 99.0 if text in ("NA", "Unassigned") else float(text)
    return 0 if number <= 8 else 1 if number <= 9 else 2


def runs(value: Callable[[int], int], shift: int) -> list[int]:
    """The first code point of each run of one value, and the value."""
    found: list[int] = []
    before = -1
    for point in range(sys.maxunicode + 1):
        now = value(point)
        if now != before:
            found.append(point << shift | now)
        before = now
    return found


def ages() -> list[int]:
    """As runs(); what is not assigned has the age of what is before it."""
    last = 0

    def value(point: int) -> int:
        nonlocal last
        if category(point) != 0:
            last = age(point)
        return last

    return runs(value, 2)


def decompositions() -> list[int]:
    numbers: list[int] = []
    for point in range(sys.maxunicode + 1):
        fields = unicode.decomposition(chr(point)).split()
        if not fields or age(point) > 1:
            continue
        compatible = fields[0].startswith("<")
        points = [int(field, 16) for field in fields[compatible:]]
        canonical = "".join(map(chr, points))
        composes = len(points) == 2 and not compatible
        composes = composes and unicode.normalize("NFC", canonical) == chr(point)
        numbers.append(point << 8 | len(points) << 2 | composes << 1 | compatible)
        numbers += points
    return numbers


def lower_cases() -> list[tuple[int, int, int, int]]:
    pairs = {}
    for point in range(0x80, sys.maxunicode + 1):
        small = chr(point).lower()
        if small != chr(point) and len(small) == 1:
            pairs[point] = ord(small)
    for first, last, small in NEWER_LOWER:
        pairs.update({point: small + point - first for point in range(first, last + 1)})
    found: list[tuple[int, int, int, int]] = []
    for point, small in sorted(pairs.items()):
        shift = small - point
        if found:
            first, last, step, before = found[-1]
            if shift == before and point - last in ((1, 2) if first == last else (step,)):
                found[-1] = (first, point, point - last, shift)
                continue
        found.append((point, point, 1, shift))
    for before, after in zip(found, found[1:]):
        if before[1] >= after[0]:
            raise SystemExit(f"capital letters {before} and {after} overlap")
    return found


def print_array(kind: str, name: str, count: str, items: Iterable[str]) -> None:
    items = list(items)
    print(f"const {kind} {name}[] = {{" + ",".join(items) + "};")
    print(f"const size_t {count} = {len(items)};\n")


def main() -> None:
    if unicode.unidata_version != "16.0.0":
        raise SystemExit(f"unicodedataplus is {unicode.unidata_version}; 16.0.0 is needed")
    print(HEAD)
    combining = runs(lambda p: unicode.combining(chr(p)) if age(p) < 2 else 0, 8)
    for name, count, numbers in (
        ("kCategoryRuns", "kCategoryRunCount", runs(category, 5)),
        ("kAgeRuns", "kAgeRunCount", ages()),
        ("kCombiningRuns", "kCombiningRunCount", combining),
        ("kDecompositions", "kDecompositionsSize", decompositions()),
    ):
        print_array("uint32_t", name, count, (f"{number:#x}" for number in numbers))
    lower = (f"{{{a:#x}, {b:#x}, {step}, {shift}}}" for a, b, step, shift in lower_cases())
    print_array("LowerCase", "kLowerCases", "kLowerCaseCount", lower)
    print("}  // namespace millhopper")


if __name__ == "__main__":
    main()
