#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators/text/unicode/unicode_ranges.cc: what tokenizers ask of Unicode.

Categories are those of Unicode 16.0, as in the regular expressions of tiktoken 0.14 and
tokenizers 0.23. Of normalization, and of what BERT calls punctuation, tokenizers has older
versions, 9.0 and 8.0; what was added since is told by ages. Small letters and grapheme clusters
are those of Unicode 17.0. To write it again, in a virtual environment::

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
#include "operators/text/unicode/graphemes.h"
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


# In the order of the enum Joins of graphemes.cc.
JOINS = (
    "Other Control Extend InExtend InLinker ZWJ InConsonant Pictograph Prepend SpacingMark "
    "Regional_Indicator L V T Hangul CR LF"
).split()
# What joins others in another way since Unicode 17.0, as tokenizers has it, or is a control or a
# pictograph before it is assigned.
NEWER_JOINS = {
    "Control": "2065 FFF0-FFF8 E0000 E0002-E001F E0080-E00FF E01F0-E0FFF",
    "Other": """
        11A3A 2388 2605 2607-260D 260F-2610 2612 2616-2617 2619-261C 261E-261F 2621 2624-2625
        2627-2629 262B-262D 2630-2637 263B-263F 2641 2643-2647 2654-265E 2661-2662 2664 2667
        2669-267A 267C-267D 2680-2685 2690-2691 2698 269A 269D-269F 26A2-26A6 26A8-26A9
        26AC-26AF 26B2-26BC 26BF-26C3 26C6-26C7 26C9-26CD 26D0 26D2 26D5-26E8 26EB-26EF 26F6
        26FB-26FC 26FE-2701 2703-2704 270E 2710-2711 2765-2767 1F000-1F003 1F005-1F0CE
        1F10D-1F10F 1F12F 1F16C-1F16F 1F1AD-1F1E5 1F322-1F323 1F394-1F395 1F398 1F39C-1F39D
        1F3F1-1F3F2 1F3F6 1F4FE 1F546-1F548 1F54F 1F568-1F56E 1F571-1F572 1F57B-1F586
        1F588-1F589 1F58E-1F58F 1F591-1F594 1F597-1F5A3 1F5A6-1F5A7 1F5A9-1F5B0 1F5B3-1F5BB
        1F5BD-1F5C1 1F5C5-1F5D0 1F5D4-1F5DB 1F5DF-1F5E0 1F5E2 1F5E4-1F5E7 1F5E9-1F5EE
        1F5F0-1F5F2 1F5F4-1F5F9 1F6C6-1F6CA 1F6D3-1F6D4 1F6E6-1F6E8 1F6EA 1F6F1-1F6F2
        1F774-1F776 1F77B-1F77F 1F7D5-1F7DF 1FA00-1FA53
    """,
    "InExtend": """
        1ACF-1ADD 1AE0-1AEB 10EFA-10EFB 11B60 11B62-11B64 11B66 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5
    """,
    "InLinker": """
        1039 17D2 1A60 1B44 1BAB A9C0 AAF6 10A3F 11133 113D0 1193E 11A47 11A99 11F42
    """,
    "InConsonant": """
        1000-102A 103F 1050-1055 105A-105D 1061 1065-1066 106E-1070 1075-1081 108E 1780-17B3
        1A20-1A54 1B0B-1B0C 1B13-1B33 1B45-1B4C 1B83-1BA0 1BAE-1BAF 1BBB-1BBD A989-A98B
        A98F-A9B2 A9E0-A9E4 A9E7-A9EF A9FA-A9FE AA60-AA6F AA71-AA73 AA7A AA7E-AA7F AAE0-AAEA
        ABC0-ABDA 10A00 10A10-10A13 10A15-10A17 10A19-10A35 11103-11126 11144 11147 11380-11389
        1138B 1138E 11390-113B5 11900-11906 11909 1190C-11913 11915-11916 11918-1192F 11A00
        11A0B-11A32 11A50 11A5C-11A83 11F04-11F10 11F12-11F33
    """,
    "Pictograph": """
        1F0D0-1F0FF 1F203-1F20F 1F23C-1F23F 1F249-1F24F 1F252-1F2FF 1F6D8-1F6DB 1F6ED-1F6EF
        1F6FD-1F6FF 1F7EC-1F7EF 1F7F1-1F7FF 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F
        1F8AE-1F8CF 1F8D9-1F8FF 1FA58-1FA6F 1FA7D-1FA7F 1FA8A-1FA8E 1FAC7-1FACD 1FADD-1FADE
        1FAEA-1FAEF 1FAF9-1FAFF 1FC00-1FFFD
    """,
    "SpacingMark": """
        11B61 11B65 11B67
    """,
}


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


def newer_joins() -> dict[int, str]:
    newer: dict[int, str] = {}
    for way, ranges in NEWER_JOINS.items():
        for one in ranges.split():
            first, _, last = one.partition("-")
            newer.update({p: way for p in range(int(first, 16), int(last or first, 16) + 1)})
    return newer


def joins(point: int, newer: dict[int, str]) -> int:
    """How a code point joins others to a grapheme cluster."""
    if point in newer:
        return JOINS.index(newer[point])
    character = chr(point)
    found: str = unicode.grapheme_cluster_break(character)
    conjunct: str = unicode.indic_conjunct_break(character)
    if found in ("LV", "LVT"):
        found = "Hangul"
    elif found in ("Extend", "Other") and conjunct != "None":
        found = f"In{conjunct}"
    elif unicode.is_extended_pictographic(character):
        if found != "Other":
            raise SystemExit(f"{point:#x} is a pictograph and {found}")
        found = "Pictograph"
    return JOINS.index(found)


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


def scripts() -> tuple[list[tuple[str, str]], list[int]]:
    """Names of scripts with their abbreviations, and runs of their numbers from 1 on."""
    found = [unicode.script(chr(point)) for point in range(sys.maxunicode + 1)]
    aliases = unicode.property_value_aliases["script"]
    names = sorted(set(found) - {"Unknown"})
    if len(names) > 255:
        raise SystemExit(f"{len(names)} scripts do not fit 8 bits")
    number = {name: i + 1 for i, name in enumerate(names)}
    both = [(name, aliases[name][0]) for name in names]
    return both, runs(lambda point: number.get(found[point], 0), 8)


def print_array(kind: str, name: str, count: str, items: Iterable[str]) -> None:
    items = list(items)
    print(f"const {kind} {name}[] = {{" + ",".join(items) + "};")
    print(f"const size_t {count} = {len(items)};\n")


def main() -> None:
    if unicode.unidata_version != "16.0.0":
        raise SystemExit(f"unicodedataplus is {unicode.unidata_version}; 16.0.0 is needed")
    print(HEAD)
    newer = newer_joins()
    combining = runs(lambda p: unicode.combining(chr(p)) if age(p) < 2 else 0, 8)
    for name, count, numbers in (
        ("kCategoryRuns", "kCategoryRunCount", runs(category, 5)),
        ("kAgeRuns", "kAgeRunCount", ages()),
        ("kCombiningRuns", "kCombiningRunCount", combining),
        ("kDecompositions", "kDecompositionsSize", decompositions()),
        ("kGraphemeRuns", "kGraphemeRunCount", runs(lambda p: joins(p, newer), 5)),
    ):
        print_array("uint32_t", name, count, (f"{number:#x}" for number in numbers))
    names, script_runs = scripts()
    print_array(
        "Script", "kScripts", "kScriptCount", (f'{{"{name}", "{short}"}}' for name, short in names)
    )
    print_array(
        "uint32_t", "kScriptRuns", "kScriptRunCount", (f"{number:#x}" for number in script_runs)
    )
    lower = (f"{{{a:#x}, {b:#x}, {step}, {shift}}}" for a, b, step, shift in lower_cases())
    print_array("LowerCase", "kLowerCases", "kLowerCaseCount", lower)
    print("}  // namespace millhopper")


if __name__ == "__main__":
    main()
