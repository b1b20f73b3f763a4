# SPDX-License-Identifier: Apache-2.0
"""The PEP 517 backend with which pip builds the package: Bazel builds the module, this packs it.

Nothing is downloaded, so pyproject.toml asks for no other build tool. The module is built for the
interpreter that runs this, whose headers must be installed.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import python_stub
import wheel_file
from built_targets import COMMANDS, ROOT, built

PACKAGE = ROOT / "python" / "millhopper"
# The headers of parser plugins, whose folder millhopper.api.include_folder() names.
HEADERS = ROOT / "framework" / "parser"
# The headers that Bazel takes by itself (tools/bazel/system.bzl).
BAZEL_INCLUDE = Path("/usr/include/python3.11")
# From the first to the last version of Python that the package is known to work with.
PYTHONS = ((3, 9), (3, 13))


def _include_folder():
    """The folder of this interpreter's headers."""
    this = ".".join(str(number) for number in sys.version_info[:2])
    first, last = (".".join(str(number) for number in version) for version in PYTHONS)
    if sys.implementation.name != "cpython" or not (
        PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    ):
        raise RuntimeError(
            f"millhopper is for CPython {first} to {last}; {sys.executable} is "
            f"{sys.implementation.name} {this}"
        )
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").exists():
        raise RuntimeError(
            f"there is no {folder}/Python.h: the headers of {sys.executable} (Python {this}) are "
            f"not installed; Debian has them in python{this}-dev, and pyenv brings them"
        )
    return folder


def _bazel_options(config_settings):
    """What ``pip install --config-settings=NAME=VALUE`` asks for, as options of Bazel."""
    settings = dict(config_settings or {})
    cuda = settings.pop("cuda", "false")
    if settings or cuda not in ("true", "false"):
        raise RuntimeError(
            f"--config-settings is {dict(config_settings)}; it can be cuda=true, for batches on "
            "CUDA devices"
        )
    return ["--config=cuda"] if cuda == "true" else []


def _built(config_settings):
    """Builds the optimised module and the commands, and returns the folder where they lie."""
    include = _include_folder()
    options = _bazel_options(config_settings)
    if include != BAZEL_INCLUDE:
        options.append(f"--repo_env=MILLHOPPER_PYTHON_INCLUDE={include}")
    return built(["//python:_core.so"], options)


def _fields():
    """The metadata of the package."""
    project = wheel_file.table("project")
    requirements = list(project["dependencies"])
    extras = wheel_file.table("project.optional-dependencies")
    for extra, needed in extras.items():
        requirements += [f'{requirement}; extra == "{extra}"' for requirement in needed]
    return {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "License": project["license.text"],
        "Requires-Python": project["requires-python"],
        "Requires-Dist": requirements,
        "Provides-Extra": list(extras),
    }


def _package_files():
    """The name in the wheel and the path of every file of the package that is not built."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            yield path.relative_to(PACKAGE.parent).as_posix(), path
    for path in sorted(HEADERS.glob("*.h")):
        yield f"millhopper/include/{path.name}", path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Called by pip install and pip wheel."""
    folder = _built(config_settings)
    files = {name: path.read_bytes() for name, path in _package_files()}
    files["millhopper/_core" + sysconfig.get_config_var("EXT_SUFFIX")] = (
        folder / "python" / "_core.so"
    ).read_bytes()
    # millhopper/command/native.py runs them.
    programs = {f"millhopper/bin/{command}": folder / "tools" / command for command in COMMANDS}
    stub = python_stub.stub(programs["millhopper/bin/executor"])
    files["millhopper/readers/operator_readers.pyi"] = stub.encode()
    files.update({name: path.read_bytes() for name, path in programs.items()})
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return wheel_file.write(
        wheel_directory,
        _fields(),
        f"{python}-{python}-{wheel_file.platform()}",
        files,
        {f"millhopper-{command}": f"millhopper.command.native:{command}" for command in COMMANDS},
        frozenset(programs),
    )


def build_sdist(sdist_directory, config_settings=None):
    """Always raises: there is no source distribution, since a checkout serves as one."""
    raise RuntimeError("millhopper is built from a checkout: pip install <folder>")
