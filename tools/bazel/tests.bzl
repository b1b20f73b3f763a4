# SPDX-License-Identifier: Apache-2.0
"""test_programs() and program_test(): tests of one source each, which share programs.

To compile the tests of sixteen sources as one takes less than half of the time, and to link them once
instead of sixteen times a tenth. Each test is still run alone, in a process of its own: it is the shared
program under the name of the test, and runs what is in the source of that name (tests/test_main.cc).
"""

load("//tools/bazel:room.bzl", "joined")

def _program_test(ctx):
    test = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = test, target_file = ctx.executable.program, is_executable = True)
    runfiles = ctx.runfiles(files = ctx.files.data + [test], collect_data = True)
    return [DefaultInfo(executable = test, runfiles = runfiles)]

program_test = rule(
    implementation = _program_test,
    doc = "A program, called by the name of this test.",
    attrs = {
        "program": attr.label(executable = True, cfg = "target", mandatory = True),
        "data": attr.label_list(allow_files = True),
    },
    test = True,
)

def test_programs(name_of, tags_of, alone, deps, own_deps, linkopts):
    """Programs for tests: one for sixteen tests that have the same tags, as some builds have but those.

    With --define=sources=single, each test has its own.

    Args:
      name_of: {source: name of the test}
      tags_of: {source: tags of the test}
      alone: names of tests that share no program.
      deps: what all tests need.
      own_deps: {name of a test: what it needs besides}; these are alone, too.
      linkopts: of all programs.

    Returns:
      {source: its program}
    """
    programs = {}
    kinds = {}
    for source, name in name_of.items():
        programs[source] = name + "_alone"
        native.cc_binary(
            name = name + "_alone",
            srcs = [source],
            linkopts = linkopts,
            tags = ["manual"],
            deps = deps + own_deps.get(name, []),
        )
        if name not in alone and name not in own_deps:
            kinds.setdefault("_".join(tags_of[source] + ["tests"]), []).append(source)
    for kind, found in kinds.items():
        for source, some in joined(kind, found).items():
            program = source[:-len(".cc")]
            native.cc_binary(
                name = program,
                srcs = [source],
                linkopts = linkopts,
                tags = ["manual"],
                deps = deps,
            )
            for one in some:
                programs[one] = select({
                    "//tools/bazel:single": name_of[one] + "_alone",
                    "//conditions:default": program,
                })
    return programs
