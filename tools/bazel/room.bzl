# SPDX-License-Identifier: Apache-2.0
"""room(): the library of a folder."""

# Joined sources are this many at most, so that both processors have something to do.
_MOST_JOINED = 16

def sources(name, found, alone = []):
    """Sources of a library: joined (tools/dev/joined_sources.py), or with --define=sources=single as they are.

    Args:
      name: of the library.
      found: the sources.
      alone: those that cannot be joined with others.
    """
    together = [source for source in found if source not in alone]
    joined = []
    for first in range(0, len(together), _MOST_JOINED):
        joined.append("%s_joined_%d.cc" % (name, first))
        some = together[first:first + _MOST_JOINED]
        native.genrule(
            name = "%s_joined_%d" % (name, first),
            srcs = some,
            outs = [joined[-1]],
            cmd = "python3 $(location //tools/dev:joined_sources.py) $(SRCS) > $@",
            tags = ["manual"],
            tools = ["//tools/dev:joined_sources.py"],
        )
    return select({
        "//tools/bazel:single": found,
        "//conditions:default": joined + [source for source in found if source in alone],
    })

def room(deps, visibility, alone = [], **options):
    """All sources and headers of the package, always linked: what they register is found by no name.

    Args:
      deps: the rooms and libraries that it stands on.
      visibility: the rooms that may stand on it.
      alone: sources that cannot be joined with others, as sources() says.
      **options: further ones of cc_library.
    """
    name = native.package_name().rpartition("/")[2]
    native.cc_library(
        name = name,
        srcs = sources(name, native.glob(["*.cc"]), alone),
        hdrs = native.glob(["*.h"]),
        visibility = visibility,
        alwayslink = 1,
        deps = deps,
        **options
    )
