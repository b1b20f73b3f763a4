# SPDX-License-Identifier: Apache-2.0
"""Methods of Executor that save where programs stand, so that another process can resume."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from millhopper import _core
from millhopper._core import Scope
from millhopper.base.integers import INT64_MAX, integer_within
from millhopper.base.paths import Path
from millhopper.errors import Error
from millhopper.programs.program import Program, default_main_program
from millhopper.programs.scope import global_scope
from millhopper.readers.saved_state import checked_state, from_json, new_state, to_json

__all__ = ["SavingPrograms"]


class SavingPrograms:
    """The methods of an Executor.

    What is saved is what lies between two runs of a main program: the variables of the scope,
    parameters and all others, the places of its readers, and the program, which must be the same
    when it is resumed. Variables that hold neither a tensor nor a reader, such as lists of tensors,
    are left out, and named in a warning on standard error, once. ::

        executor.run(startup)  # makes the readers and the parameters
        executor.load_checkpoint("checkpoints")  # False, and nothing is changed, if there is none
        while training():
            executor.run(main)
            if time_to_save():
                executor.save_checkpoint("checkpoints")

    The readers that the startup program makes must not have been read before a state is loaded. A
    ``py_reader`` has been started by then: batches that it had in store are taken from its provider
    again.

    Source: Millhopper's own.
    """

    def state_dict(
        self, program: Program | None = None, scope: Scope | None = None
    ) -> dict[str, Any]:
        """All that programs in a scope are, as a dict of numbers, texts and bytes.

        Args:
            program: the main program to resume; by default ``default_main_program()``.
            scope: by default ``global_scope()``.

        Raises:
            TypeError: ``program`` or ``scope`` is none.
            Error: a reader cannot say where it stands, or was read before it was known that it
                would be saved. The message names it.
        """
        core, seed, scope = _program_and_scope(program, scope)
        return new_state("Executor", checkpoint=_core.save_scope(scope, core, seed))

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        program: Program | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Gives the variables and readers of a scope what they had.

        Args:
            state_dict: what ``state_dict`` has returned, here or in another process.
            program: as in ``state_dict``.
            scope: as in ``state_dict``. The startup program has run in it.

        Raises:
            TypeError: the state is no dict, or ``program`` or ``scope`` is none.
            Error: it is no state of an Executor, or of another program, another seed, other readers
                or other files, and then the message says what differs; or a reader has been read
                already: the startup program must be run again.
        """
        checkpoint = checked_state("Executor", state_dict).get("checkpoint")
        if not isinstance(checkpoint, bytes):
            raise Error("the state is wrong: checkpoint: it must be bytes")
        core, seed, scope = _program_and_scope(program, scope)
        _core.restore_scope(scope, core, seed, checkpoint)

    def get_state(self, program: Program | None = None, scope: Scope | None = None) -> bytes:
        """What ``state_dict`` returns, as JSON in bytes.

        Raises:
            TypeError, Error: as ``state_dict``.
        """
        return to_json(self.state_dict(program, scope))

    def set_state(
        self,
        state: bytes | str | Mapping[str, Any],
        program: Program | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Goes to a state that ``get_state`` has returned, as ``load_state_dict`` does.

        Args:
            state: these bytes, the same as a text, or the dict that ``json.loads`` makes of them.
            program, scope: as for ``load_state_dict``.

        Raises:
            TypeError: it is none of these.
            Error: as ``load_state_dict``.
        """
        self.load_state_dict(from_json(state), program, scope)  # type: ignore[arg-type]

    def save_checkpoint(
        self,
        directory: Path,
        program: Program | None = None,
        scope: Scope | None = None,
        *,
        keep: int = 3,
    ) -> None:
        """Writes the state into a folder, as the executor command writes its checkpoints.

        The file appears when it is whole and on the disk. ``peek --state`` prints what it holds.

        Args:
            directory: a folder for the checkpoints of one run, which is made if there is none; or
                one in an object store, such as ``"s3://bucket/run"``.
            program: as in ``state_dict``.
            scope: as in ``state_dict``.
            keep: how many checkpoints stay: the newest ones.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: ``keep`` is below 1.
            Error: as ``state_dict``; or the file cannot be written, or another process saves into
                the folder, or loads from it, at this moment, which is noticed on local disks only.
        """
        most = integer_within("save_checkpoint: keep", keep, 1, INT64_MAX)
        core, seed, scope = _program_and_scope(program, scope)
        _core.write_scope(scope, core, seed, os.fspath(directory), most)

    def load_checkpoint(
        self, directory: Path, program: Program | None = None, scope: Scope | None = None
    ) -> bool:
        """Resumes from the newest whole checkpoint of a folder.

        Damaged ones are passed over, with a warning that says what is wrong.

        Args:
            directory: the folder that ``save_checkpoint`` was given.
            program: as in ``state_dict``.
            scope: as in ``load_state_dict``.

        Returns:
            False if there is none; then nothing is changed.

        Raises:
            TypeError: an argument is of the wrong type.
            Error: as ``load_state_dict``; or the folder cannot be read, or another process saves
                into it, or loads from it, at this moment.
        """
        core, seed, scope = _program_and_scope(program, scope)
        found, damaged = _core.read_scope(scope, core, seed, os.fspath(directory))
        for problem in damaged:
            warnings.warn(f"a checkpoint is passed over: {problem}", stacklevel=2)
        return found


def _program_and_scope(
    program: Program | None, scope: Scope | None
) -> tuple[_core.Program, int, Scope]:
    if program is None:
        program = default_main_program()
    if not isinstance(program, Program):
        raise TypeError(f"program is {program!r}; it must be a Program")
    return program.core_program(), program.random_seed, global_scope() if scope is None else scope
