#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over our C++ sources, as bazel compiles them.

  tools/dev/clang_tidy.py [FILE...]                   all sources, or those named
  tools/dev/clang_tidy.py --only_compile_commands     just write compile_commands.json

Writes compile_commands.json (clangd reads it too). A file that was clean is checked again
only after a change of the file, of a header of ours that it includes, of the list of checks
or of its command line.

Files that can be compiled as one (joined_sources.py) are checked as one. One that does not go with
the others is checked alone. If a check finds anything, each half is checked by itself, and so on
down to single files. So what is reported is always what a file alone has.
"""

import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from joined_sources import joined

CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "millhopper/tidy"
LISTS_OF_CHECKS = [".clang-tidy", "tests/.clang-tidy"]
# Options that clang does not know; and -Werror, because gcc reports the warnings.
NOT_FOR_CLANG = {
    "-fno-canonical-system-headers",
    "-fvect-cost-model=dynamic",
    "-Wno-dangling-pointer",
    "-Wno-free-nonheap-object",
    "-Wno-subobject-linkage",
    "-Werror",
}
# What gcc does not know: framework/base/thread_annotations.h says what it is for.
ONLY_FOR_CLANG = ["-Wthread-safety"]
GROUP_SIZE = 48


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def bazel(command, *arguments):
    return output("bazel", command, "--noshow_progress", "--ui_event_filters=-info", *arguments)


def compile_commands(root):
    """{source: arguments} of every C++ source that is ours and not generated."""
    single = "--define=sources=single"  # not joined by bazel
    # Generates what the sources include.
    generated = [
        "//proto/...",
        "//operators/text/tokens:sentence_piece_cc",
        "//tests:readme/resume.cc",
    ]
    bazel("build", single, *generated)
    # What the executor makes is taken from the build that has one.
    bazel("build", "-c", "opt", "//operators/fluent:reader_methods")
    optimised = ["-iquote", bazel("info", "-c", "opt", "bazel-bin").strip()]
    external = bazel("info", "output_base").strip() + "/external/"
    actions = bazel("aquery", single, "--output=jsonproto", 'mnemonic("CppCompile", //...)')
    commands = {}
    for action in json.loads(actions).get("actions", []):
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1] if "-c" in arguments else ""
        if os.path.exists(source) and not source.startswith(("bazel-out/", "external/")):
            kept = [
                re.sub("^external/", external, argument)
                for argument, before in zip(arguments, [""] + arguments)
                # Nor what gcc has precompiled: a source includes what it uses itself.
                if argument not in NOT_FOR_CLANG and "-include" not in (argument, before)
            ]
            commands[source] = [kept[0], *ONLY_FOR_CLANG, *kept[1:], *optimised]
    entries = [
        {"directory": root, "file": source, "arguments": arguments}
        for source, arguments in sorted(commands.items())
    ]
    pathlib.Path("compile_commands.json").write_text(json.dumps(entries, indent=1))
    return commands


@functools.cache
def content_and_includes(path):
    content = pathlib.Path(path).read_bytes()
    names = re.findall(rb'^#include "([^"]+)"', content, re.MULTILINE)
    return content, [n.decode() for n in names if os.path.exists(n)]


def fingerprint(source, arguments, common):
    """A hash of everything that decides what clang-tidy says about a source."""
    # Absolute paths differ in every checkout and do not change the result.
    stable = [a for a in arguments if not a.startswith("/")]
    digest = hashlib.sha256(common + json.dumps(stable).encode())
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            content, includes = content_and_includes(path)
            digest.update(path.encode() + b"\0" + content)
            todo += includes
    return digest.hexdigest()


def grouped(sources, commands):
    """Lists of sources that have the same options and the same list of checks."""
    alike = collections.defaultdict(list)
    for source in sources:
        options = [
            a
            for a in commands[source]
            # Where a target finds its corpus is no difference.
            if a != source and "/_objs/" not in a and not a.startswith("-DFUZZ_CORPUS=")
        ]
        alike[source.startswith("tests/"), tuple(options)].append(source)
    return [
        group[start : start + GROUP_SIZE]
        for group in alike.values()
        for start in range(0, len(group), GROUP_SIZE)
    ]


def check_together(group, arguments):
    """Runs clang-tidy on sources that are compiled as one.

    Returns whether it finds nothing, and the source with the first error of the compiler, if any.
    """
    with tempfile.TemporaryDirectory() as folder:
        # We set no options of checks, and clang-tidy does not take all that it prints of them.
        config = output("clang-tidy", "--dump-config", group[0], "--").split("CheckOptions:")[0]
        pathlib.Path(folder, ".clang-tidy").write_text(config)
        text = pathlib.Path(folder, "joined.cc")
        text.write_text(joined(group))
        options = arguments[1 : arguments.index("-c")]
        command = ["clang-tidy", "--quiet", str(text), "--", *options]
        result = subprocess.run(command, capture_output=True, text=True)
    error = re.search(r"joined\.cc:(\d+):.* error: .*\[clang-diagnostic-error\]", result.stdout)
    line = int(error[1]) if error else 0
    for source in group if line else []:
        line -= len(content_and_includes(source)[0].splitlines())
        if line <= 0:
            return False, source
    return result.returncode == 0, None


def findings(group, commands, marks):
    """Runs clang-tidy on sources of one group; returns a text for each that is not clean."""
    if len(group) > 1:
        clean, stranger = check_together(group, commands[group[0]])
        if stranger:
            parts = [[stranger], [source for source in group if source != stranger]]
        elif not clean:
            parts = [group[: len(group) // 2], group[len(group) // 2 :]]
        else:
            parts = []
        if parts:
            return [text for part in parts for text in findings(part, commands, marks)]
    else:
        result = subprocess.run(
            ["clang-tidy", "-p", ".", "--quiet", *group], capture_output=True, text=True
        )
        if result.returncode:
            return [result.stdout or result.stderr]
    for source in group:
        marks[source].touch()
    return []


def main():
    root = str(pathlib.Path(__file__).resolve().parents[2])
    os.chdir(root)
    commands = compile_commands(root)
    if sys.argv[1:] == ["--only_compile_commands"]:
        return 0
    chosen = set(sys.argv[1:]) or set(commands)
    common = output("clang-tidy", "--version").encode()
    common += b"".join(pathlib.Path(file).read_bytes() for file in LISTS_OF_CHECKS)
    CLEAN.mkdir(parents=True, exist_ok=True)
    known = sorted(chosen & set(commands))
    marks = {s: CLEAN / fingerprint(s, commands[s], common) for s in known}
    todo = [source for source in known if not marks[source].exists()]
    print(f"clang-tidy: {len(todo)} files to check, {len(chosen) - len(todo)} known to be clean")
    sys.stdout.flush()
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        groups = grouped(todo, commands)
        for said in pool.map(lambda group: findings(group, commands, marks), groups):
            for text in said:
                failed = True
                print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
