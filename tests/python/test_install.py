# SPDX-License-Identifier: Apache-2.0
"""tools/install: what it installs is used outside of the tree, with CMake and with g++ alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from millhopper import Reader

ROOT = Path(__file__).resolve().parents[2]
TOTAL = "total 20\n"  # what tools/examples compute
# Nothing of Millhopper is found by these.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")
}


def run(*words: object, folder: Path | None = None, **environment: str) -> str:
    """The output of a command, which must succeed."""
    ran = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, f"{words}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed Millhopper, in another folder than the one that it was installed into."""
    first = tmp_path_factory.mktemp("installed") / "first"
    for _ in range(2):  # the second time as an update of the first one
        run(ROOT / "tools" / "install", f"--prefix={first}", "--bundle")
    return first.rename(first.with_name("moved"))


def test_the_tarball_holds_what_is_installed(prefix: Path, tmp_path: Path) -> None:
    run(ROOT / "tools" / "install", f"--tarball={tmp_path / 'sdk.tar.gz'}")
    run("tar", "-xzf", tmp_path / "sdk.tar.gz", "-C", tmp_path)
    (unpacked,) = tmp_path.glob("millhopper-*")

    def files(folder: Path) -> dict[Path, bytes]:
        return {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    assert files(unpacked) == files(prefix)


@pytest.fixture(scope="session")
def built_by_cmake(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("build")
    source = prefix / "share" / "millhopper" / "examples"
    run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build, "--parallel", "2")
    return build


def test_the_example_is_built_by_cmake_and_runs(prefix: Path, built_by_cmake: Path) -> None:
    examples = prefix / "share" / "millhopper" / "examples"
    plugin = built_by_cmake / "libscale.so"
    embed = built_by_cmake / "embed"
    assert run(embed, "startup.pbtxt", "main.pbtxt", plugin, folder=examples) == TOTAL
    found = subprocess.run(
        [embed, "startup.pbtxt", "main.pbtxt"],
        cwd=examples,
        text=True,
        capture_output=True,
        env=ENVIRONMENT,
    )
    assert found.returncode == 2
    assert "main.pbtxt:" in found.stderr and "example_scale" in found.stderr


def test_the_chain_in_cpp_yields_what_the_same_chain_in_python_does(
    prefix: Path, built_by_cmake: Path
) -> None:
    examples = prefix / "share" / "millhopper" / "examples"
    printed = run(built_by_cmake / "loop", "numbers.csv", folder=examples)
    reader = Reader.open_files(examples / "numbers.csv", fields=["x float32[]"])
    batches = reader.shuffle(1000, seed=1).batch(2)
    lines = [
        f"batch of {len(batch['x'])} begins with {batch['x'][0]:g}\n"
        for _ in range(2)
        for batch in batches
    ]
    assert printed == "".join(lines) + "total 30\n"


def test_the_example_is_built_by_plain_gxx_and_runs(prefix: Path, tmp_path: Path) -> None:
    examples = prefix / "share" / "millhopper" / "examples"
    asked = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "millhopper", **asked).split()
    libraries = run("pkg-config", "--libs", "millhopper", **asked).split()
    embed, plugin = tmp_path / "embed", tmp_path / "libscale.so"
    # Whatever is not used is dropped; the operators and formats must be there all the same.
    run(
        "g++",
        "-std=c++17",
        examples / "embed.cc",
        "-o",
        embed,
        "-Wl,--as-needed",
        *flags,
        *libraries,
    )
    run("g++", "-std=c++17", "-shared", "-fPIC", examples / "scale.cc", "-o", plugin, *flags)
    assert run(embed, "startup.pbtxt", "main.pbtxt", plugin, folder=examples) == TOTAL


def test_the_commands_take_the_plugin(prefix: Path, built_by_cmake: Path) -> None:
    words = ["--startup=startup.pbtxt", "--main=main.pbtxt", "--fetch=total", "--quiet"]
    printed = run(
        prefix / "bin" / "millhopper-executor",
        *words,
        f"--plugin={built_by_cmake / 'libscale.so'}",
        folder=prefix / "share" / "millhopper" / "examples",
    )
    assert '"name":"total"' in printed and '"data":[20' in printed


def test_the_library_shows_its_own_names_only(prefix: Path) -> None:
    library = prefix / "lib" / "libmillhopper.so"
    names = run("nm", "-D", "--defined-only", "--format=just-symbols", library).split()
    assert len(names) > 1000
    strange = [name for name in names if "millhopper" not in name]
    assert strange == ["descriptor_table_proto_2fframework_2eproto"]


def test_the_library_is_named_by_its_version(prefix: Path) -> None:
    library = prefix / "lib" / "libmillhopper.so"
    version = run(prefix / "bin" / "millhopper-peek", "--version").split()[-1]
    soname = "libmillhopper.so." + ".".join(version.split(".")[:2])
    assert library.resolve().name == f"libmillhopper.so.{version}"
    assert f"Library soname: [{soname}]" in run("readelf", "-d", library)
    assert (prefix / "lib" / soname).resolve() == library.resolve()
    assert (
        run("pkg-config", "--modversion", prefix / "lib/pkgconfig/millhopper.pc") == version + "\n"
    )


def test_what_is_bundled_is_what_is_loaded(prefix: Path) -> None:
    """Only the C and C++ libraries come from the system."""
    for path in [prefix / "lib" / "libmillhopper.so", *(prefix / "bin").iterdir()]:
        for name, place in re.findall(r"(\S+) => (\S+)", run("ldd", path)):
            of_the_system = re.match(r"lib(c|m|resolv|gcc_s|stdc\+\+|dl|rt|pthread)\.so", name)
            assert of_the_system or Path(place).is_relative_to(prefix), (path, name, place)


def test_every_header_that_is_included_is_there(prefix: Path) -> None:
    include = prefix / "include" / "millhopper"
    roots = [include, include / "framework" / "parser"]
    headers = [path for path in include.rglob("*.h") if "bundled" not in path.parts]
    assert len(headers) > 100
    for header in headers:
        for name in re.findall(r'^#include "(.*)"', header.read_text(), re.M):
            assert any((root / name).exists() for root in roots), (header, name)


def test_cmake_refuses_another_series(prefix: Path, tmp_path: Path) -> None:
    text = "cmake_minimum_required(VERSION 3.18)\nproject(p LANGUAGES NONE)\n"
    source = tmp_path / "CMakeLists.txt"
    for asked, fits in (
        ("0.2", True),
        ("0.2.0", True),
        ("0.1", False),
        ("0.3", False),
        ("1.0", False),
    ):
        source.write_text(f"{text}find_package(millhopper {asked} REQUIRED)\n")
        shutil.rmtree(tmp_path / "build", ignore_errors=True)
        words = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
        tried = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT)
        assert (tried.returncode == 0) == fits, tried.stderr


def test_every_command_has_a_man_page_and_completions(prefix: Path) -> None:
    commands = sorted(path.name for path in (prefix / "bin").iterdir())
    assert commands == ["millhopper-executor", "millhopper-peek", "millhopper-recordio"]
    share = prefix / "share"
    for name in commands:
        assert (share / "man" / "man1" / f"{name}.1").read_text().startswith(".TH MILLHOPPER")
        assert (
            f"complete -F _{name.replace('-', '_')} {name}"
            in (share / "bash-completion" / "completions" / name).read_text()
        )
        zsh = share / "zsh" / "site-functions" / f"_{name}"
        assert zsh.read_text().startswith(f"#compdef {name}\n")
        assert (
            f"complete -c {name} "
            in (share / "fish" / "vendor_completions.d" / f"{name}.fish").read_text()
        )
