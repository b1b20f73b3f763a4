# SPDX-License-Identifier: Apache-2.0
"""cc_proto(): C++ code from .proto files, by the system's protoc."""

def cc_proto(name, srcs, visibility = None):
    """Defines a cc_library of the code generated from .proto files.

    Args:
      name: the library.
      srcs: .proto files of this package, which import nothing but each other.
      visibility: as usual.
    """
    stems = [src[:-len(".proto")] for src in srcs]
    headers = [stem + ".pb.h" for stem in stems]
    sources = [stem + ".pb.cc" for stem in stems]
    native.genrule(
        name = name + "_code",
        srcs = srcs,
        outs = headers + sources,
        cmd = "$(execpath @system//:protoc) --proto_path=. --cpp_out=$(GENDIR) $(SRCS)",
        tools = ["@system//:protoc"],
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        # We cannot fix warnings in generated code.
        copts = ["-w"],
        # A plugin may use messages that its host does not.
        alwayslink = 1,
        visibility = visibility,
        deps = ["@system//:protobuf"],
    )
