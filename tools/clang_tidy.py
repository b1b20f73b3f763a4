#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over our C++ sources, as bazel compiles them.

  tools/clang_tidy.py [FILE...]                   all sources, or those named
  tools/clang_tidy.py --only_compile_commands     just write compile_commands.json

Writes compile_commands.json (clangd reads it too). A file that was clean is checked again
only after a change of the file, of a header of ours that it includes, of the list of checks
or of its command line.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "millhopper/tidy"
LISTS_OF_CHECKS = [".clang-tidy", "tests/.clang-tidy"]
# Options that clang does not know; and -Werror, because gcc reports the warnings.
NOT_FOR_CLANG = {
    "-fno-canonical-system-headers",
    "-fvect-cost-model=dynamic",
    "-Wno-free-nonheap-object",
    "-Werror",
}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def bazel(command, *arguments):
    return output("bazel", command, "--noshow_progress", "--ui_event_filters=-info", *arguments)


def compile_commands(root):
    """{source: arguments} of every C++ source that is ours and not generated."""
    # Generates the headers that the sources include.
    bazel("build", "//proto/...")
    external = bazel("info", "output_base").strip() + "/external/"
    actions = bazel("aquery", "--output=jsonproto", 'mnemonic("CppCompile", //...)')
    commands = {}
    for action in json.loads(actions).get("actions", []):
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1] if "-c" in arguments else ""
        if os.path.exists(source) and not source.startswith(("bazel-out/", "external/")):
            commands[source] = [
                re.sub("^external/", external, argument)
                for argument in arguments
                if argument not in NOT_FOR_CLANG
            ]
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


def check(source, mark):
    """Runs clang-tidy; returns what it found, or an empty text."""
    result = subprocess.run(
        ["clang-tidy", "-p", ".", "--quiet", source], capture_output=True, text=True
    )
    if result.returncode == 0:
        mark.touch()
        return ""
    return result.stdout or result.stderr


def main():
    root = str(pathlib.Path(__file__).resolve().parent.parent)
    os.chdir(root)
    commands = compile_commands(root)
    if sys.argv[1:] == ["--only_compile_commands"]:
        return 0
    chosen = set(sys.argv[1:]) or set(commands)
    common = output("clang-tidy", "--version").encode()
    common += b"".join(pathlib.Path(file).read_bytes() for file in LISTS_OF_CHECKS)
    CLEAN.mkdir(parents=True, exist_ok=True)
    todo = []
    for source in sorted(chosen & set(commands)):
        mark = CLEAN / fingerprint(source, commands[source], common)
        if not mark.exists():
            todo.append((source, mark))
    print(f"clang-tidy: {len(todo)} files to check, {len(chosen) - len(todo)} known to be clean")
    sys.stdout.flush()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(lambda item: check(*item), todo):
            if said:
                failed += 1
                print(said)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
