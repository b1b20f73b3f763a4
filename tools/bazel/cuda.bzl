# SPDX-License-Identifier: Apache-2.0
"""@cuda: the CUDA runtime of $CUDA_HOME, or of /usr/local/cuda.

The repository exists without a toolkit too, so that builds for the CPU need none. Only the
targets that --config=cuda adds then fail, with a message that says what is missing.
"""

WithCudaInfo = provider(doc = "Whether the CUDA device is built.", fields = ["value"])

def _with_cuda_flag(ctx):
    return WithCudaInfo(value = ctx.build_setting_value)

with_cuda_flag = rule(
    implementation = _with_cuda_flag,
    build_setting = config.bool(flag = True),
)

_FOUND = """
cc_library(
    name = "runtime",
    hdrs = ["include"],
    includes = ["include"],
    linkopts = ["-L{lib}", "-Wl,-rpath,{lib}", "-lcudart", "-ldl", "-lpthread", "-lrt"],
    visibility = ["//visibility:public"],
)
"""

_MISSING = """
genrule(
    name = "missing",
    outs = ["missing.h"],
    cmd = "echo 'no CUDA toolkit in {home}; set CUDA_HOME' >&2; exit 1",
)

cc_library(
    name = "runtime",
    hdrs = ["missing.h"],
    visibility = ["//visibility:public"],
)
"""

def _cuda_toolkit(repository):
    home = repository.os.environ.get("CUDA_HOME", "") or "/usr/local/cuda"
    libraries = [
        home + "/" + folder
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib"]
        if repository.path(home + "/" + folder + "/libcudart.so").exists
    ]
    if libraries and repository.path(home + "/include/cuda_runtime_api.h").exists:
        repository.symlink(home + "/include", "include")
        repository.file("BUILD", _FOUND.format(lib = libraries[0]), executable = False)
    else:
        repository.file("BUILD", _MISSING.format(home = home), executable = False)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
