# SPDX-License-Identifier: Apache-2.0
"""Programs, and which of them layers write into."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from millhopper import _core
from millhopper.base.integers import UINT64_MAX
from millhopper.base.zipped import zip_strict
from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.extras import load_extras
from millhopper.programs.operator import Operator, operator_from_dict
from millhopper.programs.schemas import find_schema
from millhopper.programs.variable import Parameter, Variable, variable_from_dict

# Bits of the attribute op_role, as the lineage numbers them.
BACKWARD_ROLE = 1
OPTIMIZE_ROLE = 2


class Program:
    """Blocks of variables and operators. A new one has an empty global block.

    Layers (``millhopper.layers``) and ``Block.append_op`` write it; ``Executor.run`` runs it, and
    so do the commands, from what ``to_text`` or ``to_bytes`` give.

    ``random_seed`` decides all random numbers together with the ``seed`` attributes and the
    variables' names, as ``--seed`` of the commands does.

    Source: PaddlePaddle's fluid.framework, 2018.
    """

    def __init__(self) -> None:
        self._random_seed = 0
        self.current_block_idx = 0
        self.current_name_scope = ""
        # Whether people wrote it as text, so that errors say what to write there.
        self.is_parsed = False
        self._changes = 0
        self._blocks = [Block(self, 0, -1)]
        self._core: tuple[int, str, _core.Program] | None = None

    @property
    def random_seed(self) -> int:
        """Decides all random numbers; 0 is a seed like any other."""
        return self._random_seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= UINT64_MAX:
            raise ValueError(f"a random_seed is an integer from 0 to {UINT64_MAX}, not {seed!r}")
        self._random_seed = seed

    # ---- Blocks ----

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, by their numbers."""
        return tuple(self._blocks)

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    def global_block(self) -> Block:
        """The block that is run; all others lie in it."""
        return self._blocks[0]

    def block(self, index: int) -> Block:
        """The block of this number."""
        return self._blocks[index]

    def current_block(self) -> Block:
        """The block that layers write into."""
        return self._blocks[self.current_block_idx]

    def create_block(self, parent_idx: int | None = None) -> Block:
        """A new block within the current one (or another); layers write into it from now on."""
        parent = self.current_block_idx if parent_idx is None else parent_idx
        block = Block(self, len(self._blocks), parent)
        self._blocks.append(block)
        self.current_block_idx = block.idx
        self.note_change()
        return block

    def rollback(self) -> None:
        """Layers write into the block around the current one from now on.

        Raises:
            RuntimeError: the global block is the current one.
        """
        if self.current_block_idx == 0:
            raise RuntimeError("the global block is the current one; there is none around it")
        self.current_block_idx = self.current_block().parent_idx

    def list_vars(self) -> Iterator[Variable]:
        """The variables of all blocks."""
        for block in self._blocks:
            yield from block.vars.values()

    def all_parameters(self) -> list[Parameter]:
        """The parameters of all blocks."""
        return [variable for variable in self.list_vars() if isinstance(variable, Parameter)]

    # ---- Copies ----

    def clone(self, for_test: bool = False) -> Program:
        """A copy that shares nothing with this program.

        Args:
            for_test: leave out the operators that ``append_backward`` and optimizers made, and set
                the attribute ``is_test`` of those that have it.
        """
        other = Program()
        other.random_seed = self.random_seed
        other.is_parsed = self.is_parsed
        other._blocks = [Block(other, block.idx, block.parent_idx) for block in self._blocks]
        for block, mine in zip_strict(self._blocks, other._blocks):
            mine.forward_block_idx = block.forward_block_idx
            for variable in block.vars.values():
                mine.add_var(_copy_var(variable, mine, variable.name))
            for op in block.ops:
                if not (for_test and _is_training(op)):
                    double_op = op.copied(other._blocks)
                    schema = find_schema(op.type)
                    if for_test and schema is not None and schema.attribute("is_test") is not None:
                        double_op.set_attr("is_test", True)
                    mine.add_op(double_op)
        other.current_block_idx = self.current_block_idx
        return other

    def append_program(self, other: Program) -> dict[str, str]:
        """Appends copies of another program's blocks: this program does what the other one does.

        Returns:
            What the variables of the other's global block are called here: where a name is taken,
            another one.
        """
        taken = {variable.name for each in (self, other) for variable in each.list_vars()}
        names = {}
        for name in other.global_block().vars:
            names[name] = name
            if name in self.global_block().vars:
                numbered = (f"{name}_{i}" for i in itertools.count(2))
                names[name] = next(new for new in numbered if new not in taken)
                taken.add(names[name])
        blocks = [self.global_block()]
        current = self.current_block_idx
        for block in other._blocks[1:]:
            blocks.append(self.create_block(blocks[block.parent_idx].idx))
        self.current_block_idx = current
        renamed: list[dict[str, str]] = []  # by block, what the variables that it sees are called
        for block, mine in zip_strict(other._blocks[1:], blocks[1:]):
            forward = block.forward_block_idx
            mine.forward_block_idx = forward if forward < 0 else blocks[forward].idx
        for block, mine in zip_strict(other._blocks, blocks):
            seen = {} if block.idx == 0 else dict(renamed[block.parent_idx])
            seen.update(names if block.idx == 0 else {name: name for name in block.vars})
            renamed.append(seen)
            for name, variable in block.vars.items():
                mine.add_var(_copy_var(variable, mine, seen[name]))
            for op in block.ops:
                mine.add_op(op.copied(blocks, seen))
        return names

    # ---- As messages ----

    def note_change(self) -> None:
        """What the core holds of this program is out of date. Blocks and variables call it."""
        self._changes += 1

    def core_program(self, name: str = "program") -> _core.Program:
        """The program as the core holds it, made anew when this one has been changed since.

        Args:
            name: what error texts call it.

        Raises:
            Error: it cannot be a program at all; ``check`` of the result tells what else is wrong.
        """
        if self._core is None or self._core[:2] != (self._changes, name):
            content = self.to_json()
            load_extras(content)
            made = _core.Program.from_json(content, name)
            self._core = (self._changes, name, made)
        return self._core[2]

    def binary_core_program(self, name: str) -> _core.Program:
        """The same, made anew, whose error texts number operators in place of lines."""
        return _core.Program(self.to_bytes(), name)

    def to_dict(self) -> dict[str, Any]:
        """The message ProgramDesc, in protobuf's JSON mapping."""
        return {"blocks": [block.to_dict() for block in self._blocks]}

    def to_json(self) -> str:
        """The message ProgramDesc as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_text(self) -> str:
        """Protobuf text, which ``python -m millhopper``, ``parse_from_string``, and the commands
        ``executor`` and ``peek`` of a build of the sources, read."""
        return self.core_program().to_text()

    def to_bytes(self) -> bytes:
        """Protobuf's binary form; what the lineage saves as a program."""
        content = self.to_json()
        load_extras(content)
        return _core.Program.binary_of_json(content, "program")

    @property
    def desc(self) -> ProgramDesc:
        """The message, as the lineage's C++ class shows it: ``serialize_to_string`` ..."""
        return ProgramDesc(self)

    @staticmethod
    def parse_from_string(
        content: bytes | str, settings: Mapping[str, str] | None = None
    ) -> Program:
        """The program of protobuf text or binary, by its content. Operators are not checked.

        Args:
            content: text, or the bytes of text or of the binary form.
            settings: texts that take the place of ``${name}`` in text.

        Raises:
            Error: it cannot be parsed; every problem is named with its line.
        """
        return Program.of_core(_core.Program(content, "program", dict(settings or {})))

    @staticmethod
    def of_core(parsed: _core.Program) -> Program:
        """A program that the core has parsed. Operators are not checked."""
        program = program_from_dict(json.loads(parsed.to_json()))
        program.is_parsed = True
        return program

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Blocks, variables and operators, one a line. The arguments have no effect here."""
        return str(self)

    def __str__(self) -> str:
        return "\n".join(str(block) for block in self._blocks)

    def __repr__(self) -> str:
        return f"<Program of {len(self._blocks)} blocks>"


class ProgramDesc:
    """The message of a program with the names of the lineage's C++ class."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def serialize_to_string(self) -> bytes:
        """Protobuf's binary form."""
        return self._program.to_bytes()

    def num_blocks(self) -> int:
        """How many blocks there are."""
        return self._program.num_blocks


def program_from_dict(message: Mapping[str, Any]) -> Program:
    """The program of a message ProgramDesc, in protobuf's JSON mapping.

    Raises:
        ValueError: there is no block, or a block's ``idx`` is not its position.
    """
    program = Program()
    described = message.get("blocks", [])
    if not described:
        raise ValueError("the program has no block")
    program._blocks = [Block(program, block["idx"], block["parent_idx"]) for block in described]
    for index, block in enumerate(program._blocks):
        if block.idx != index:
            raise ValueError(f"block {index} of the program says that its idx is {block.idx}")
    for block, content in zip_strict(program._blocks, described):
        block.forward_block_idx = content.get("forward_block_idx", -1)
        for variable in content.get("vars", ()):
            block.add_var(variable_from_dict(block, variable))
        for op in content.get("ops", ()):
            block.add_op(operator_from_dict(block, op, program._blocks))
    return program


def _copy_var(variable: Variable, block: Block, name: str) -> Variable:
    """The variable for another block."""
    double = copy.copy(variable)
    double.block = block
    double.name = name
    if isinstance(double, Parameter):
        double.optimize_attr = dict(double.optimize_attr)
    return double


def _is_training(op: Operator) -> bool:
    return op.has_attr("op_role") and bool(op.attr("op_role") & (BACKWARD_ROLE | OPTIMIZE_ROLE))


# ---- Which programs layers write into ----

_main_program = Program()
_startup_program = Program()


def default_main_program() -> Program:
    """The program that layers write operators into.

    Raises nothing.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    return _main_program


def default_startup_program() -> Program:
    """The program into which layers write what is done once: readers are created in it, and
    parameters get their first values.

    Raises nothing.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    return _startup_program


def new_programs() -> tuple[Program, Program]:
    """Layers write into new, empty programs from now on, and names are counted from 0 again.

    A cell of a notebook that writes programs begins with it, so that it can run again::

        millhopper.new_programs()
        image = layers.data("image", [64])

    Returns:
        The startup program and the main program.

    Raises nothing.

    Source: Millhopper's own; PaddlePaddle's fluid has program_guard and unique_name.guard.
    """
    switch_startup_program(Program())
    switch_main_program(Program())
    unique_name.switch()
    return default_startup_program(), default_main_program()


def switch_main_program(program: Program) -> Program:
    """Layers write into another program from now on; returns the one before.

    Raises:
        TypeError: it is no program.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    global _main_program
    _check_program(program, "main")
    old, _main_program = _main_program, program
    return old


def switch_startup_program(program: Program) -> Program:
    """Layers use another startup program from now on; returns the one before.

    Raises:
        TypeError: it is no program.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    global _startup_program
    _check_program(program, "startup")
    old, _startup_program = _startup_program, program
    return old


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Within it layers write into these programs.

    Args:
        main_program: takes the operators.
        startup_program: takes what is done once; by default the one that is in use.

    Raises:
        TypeError: one of them is no program.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    _check_program(main_program, "main")
    if startup_program is not None:
        _check_program(startup_program, "startup")
    old_main = switch_main_program(main_program)
    old_startup = switch_startup_program(startup_program or _startup_program)
    try:
        yield
    finally:
        switch_main_program(old_main)
        switch_startup_program(old_startup)


@contextlib.contextmanager
def name_scope(prefix: str) -> Iterator[None]:
    """Within it operators of the main program carry the attribute ``op_namescope``, for tools.

    Scopes nest: ``/encoder/attention/``. Nothing is named otherwise by it.

    Raises:
        ValueError: the prefix is empty or holds a slash.

    Source: PaddlePaddle's fluid.framework, 2018.
    """
    if not prefix or "/" in prefix:
        raise ValueError(f"a name scope is a name without slashes, not {prefix!r}")
    program = _main_program
    old = program.current_name_scope
    program.current_name_scope = f"{old or '/'}{prefix}/"
    try:
        yield
    finally:
        program.current_name_scope = old


def _check_program(program: object, which: str) -> None:
    if not isinstance(program, Program):
        raise TypeError(f"the {which} program is a Program, not {program!r}")
