#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins C++ sources to one, which takes less than half of their time to compile.

  tools/dev/joined_sources.py SOURCE...     prints it

Most of the time for a source is spent on headers, and on functions of headers that each source
compiles anew. Sources of ours can be joined, since what has the same name in two of them lies in
unnamed namespaces, whose names are made different here. This looks at lines, not at C++: a source
that cannot be joined with others has to be compiled alone (`alone` of room(), clang_tidy.py).
"""

import pathlib
import re
import sys

# Functions that many programs define, each its own.
PROGRAM_WIDE = {"main", "LLVMFuzzerTestOneInput", "LLVMFuzzerCustomMutator"}
# Texts (raw ones, too), letters, comments and directives.
NO_NAMES = r'R"(?:\(.*?\))"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|^#[^\n]*'
# Nor are names of tests and of their suites, which some commands name.
NO_NAMES += r"|^(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\(\s*\w+,\s*\w+"
# Found by its argument: gtest prints values with it.
BY_ARGUMENT = {"PrintTo"}
KEYWORDS = {"const", "false", "nullptr", "sizeof", "static_assert", "true", "using", "void"}


def own_names(text):
    """Names that a source shares with no other: those of its unnamed namespaces, as far as lines
    tell, and functions of the whole program.
    """
    names = {name for name in PROGRAM_WIDE if name in text}
    for namespace in re.findall(r"^namespace \{$.*?^\}  // namespace$", text, re.M | re.S):
        for line in re.findall(r"^(?!namespace\b|using namespace\b)[A-Za-z[].*", namespace, re.M):
            if line.startswith("static_assert") or "operator" in line:
                continue
            found = re.findall(r"(?<!::)\b(\w+)(?=(?: final| [:={]|[({[;]))", line)
            name = next((name for name in found if name not in KEYWORDS), None)
            # What is all in capitals is a macro, which many files use.
            if name and not name.isupper() and name not in BY_ARGUMENT:
                names.add(name)
    # A suite's name is that of a class.
    return names - set(re.findall(r"^TEST_[FP]\((\w+)", text, re.M))


def joined(sources, say_lines=False):
    """The text of several sources as one, in which the own names of each are different.

    `say_lines`: what a compiler says of a line, or notes for debuggers, is about the source.
    """
    texts = []
    for number, source in enumerate(sources):
        text = pathlib.Path(source).read_text()
        if names := "|".join(sorted(own_names(text))):
            # Members and names of other namespaces stay.
            name = re.compile(
                rf"({NO_NAMES})|(?<![.:>\w])((?:millhopper::)?)({names})\b", re.M | re.S
            )
            text = name.sub(lambda m, n=number: m[1] or f"{m[2]}{m[3]}_{n}", text)
            # A constructor or destructor has the name of its class.
            text = re.sub(rf"\b(({names})_{number}::~?)\2\b", rf"\1\2_{number}", text)
        texts.append(f'#line 1 "{source}"\n{text}' if say_lines else text)
    return "".join(texts)


if __name__ == "__main__":
    sys.stdout.write(joined(sys.argv[1:], say_lines=True))
