# SPDX-License-Identifier: Apache-2.0
"""Replacements for the three repositories that Bazel 4 would download.

Bazel 4 loads its C++ and Java rules through @rules_cc and @rules_java, which only
rename rules that are built into it, and gives every test a hidden dependency on
@remote_coverage_tools. A repository of the same name in WORKSPACE replaces the download.
`bazel coverage` and Java rules are not usable with these.
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "fdo_prefetch_hints",
    "fdo_profile",
    "objc_import",
    "objc_library",
]

_JAVA_RULES = [
    "java_binary",
    "java_import",
    "java_library",
    "java_lite_proto_library",
    "java_package_configuration",
    "java_plugin",
    "java_proto_library",
    "java_runtime",
    "java_test",
    "java_toolchain",
]

_COVERAGE = """
package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator")

filegroup(name = "lcov_merger")
"""

def _write_files(repository):
    for path, content in repository.attr.files.items():
        repository.file(path, content, executable = False)

_files_repository = repository_rule(
    implementation = _write_files,
    attrs = {"files": attr.string_dict()},
)

def _renaming_repository(name, folder, rules):
    _files_repository(
        name = name,
        files = {
            folder + "/BUILD": "",
            folder + "/defs.bzl": "".join(["%s = native.%s\n" % (r, r) for r in rules]),
        },
    )

def offline_repositories():
    """Defines @rules_cc, @rules_java and @remote_coverage_tools."""
    _renaming_repository("rules_cc", "cc", _CC_RULES)
    _renaming_repository("rules_java", "java", _JAVA_RULES)
    _files_repository(name = "remote_coverage_tools", files = {"BUILD": _COVERAGE})
