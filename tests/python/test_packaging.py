# SPDX-License-Identifier: Apache-2.0
"""The wheels: what pip installs, the commands that come with it, and the extra for Parquet.

The wheels are unpacked as pip does it, into their own folder, where no index is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import millhopper
import pytest
from fake_gcs import FakeGcs

ROOT = Path(__file__).resolve().parents[2]
VERSION = millhopper.__version__

READ = """
import sys
import millhopper

assert "pyarrow" not in sys.modules and "millhopper_parquet" not in sys.modules
reader = millhopper.Reader.open_files(sys.argv[1], fields=["x int64[]"])
print([int(element["x"][0]) for element in reader])
assert "millhopper_parquet" in sys.modules
"""


def run(*words: object, path: Path | None = None, code: int = 0) -> str:
    """What a command prints; ``path`` comes before the environment's own packages."""
    environment = {**os.environ, "PYTHONPATH": "" if path is None else str(path)}
    ran = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def metadata(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return packed.read(name).decode().splitlines()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-index",
        "--no-deps",
        "-w",
        folder,
        ROOT,
    )
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="session")
def parquet_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the extra; tests that need it are skipped where there is no pyarrow."""
    folder = tmp_path_factory.mktemp("parquet_wheel")
    words = [ROOT / "tools" / "build_parquet_plugin", "--python", sys.executable, "--wheel", folder]
    built = subprocess.run(words, capture_output=True, text=True)
    if built.returncode == 3:
        pytest.skip(built.stderr)
    assert built.returncode == 0, built.stderr
    (path,) = folder.iterdir()
    return path


def install(folder: Path, *wheels: Path) -> None:
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        folder,
        *wheels,
    )


@pytest.fixture(scope="session")
def installed(wheel: Path, parquet_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder, wheel, parquet_wheel)
    return folder


def test_the_wheel_offers_the_extra(wheel: Path) -> None:
    lines = metadata(wheel)
    assert "Provides-Extra: parquet" in lines
    assert f'Requires-Dist: millhopper-parquet=={VERSION}; extra == "parquet"' in lines
    assert f"Version: {VERSION}" in lines
    assert "Requires-Python: >=3.9,<3.14" in lines


def test_the_commands_are_installed_under_the_name_of_the_project(
    wheel: Path, tmp_path: Path
) -> None:
    install(tmp_path, wheel)
    for command in ("executor", "peek", "recordio"):
        script = tmp_path / "bin" / f"millhopper-{command}"
        assert run(script, "--version", path=tmp_path) == (
            f"millhopper-{command} of Millhopper {VERSION}\n"
        )
        assert f"usage: millhopper-{command} " in run(script, "--help", path=tmp_path)
    # Exit codes and words pass through.
    assert "no flag --stratup; did you mean 'startup'?" in run(
        tmp_path / "bin" / "millhopper-executor", "--stratup=x", path=tmp_path, code=2
    )


TYPED = """
from millhopper import Reader

batches: Reader = Reader.open_files("x").shuffle(8, seed=1).batch(2, drop_last=True)
kept: Reader = batches.cache(directory=__import__("pathlib").Path("x"), disk_bytes=1)
batches.batch("two")
batches.batch()
batches.shufle(8)
"""


def test_type_checkers_know_the_methods_that_are_made(wheel: Path, tmp_path: Path) -> None:
    install(tmp_path, wheel)
    (stub,) = tmp_path.rglob("operator_readers.pyi")
    made = (
        "from millhopper.programs.schemas import operator_types, schema_of\n"
        "from millhopper.readers.method_signatures import stub\n"
        "print(stub(map(schema_of, operator_types())), end='')\n"
    )
    assert run(sys.executable, "-c", made, path=tmp_path) == stub.read_text()
    if (mypy := shutil.which("mypy")) is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "typed.py").write_text(TYPED)
    words = [mypy, "--strict", "--no-incremental", "--cache-dir=/dev/null", "typed.py"]
    checked = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert re.findall(r"^typed.py:(\d+): error.*\[([-a-z]+)\]$", checked.stdout, re.M) == [
        ("6", "arg-type"),
        ("7", "call-arg"),
        ("8", "attr-defined"),
    ], checked.stdout + checked.stderr


def test_headers_that_are_missing_are_named() -> None:
    probe = (
        "import sys, sysconfig; sys.path.insert(0, sys.argv[1]); import build_wheel;"
        "sysconfig.get_path = lambda name: '/nowhere';"
        "build_wheel._include_folder()"
    )
    said = run(sys.executable, "-c", probe, ROOT / "tools", code=1)
    this = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert "there is no /nowhere/Python.h" in said and f"python{this}-dev" in said


@pytest.mark.parametrize("settings", [{"cdua": "true"}, {"cuda": "yes"}])
def test_settings_of_pip_that_there_are_not_are_refused(settings: dict[str, str]) -> None:
    probe = (
        "import sys; sys.path.insert(0, sys.argv[1]); import build_wheel;"
        f"build_wheel.build_wheel('.', {settings})"
    )
    said = run(sys.executable, "-c", probe, ROOT / "tools", code=1)
    assert f"--config-settings is {settings}; it can be cuda=true" in said


def test_the_extra_reads_parquet_without_a_call(installed: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pa.table({"x": [3, 1, 2]})
    parquet.write_table(table, tmp_path / "numbers.parquet")
    parquet.write_table(table, tmp_path / "numbers")
    feather.write_feather(table, tmp_path / "numbers.feather", compression="uncompressed")
    for name in ("numbers.parquet", "parquet:numbers", "numbers.feather", "arrow:numbers.feather"):
        tag, colon, file = name.rpartition(":")
        read = run(sys.executable, "-c", READ, f"{tag}{colon}{tmp_path / file}", path=installed)
        assert read == "[3, 1, 2]\n", name


def test_commands_read_parquet_by_the_extra(installed: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"numbers": [1, 2]}), tmp_path / "a.parquet")
    peek = "from millhopper.command.native import peek; peek()"
    shown = run(sys.executable, "-c", peek, tmp_path / "a.parquet", path=installed)
    assert '["numbers int64[]"]' in shown


def test_the_extra_reads_stores_without_a_call(installed: Path) -> None:
    pytest.importorskip("pyarrow")
    code = (
        "import sys, millhopper\n"
        "reader = millhopper.Reader.open_files(sys.argv[1], names=['x']).batch(9)\n"
        "print([line for batch in reader for line in batch['x'].to_bytes()])\n"
    )
    with FakeGcs() as store:
        store.put("lines.txt", b"a\nb\n")
        url = f"gs://anonymous@bucket/l*.txt{store.options(store.port)}"
        assert run(sys.executable, "-c", code, url, path=installed) == "[b'a', b'b']\n"


def test_the_extra_needs_the_pyarrow_that_it_was_built_against(
    installed: Path, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    probe = (
        "import millhopper, pyarrow; pyarrow.__version__ = '1.0'\n"
        "millhopper.Reader.open_files('parquet:x', fields=['x int64[]'])"
    )
    said = run(sys.executable, "-c", probe, path=installed, code=1)
    assert f"pip install pyarrow=={pa.__version__}" in said


def test_without_the_extra_nothing_is_loaded(wheel: Path, tmp_path: Path) -> None:
    install(tmp_path, wheel)
    probe = (
        "import sys, millhopper\n"
        "sys.modules['millhopper_parquet'] = None  # this environment may have it\n"
        "try: list(millhopper.Reader.open_files('parquet:x', fields=['x int64[]']))\n"
        "except (millhopper.Error, ValueError): print('pyarrow' in sys.modules)\n"
    )
    assert re.fullmatch(r"False\n", run(sys.executable, "-c", probe, path=tmp_path))
