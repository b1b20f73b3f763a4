# SPDX-License-Identifier: Apache-2.0
"""Writes wheels: what tools/build_wheel.py and tools/build_parquet_plugin have in common.

It runs on Python 3.9 and later, and reads pyproject.toml itself, because `tomllib` is of 3.11.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def table(name: str) -> dict[str, Any]:
    """A table of pyproject.toml whose lines are all `key = value` with values that Python shares
    with TOML: texts, numbers and lists."""
    values = {}
    inside = False
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        if line.startswith("["):
            inside = line.strip() == f"[{name}]"
        elif inside and "=" in line:
            key, _, value = line.partition("=")
            values[key.strip()] = ast.literal_eval(value.strip())
    if not values:
        raise ValueError(f"pyproject.toml has no table [{name}]")
    return values


def platform() -> str:
    """The platform in the tag of a wheel, such as linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def write(
    directory: str | os.PathLike[str],
    fields: Mapping[str, str | list[str]],
    tag: str,
    files: Mapping[str, bytes],
    entry_points: Mapping[str, str] | None = None,
    executables: frozenset[str] = frozenset(),
) -> str:
    """Writes a wheel and returns its name.

    Args:
        directory: where it is written.
        fields: of its METADATA, Name and Version first.
        tag: the tag: python, ABI and platform.
        files: name in the wheel to content.
        entry_points: console scripts, name to "module:function".
        executables: those of ``files`` that are programs.
    """
    stem = f"{str(fields['Name']).replace('-', '_')}-{fields['Version']}"
    info = f"{stem}.dist-info"
    metadata = "Metadata-Version: 2.1\n"
    for key, value in fields.items():
        for one in [value] if isinstance(value, str) else value:
            metadata += f"{key}: {one}\n"
    packed = dict(files)
    packed[f"{info}/METADATA"] = metadata.encode()
    packed[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: millhopper\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    packed[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    if entry_points:
        lines = [f"{name} = {place}\n" for name, place in entry_points.items()]
        packed[f"{info}/entry_points.txt"] = ("[console_scripts]\n" + "".join(lines)).encode()
    record = ""
    for name, content in packed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    packed[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{stem}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in packed.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name in executables else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content)
    return wheel
