# SPDX-License-Identifier: Apache-2.0
"""The rooms of the package: which module imports which, and the names that users type."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import millhopper
import pytest

PACKAGE = Path(millhopper.__file__).parent

# What each room may import from, beside itself and the modules below.
ROOMS: dict[str, set[str]] = {
    "base": set(),
    "process": {"base"},
    "programs": {"base"},
    "readers": {"base", "process", "programs"},
    "loader": {"base", "readers"},
    "dataset": {"base", "readers"},
    "vision": {"base", "readers"},
    "fluid": {"base", "process", "programs", "readers", "dataset"},
    "command": {"programs", ""},  # it describes the whole package
}
# The core imports errors and ragged by these names, so the code of both is at the top level.
FOR_ALL = {"_core", "errors", "ragged"}


def modules() -> dict[str, Path]:
    """Every module of the package by its name within it; "" is the package itself."""
    found = {"_core": PACKAGE / "_core.pyi"}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(tree: ast.AST, of_types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module and of its functions, with those that only type checkers make."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif of_types or not is_for_types_only(node):
            yield from imports(node, of_types)


def imported(path: Path, known: set[str], of_types: bool) -> set[str]:
    """The modules of the package that a file imports."""
    found = set()
    for node in imports(ast.parse(path.read_text()), of_types):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            top, _, inner = name.partition(".")
            if top == "millhopper":
                module, _, last = inner.rpartition(".")
                found.add(inner if inner in known else module if last else "")
    return found


def edges(of_types: bool = False) -> dict[str, set[str]]:
    known = modules()
    return {name: imported(path, set(known), of_types) for name, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The circles: sets of two or more modules that all reach one another."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for name in graph.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return found

    reach = {name: reached(name) for name in graph}
    found = {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in graph
        if name in reach[name]
    }
    return [set(circle) for circle in found]


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [{"a", "b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_module_is_in_a_circle_of_imports() -> None:
    assert circles(edges()) == []


def test_only_parts_of_programs_name_one_another_as_types() -> None:
    # A program has blocks, they have operators and variables, and each tells whose it is.
    (parts,) = circles(edges(of_types=True))
    names = "program block operator variable arithmetic inference"
    assert parts == {f"programs.{name}" for name in names.split()}


def test_a_room_imports_those_below_it() -> None:
    for module, others in edges(of_types=True).items():
        room = module.partition(".")[0]
        if room not in ROOMS:
            continue
        for other in others - FOR_ALL:
            used = other.partition(".")[0]
            assert used == room or used in ROOMS[room], f"{module} imports {other}"


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {*ROOMS, "layers", "reader"}


def test_modules_beside_the_rooms_hold_no_code() -> None:
    for name, path in modules().items():
        if name in FOR_ALL | {"__main__"} or name.partition(".")[0] in ROOMS:
            continue
        for node in ast.parse(path.read_text()).body:
            assert isinstance(
                node, (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AugAssign)
            ), f"{path}:{node.lineno} is code; its place is a room"


def test_names_of_the_lineage_are_those_of_fluid() -> None:
    beside = [name for name in modules() if name and f"fluid.{name}" in modules()]
    assert {"layers", "layers.ops", "optimizer", "reader.decorator"} <= set(beside)
    for name in beside:
        module = importlib.import_module(f"millhopper.{name}")
        fluid = importlib.import_module(f"millhopper.fluid.{name}")
        assert (module.__all__, module.__doc__) == (fluid.__all__, fluid.__doc__)
        for public in fluid.__all__:
            item = getattr(fluid, public)
            if not isinstance(item, ModuleType):
                assert getattr(module, public) is item
    for name in millhopper.fluid.__all__:
        assert hasattr(millhopper, name)
    assert millhopper.layers.relu is millhopper.fluid.layers.ops.relu
    assert "relu" in dir(millhopper.layers)
    assert "relu" in dir(millhopper.layers.ops)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("backward", "append_backward"),
        ("core", "AttrType CPUPlace CUDAPlace CUDAPinnedPlace EOFException EnforceNotMet Reader"),
        ("core", "LoDTensor LoDTensorArray LoDTensorBlockingQueue RecordIOWriter Scope Tensor"),
        ("core", "VarDesc Variable from_dlpack get_fetch_variable set_feed_variable cpu_places"),
        ("data_feeder", "DataFeeder"),
        ("dataset.mnist", "train test"),
        ("dataset.digits", "train test"),
        ("errors", "Error EndOfData"),
        ("executor", "Executor global_scope scope_guard"),
        ("framework", "Block Operator Parameter Program VarType Variable program_guard name_scope"),
        ("framework", "default_main_program default_startup_program convert_np_dtype_to_dtype_"),
        ("initializer", "Constant Uniform Normal Xavier MSRA ConstantInitializer Initializer"),
        ("io", "PyReader"),
        ("layer", "data"),
        ("layers.control_flow", "While IfElse Switch ConditionalBlock"),
        ("layers.io", "data open_files batch shuffle py_reader create_py_reader_by_data load"),
        ("layers.nn", "fc cross_entropy"),
        ("layers.ops", "mean"),
        ("layers.tensor", "fill_constant assign"),
        ("lod_tensor", "create_lod_tensor create_random_int_lodtensor"),
        ("minibatch", "batch"),
        ("optimizer", "SGD Momentum Adam SGDOptimizer MomentumOptimizer AdamOptimizer Optimizer"),
        ("param_attr", "ParamAttr"),
        ("ragged", "Ragged"),
        ("reader", "buffered xmap_readers multiprocess_reader PipeReader shuffle chain compose"),
        ("reader.creator", "np_array text_file recordio"),
        ("reader.decorator", "buffered xmap_readers cache firstn map_readers"),
        ("recordio_writer", "create_recordio_writer convert_reader_to_recordio_file"),
        ("recordio_writer", "convert_reader_to_recordio_files"),
        ("unique_name", "generate guard switch UniqueNameGenerator"),
        ("fluid", "layers core framework io optimizer initializer executor param_attr backward"),
        ("fluid", "CPUPlace CUDAPlace Program program_guard default_main_program Executor"),
        ("fluid", "DataFeeder ParamAttr LoDTensor Scope global_scope scope_guard recordio_writer"),
        ("fluid.io", "PyReader"),
        ("fluid.layers.nn", "fc"),
    ],
)
def test_what_users_import_is_there(module: str, names: str) -> None:
    found = importlib.import_module(f"millhopper.{module}")
    for name in names.split():
        assert getattr(found, name) is not None


def test_the_readme_of_python_names_what_there_is() -> None:
    folder = Path(__file__).resolve().parents[2] / "python"
    names = re.findall(r"`([a-z_/]+(?:\.py|\.h|\.cc|\.pyi|/))`", (folder / "README.md").read_text())
    assert len(names) > 40
    there = [f"{path.as_posix()}/" for path in folder.rglob("*")]
    for name in names:
        is_in_python = any(path.endswith(f"/{name.removesuffix('/')}/") for path in there)
        assert is_in_python or (folder.parent / name).exists(), f"{name} is nowhere"
