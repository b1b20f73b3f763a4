# SPDX-License-Identifier: Apache-2.0
"""Loads the core. If a shared library is missing, the error says where Debian has it."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# The name of a library up to its version: the package of Debian 12 that brings it.
_PACKAGES = {
    "libbz2": "libbz2-1.0",
    "libcrypto": "libssl3",
    "libcurl": "libcurl4",
    "libdeflate": "libdeflate0",
    "libexpat": "libexpat1",
    "libgcc_s": "libgcc-s1",
    "libgflags": "libgflags2.2",
    "libgif": "libgif7",
    "libglog": "libgoogle-glog0v6",
    "libhwy": "libhwy1",
    "libisal": "libisal2",
    "libjpeg": "libjpeg62-turbo",
    "liblz4": "liblz4-1",
    "liblzma": "liblzma5",
    "libpng16": "libpng16-16",
    "libprotobuf": "libprotobuf32",
    "libsimdjson": "libsimdjson14",
    "libsnappy": "libsnappy1v5",
    "libstdc++": "libstdc++6",
    "libtiff": "libtiff6",
    "libwebp": "libwebp7",
    "libxxhash": "libxxhash0",
    "libz": "zlib1g",
    "libzstd": "libzstd1",
}


def explained(error: ImportError) -> ImportError:
    """The error of an import of the core, which names the package of a library that is missing."""
    text = str(error)
    missing = re.match(r"(lib[\w+-]+)\.so[\w.]*: cannot open shared object file", text)
    package = _PACKAGES.get(missing[1]) if missing else None
    if missing is None or package is None:
        return error
    return ImportError(
        f"millhopper's core needs {text.split(':')[0]}, which is not installed: apt install "
        f"{package} (its name in Debian 12)",
        name=error.name,
        path=error.path,
    )


@contextmanager
def own_libraries_first() -> Iterator[None]:
    """Has what is loaded within use the libraries that it was built with.

    TensorFlow shows its protobuf and curl to all that is loaded after it, of other versions, in
    which the core would crash. A memory allocator that is preloaded must be found first, however,
    since what one part of the process takes others free.

    Raises:
        ImportError: there are both.
    """
    flags = sys.getdlopenflags()
    if "tensorflow" in sys.modules and hasattr(os, "RTLD_DEEPBIND"):
        shown, libc = ctypes.CDLL(None), ctypes.CDLL("libc.so.6")
        if hasattr(shown, "_ZN6google8protobuf11MessageLiteD2Ev") or hasattr(shown, "curl_version"):
            if _address(shown.malloc) != _address(libc.malloc):
                raise ImportError(
                    "millhopper would crash in the protobuf that tensorflow, which was imported "
                    "before, shows to all libraries, and cannot come before it where "
                    f"LD_PRELOAD={os.environ.get('LD_PRELOAD', '')} brings a malloc: import "
                    "millhopper before tensorflow, or start Python without that"
                )
            sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


try:
    with own_libraries_first():
        import millhopper._core  # noqa: F401
except ImportError as error:
    raise explained(error) from None
