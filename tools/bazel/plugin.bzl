# SPDX-License-Identifier: Apache-2.0
"""Shared libraries for --plugin, and the programs that load them.

A plugin uses the framework of the program that loads it. It must not contain a second
framework, because then there would be two registries.
"""

# Link options of a program that loads plugins: they make its symbols visible to the plugins.
HOST_LINKOPTS = ["-rdynamic", "-ldl"]

# Folders whose code a plugin always takes from its host.
_HOST_FOLDERS = ["framework", "proto"]

def _is_own(linker_input):
    owner = linker_input.owner
    return owner.workspace_name != "" or owner.package.split("/")[0] not in _HOST_FOLDERS

def _without_host_code(ctx):
    infos = [
        CcInfo(
            compilation_context = dep[CcInfo].compilation_context,
            linking_context = cc_common.create_linking_context(
                linker_inputs = depset(
                    [i for i in dep[CcInfo].linking_context.linker_inputs.to_list() if _is_own(i)],
                    order = "topological",
                ),
            ),
        )
        for dep in ctx.attr.deps
    ] + [
        CcInfo(compilation_context = dep[CcInfo].compilation_context)
        for dep in ctx.attr.host_deps
    ]
    return [cc_common.merge_cc_infos(cc_infos = infos)]

_without_host_code_rule = rule(
    implementation = _without_host_code,
    doc = "The libraries deps without the object code that the host of a plugin has.",
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "host_deps": attr.label_list(providers = [CcInfo]),
    },
    provides = [CcInfo],
)

def millhopper_plugin(name, srcs = [], deps = [], host_deps = [], **kwargs):
    """Defines NAME, a shared library for --plugin.

    Args:
      name: the file, lib<something>.so.
      srcs: sources, with their REGISTER_ lines.
      deps: libraries; those that the host has are used to compile, but not linked.
      **kwargs: as for cc_binary.
    """
    _without_host_code_rule(
        name = name + "_deps",
        testonly = kwargs.get("testonly", 0),
        visibility = ["//visibility:private"],
        deps = deps,
        host_deps = host_deps,
    )
    native.cc_binary(
        name = name,
        srcs = srcs,
        linkshared = 1,
        deps = [":" + name + "_deps"],
        **kwargs
    )
