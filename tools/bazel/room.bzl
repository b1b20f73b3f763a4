# SPDX-License-Identifier: Apache-2.0
"""room(): the library of a folder, and how sources are joined."""

# Joined sources are this many at most, so that both processors have something to do.
_MOST_JOINED = 16

def joined(name, found):
    """Sources as few: sixteen are joined to one (tools/dev/joined_sources.py).

    Args:
      name: of the library or program.
      found: the sources.

    Returns:
      {joined source: the sources that it has}
    """
    groups = {}
    for first in range(0, len(found), _MOST_JOINED):
        some = found[first:first + _MOST_JOINED]
        source = "%s_joined_%d.cc" % (name, first)
        native.genrule(
            name = source[:-len(".cc")] + "_source",
            srcs = some,
            outs = [source],
            cmd = "python3 $(location //tools/dev:joined_sources.py) $(SRCS) > $@",
            tags = ["manual"],
            tools = ["//tools/dev:joined_sources.py"],
        )
        groups[source] = some
    return groups

def sources(name, found, alone = []):
    """Sources of a library: joined, or with --define=sources=single as they are.

    Args:
      name: of the library. Options of .bazelrc are for the joined sources if it begins with the same
        folders as the sources.
      found: the sources.
      alone: those that cannot be joined with others.
    """
    together = joined(name, [source for source in found if source not in alone])
    return select({
        "//tools/bazel:single": found,
        "//conditions:default": together.keys() + [source for source in found if source in alone],
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
