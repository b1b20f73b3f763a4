# SPDX-License-Identifier: Apache-2.0
"""The command ``python -m millhopper``, and the reference page that it prints."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import millhopper
import pytest
from millhopper.__main__ import main
from millhopper.command import reference
from millhopper.programs.schemas import format_schemas, operator_types

STARTUP = """
blocks {
  idx: 0
  parent_idx: -1
  vars {
    name: "numbers"
    persistable: true
    type { type: READER reader { lod_tensor { tensor { data_type: FP32 dims: 1 dims: 2 } } } }
  }
  ops {
    type: "create_random_data_generator"
    outputs { parameter: "Out" arguments: "numbers" }
    attrs { name: "count" i: ${count} }
    attrs { name: "low" f: 3 }
    attrs { name: "high" f: 3.0000002 }
  }
}
"""
MAIN = """
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" type { type: LOD_TENSOR } }
  ops {
    type: "read"
    inputs { parameter: "Reader" arguments: "numbers" }
    outputs { parameter: "Out" arguments: "x" }
  }
}
"""


@pytest.fixture
def programs(tmp_path: Path) -> list[str]:
    (tmp_path / "startup.pbtxt").write_text(STARTUP)
    (tmp_path / "main.pbtxt").write_text(MAIN)
    return [f"--startup={tmp_path / 'startup.pbtxt'}", f"--main={tmp_path / 'main.pbtxt'}"]


def test_run_prints_what_is_fetched(programs: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *programs, "--set=count=2", "--fetch=x"]) == 0
    printed = json.loads(capfd.readouterr().out)
    assert printed == {"name": "x", "dtype": "float32", "dims": [1, 2], "lod": [], "data": [3, 3]}


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--seed=-1", "argument --seed: '-1' is no whole number from 0 to 18446744073709551615"),
        (f"--seed={10**20}", "argument --seed: '1000"),
        ("--seed=x", "argument --seed: 'x' is no whole number"),
        ("--threads=-5", "argument --threads: '-5' is no whole number from -1 to 1024"),
        ("--threads=1025", "argument --threads: '1025' is no whole number from -1 to 1024"),
    ],
)
def test_numbers_have_bounds(
    option: str, text: str, programs: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", *programs, "--set=count=2", option])
    assert left.value.code == 2
    assert text in capfd.readouterr().err


def test_the_largest_seed_is_taken(programs: list[str]) -> None:
    assert main(["run", *programs, "--set=count=2", f"--seed={2**64 - 1}"]) == 0


def test_the_end_of_data_is_an_error_of_the_program(
    programs: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    startup, read = programs
    assert main(["run", startup, read, read, "--set=count=1"]) == 2
    assert "error: There is no next data." in capfd.readouterr().err


def test_check_names_all_problems(
    programs: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *programs, "--set=count=1"]) == 0
    (tmp_path / "wrong.pbtxt").write_text(MAIN.replace("numbers", "letters").replace('"x"', '"y"'))
    capfd.readouterr()
    assert main(["check", programs[0], f"--main={tmp_path / 'wrong.pbtxt'}", "--set=count=1"]) == 2
    assert "letters" in capfd.readouterr().err


def test_print_needs_no_operator_to_be_known(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.pbtxt").write_text(MAIN.replace('"read"', '"odd"'))
    assert main(["print", str(tmp_path / "odd.pbtxt")]) == 0
    assert 'type: "odd"' in capfd.readouterr().out


def test_ops_and_formats(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == len(operator_types())
    assert main(["ops", "create_shuffle_reader"]) == 0
    assert "attribute `buffer_size`, INT, required, at least 1" in capfd.readouterr().out
    assert main(["ops", "create_shufle_reader"]) == 2
    assert "did you mean 'create_shuffle_reader'" in capfd.readouterr().err
    assert main(["formats"]) == 0
    formats = capfd.readouterr().out
    assert "`recordio:FILE`" in formats
    assert "`image_folder:FOLDER`" in formats


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run"], 2, "no program is given"),
        (["run", "--main=/nowhere.pbtxt"], 4, "/nowhere.pbtxt"),
        (["run", "--main=/nowhere.pbtxt", "--set=x"], 2, "NAME=VALUE"),
        (["ops", "--plugin=relative.so"], 4, "relative.so"),
        (["walk"], 2, "invalid choice: 'walk'"),
    ],
)
def test_wrong_usage_says_so(
    arguments: list[str], code: int, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        assert main(arguments) == code
    except SystemExit as ended:
        assert ended.code == code
    assert text in capfd.readouterr().err


def test_it_lists_what_it_can_do(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capfd.readouterr().out
    for command in ("run", "check", "print", "ops", "formats", "reference"):
        assert re.search(rf"^    {command}\s", printed, re.MULTILINE)


def test_standard_output_that_cannot_be_written_ends_it(tmp_path: Path) -> None:
    endless = millhopper.Program()
    with millhopper.program_guard(endless, millhopper.Program()):
        more = millhopper.layers.fill_constant([1], "bool", 1)
        with millhopper.layers.While(more).block():
            millhopper.layers.Print(more)
    (tmp_path / "endless.pbtxt").write_text(endless.to_text())
    command = [sys.executable, "-m", "millhopper", "run", f"--main={tmp_path / 'endless.pbtxt'}"]
    # The tests themselves may run without a buffer.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=30
        )
    assert (ended.returncode, ended.stderr.count("No space left on device")) == (4, 1)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("bool [1] = {true}\n")
        process.stdout.close()
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def test_the_reference_is_written_as_html_too(tmp_path: Path) -> None:
    assert main(["reference", f"--html={tmp_path / 'pages'}"]) == 0
    pages = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert set(pages) >= {"index.html", "millhopper.html", "operators.html", "file_formats.html"}
    targets = {name: set(re.findall(r'id="([^"]*)"', text)) for name, text in pages.items()}
    links = [link for text in pages.values() for link in re.findall(r'href="([^"]*)"', text)]
    assert len(links) > len(pages)
    for link in links:
        file, _, anchor = link.partition("#")
        assert file in pages and (not anchor or anchor in targets[file]), link
    assert set(operator_types()) <= targets["operators.html"]
    assert {schema.tag for schema in format_schemas()} <= targets["file_formats.html"]
    # What docstrings and schemas say is text: nothing of it is taken for HTML.
    for text in pages.values():
        tags = set(re.findall(r"<(\w+)", text))
        assert tags <= {*"html head meta title style body h1 h2 h3 h4 p a ul li pre code".split()}
    names = re.findall(r"^### `([\w.]+)", reference.page(), re.M)
    assert set(names) <= set().union(*targets.values())


def test_every_public_name_has_a_docstring_and_is_on_the_page() -> None:
    page = reference.page()
    missing = []

    def visit(path: str, module: object) -> None:
        for name, item in reference.public_names(module):
            if inspect.ismodule(item):
                if f"### `{path}.{name}`\n\nThe same as" not in page:
                    visit(f"{path}.{name}", item)
                continue
            doc = inspect.getdoc(item) or ""
            if callable(item) and "Source:" not in doc:
                missing.append(f"{path}.{name}: its source")
            if inspect.isroutine(item) and not re.search("Raises|raise|rrors", doc):
                missing.append(f"{path}.{name}: its errors")
            if f"`{path}.{name}" not in page:
                missing.append(f"{path}.{name} on the page")
            if isinstance(item, type):
                methods = {
                    member: inspect.getdoc(getattr(item, member))
                    for member, value in reference.parts(item).items()
                    if not member.startswith("_")
                    and inspect.isroutine(getattr(item, member))
                    and value is not None
                }
                missing.extend(
                    f"{path}.{name}.{member}" for member, doc in methods.items() if not doc
                )
                if f"### `{path}.{name}`\n\nDescribed above" not in page:
                    missing.extend(
                        f"{path}.{name}.{member} on the page"
                        for member in methods
                        if f"#### `{path}.{name}.{member}(" not in page
                    )

    visit("millhopper", millhopper)
    assert not missing
    # What Reader is made of is the reader's.
    for method in "open_files from_arrays map apply batch decode_image tokenize zip".split():
        assert f"#### `millhopper.Reader.{method}(" in page
    for operator in operator_types():
        assert f"### `{operator}`" in page
    for schema in format_schemas():
        assert f"### `{schema.tag}`" in page
