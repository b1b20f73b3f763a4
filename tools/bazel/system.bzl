# SPDX-License-Identifier: Apache-2.0
"""@system: the libraries of the operating system, one target each.

Most headers lie in the compiler's own search path, which Bazel accepts, so such a library
consists of linker options only. The headers of Eigen and Python do not; each of these two
libraries names a directory.
"""

# name: (Debian package, a header that shows that it is installed, linker options).
# Debian's googletest and benchmark are static libraries only.
_LIBRARIES = {
    "benchmark": ("libbenchmark-dev", "benchmark/benchmark.h", ["-lbenchmark_main", "-lbenchmark"]),
    "bz2": ("libbz2-dev", "bzlib.h", ["-lbz2"]),
    "crypto": ("libssl-dev", "openssl/evp.h", ["-lcrypto"]),
    "curl": ("libcurl4-openssl-dev", "curl/curl.h", ["-lcurl"]),
    "deflate": ("libdeflate-dev", "libdeflate.h", ["-ldeflate"]),
    "expat": ("libexpat1-dev", "expat.h", ["-lexpat"]),
    "fast_float": ("libfast-float-dev", "fast_float/fast_float.h", []),
    "gflags": ("libgflags-dev", "gflags/gflags.h", ["-lgflags"]),
    "gif": ("libgif-dev", "gif_lib.h", ["-lgif"]),
    "glog": ("libgoogle-glog-dev", "glog/logging.h", ["-lglog", "-lgflags"]),
    "gmock": ("libgmock-dev", "gmock/gmock.h", ["-lgmock", "-lgtest"]),
    "gtest": ("libgtest-dev", "gtest/gtest.h", ["-lgtest"]),
    "hwy": ("libhwy-dev", "hwy/highway.h", ["-lhwy"]),
    "isal": ("libisal-dev", "isa-l/crc.h", ["-lisal"]),
    "jpeg": ("libjpeg62-turbo-dev", "jpeglib.h", ["-ljpeg"]),
    "json": ("nlohmann-json3-dev", "nlohmann/json.hpp", []),
    "lz4": ("liblz4-dev", "lz4frame.h", ["-llz4"]),
    "lzma": ("liblzma-dev", "lzma.h", ["-llzma"]),
    "png": ("libpng-dev", "png.h", ["-lpng"]),
    "protobuf": ("libprotobuf-dev", "google/protobuf/message.h", ["-lprotobuf"]),
    "simdjson": ("libsimdjson-dev", "simdjson.h", ["-lsimdjson"]),
    "snappy": ("libsnappy-dev", "snappy.h", ["-lsnappy"]),
    "ssl": ("libssl-dev", "openssl/ssl.h", ["-lssl", "-lcrypto"]),
    "tiff": ("libtiff-dev", "tiffio.h", ["-ltiff"]),
    "webp": ("libwebp-dev", "webp/decode.h", ["-lwebp"]),
    "xxhash": ("libxxhash-dev", "xxhash.h", ["-lxxhash"]),
    "zlib": ("zlib1g-dev", "zlib.h", ["-lz"]),
    "zstd": ("libzstd-dev", "zstd.h", ["-lzstd"]),
}

_LIBRARY = """
cc_library(
    name = "{name}",
    linkopts = {linkopts},
)
"""

_OTHERS = """
cc_library(
    name = "eigen",
    # Without Eigen's own threads, sums are the same on any number of cores.
    defines = ["EIGEN_DONT_PARALLELIZE"],
    hdrs = ["eigen3"],
    includes = ["eigen3"],
)

# Extension modules find the interpreter's symbols in the process that loads them.
cc_library(
    name = "python",
    hdrs = ["{python}"],
    includes = ["{python}"],
)

filegroup(
    name = "protoc",
    srcs = ["protoc_link"],
)
"""

# The headers of Debian 12's interpreter, and the variable that names the folder of others.
_PYTHON = "python3.11"
_PYTHON_VARIABLE = "MILLHOPPER_PYTHON_INCLUDE"

_INCLUDES = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]

def _is_installed(repository, header):
    for folder in _INCLUDES:
        if repository.path(folder + "/" + header).exists:
            return True
    return False

def _system_libraries(repository):
    missing = [
        package
        for package, header, _ in _LIBRARIES.values()
        if not _is_installed(repository, header)
    ]
    if not _is_installed(repository, "eigen3/Eigen/Core"):
        missing.append("libeigen3-dev")
    python = repository.os.environ.get(_PYTHON_VARIABLE, "") or "/usr/include/" + _PYTHON
    if not repository.path(python + "/Python.h").exists:
        missing.append("python3-dev" if python == "/usr/include/" + _PYTHON else python + "/Python.h")
    if not _is_installed(repository, "pybind11/pybind11.h"):
        missing.append("pybind11-dev")
    protoc = repository.which("protoc")
    if not protoc:
        missing.append("protobuf-compiler")
    if missing:
        fail("not installed: %s (tools/install_dependencies installs all)" % " ".join(missing))
    repository.symlink("/usr/include/eigen3", "eigen3")
    name = python.split("/")[-1]  # the version of the interpreter is in it
    repository.symlink(python, name)
    repository.symlink(protoc, "protoc_link")
    build = 'package(default_visibility = ["//visibility:public"])\n' + _OTHERS.format(python = name)
    for name, (_, _, linkopts) in _LIBRARIES.items():
        build += _LIBRARY.format(name = name, linkopts = linkopts + ["-lpthread"])
    repository.file("BUILD", build, executable = False)

system_libraries = repository_rule(
    implementation = _system_libraries,
    # Runs again when the Bazel server starts, so that a new installation is noticed.
    configure = True,
    environ = [_PYTHON_VARIABLE],
    local = True,
)
