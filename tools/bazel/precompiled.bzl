# SPDX-License-Identifier: Apache-2.0
"""precompiled_header(): headers that gcc reads once for many sources.

More than half of the time for a source is spent on the headers that it includes. What a precompiled
header holds is in every source that .bazelrc gives it to (--per_file_copt), as if its first line
included it. Sources still include what they use: tools/lint checks them without.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    used = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = used.compilation_context

    # Not a source: gcc looks for the precompiled form beside the header that it finds first.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.expand_template(template = ctx.file.header, output = header, substitutions = {})
    files = [header]
    if not ctx.attr.as_text:
        precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = cc_common.create_compile_variables(
                feature_configuration = features,
                cc_toolchain = toolchain,
                source_file = header.path,
                output_file = precompiled.path,
                user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts +
                                     ctx.attr.copts + ["-x", "c++-header"],
                include_directories = context.includes,
                quote_include_directories = context.quote_includes,
                system_include_directories = context.system_includes,
                use_pic = True,
            ),
        )
        ctx.actions.run(
            executable = cc_common.get_tool_for_action(
                feature_configuration = features,
                action_name = ACTION_NAMES.cpp_compile,
            ),
            arguments = arguments,
            env = cc_common.get_environment_variables(
                feature_configuration = features,
                action_name = ACTION_NAMES.cpp_compile,
                variables = cc_common.empty_variables(),
            ),
            inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
            outputs = [precompiled],
            mnemonic = "CppPrecompile",
        )
        files.append(precompiled)
    own = cc_common.create_compilation_context(headers = depset(files))
    return [
        DefaultInfo(files = depset(files)),
        CcInfo(compilation_context = own),
    ]

precompiled_header = rule(
    implementation = _precompiled_header,
    attrs = {
        "header": attr.label(allow_single_file = [".inc"], mandatory = True),
        "deps": attr.label_list(providers = [CcInfo], doc = "What the header includes."),
        "copts": attr.string_list(doc = "Options that the sources have besides the usual ones."),
        "as_text": attr.bool(doc = "For compilers that are not gcc."),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
