# SPDX-License-Identifier: Apache-2.0
"""room(): the library of a folder."""

def room(deps, visibility, **options):
    """All sources and headers of the package, always linked: what they register is found by no name.

    Args:
      deps: the rooms and libraries that it stands on.
      visibility: the rooms that may stand on it.
      **options: further ones of cc_library.
    """
    native.cc_library(
        name = native.package_name().rpartition("/")[2],
        srcs = native.glob(["*.cc"]),
        hdrs = native.glob(["*.h"]),
        visibility = visibility,
        alwayslink = 1,
        deps = deps,
        **options
    )
