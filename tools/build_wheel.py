# SPDX-License-Identifier: Apache-2.0
"""The PEP 517 backend with which pip builds the package: Bazel builds the module, this packs it.

Nothing is downloaded, so pyproject.toml asks for no other build tool.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "millhopper"
# The headers of parser plugins, whose folder millhopper.api.include_folder() names.
HEADERS = ROOT / "framework" / "parser"
# The version of Debian 12's headers, see tools/bazel/system.bzl.
PYTHON = (3, 11)


def _project():
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]


def _bazel(*words, **options):
    return subprocess.run(["bazel", *words], cwd=ROOT, check=True, **options)


def _built_module():
    """Builds the optimised module and returns its path."""
    if sys.version_info[:2] != PYTHON or sys.implementation.name != "cpython":
        wanted = ".".join(str(number) for number in PYTHON)
        raise RuntimeError(f"millhopper is built for CPython {wanted}; this is {sys.version}")
    if shutil.which("bazel") is None:
        raise RuntimeError("bazel is not installed; tools/install_dependencies installs it")
    # Leaves the link bazel-bin in the checkout alone: it belongs to other builds.
    _bazel("build", "-c", "opt", "--symlink_prefix=/", "//python:_core.so")
    found = _bazel("info", "-c", "opt", "bazel-bin", stdout=subprocess.PIPE, text=True)
    return Path(found.stdout.strip()) / "python" / "_core.so"


def _metadata(project):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    return "\n".join(lines) + "\n"


def _tag():
    python = f"cp{PYTHON[0]}{PYTHON[1]}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _package_files():
    """The name in the wheel and the path of every file of the package but its module."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            yield path.relative_to(PACKAGE.parent).as_posix(), path
    for path in sorted(HEADERS.glob("*.h")):
        yield f"millhopper/include/{path.name}", path


def _write(wheel_directory, files):
    """Writes a wheel of these files (name to bytes) and the metadata; returns its name."""
    project = _project()
    info = f"{project['name']}-{project['version']}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: millhopper\nRoot-Is-Purelib: false\n" f"Tag: {_tag()}\n"
    ).encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{project['name']}-{project['version']}-{_tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Called by pip install and pip wheel."""
    files = {name: path.read_bytes() for name, path in _package_files()}
    files["millhopper/_core" + sysconfig.get_config_var("EXT_SUFFIX")] = (
        _built_module().read_bytes()
    )
    return _write(wheel_directory, files)


def build_sdist(sdist_directory, config_settings=None):
    """Always raises: there is no source distribution, since a checkout serves as one."""
    raise RuntimeError("millhopper is built from a checkout: pip install <folder>")
