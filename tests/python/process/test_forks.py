# SPDX-License-Identifier: Apache-2.0
"""Objects of the parent in a forked process."""

from __future__ import annotations

import os
from collections.abc import Callable

from millhopper.base.forks import OwnProcess, end_of_pipe, left_open_in_child
from millhopper.base.zipped import zip_strict


def in_child(check: Callable[[], bool]) -> bool:
    """Returns the result of ``check`` in a forked process."""
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = check()
        finally:
            os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_object_belongs_to_the_process_that_made_it() -> None:
    parents = OwnProcess()
    assert parents.is_this

    def check() -> bool:
        childs = OwnProcess()
        below = in_child(lambda: not parents.is_this and not childs.is_this)
        return below and childs.is_this and not parents.is_this and parents.id == os.getppid()

    assert in_child(check)
    assert parents.is_this


def test_a_child_keeps_only_the_end_of_a_pipe_that_it_is_forked_for() -> None:
    receiving, sending = (
        end_of_pipe(descriptor, mode) for descriptor, mode in zip_strict(os.pipe(), ("rb", "wb"))
    )
    with receiving, sending:
        assert in_child(lambda: receiving.closed and sending.closed)
        with left_open_in_child(sending):
            kept = in_child(
                lambda: receiving.closed
                and sending.write(b"x") == 1
                and in_child(lambda: sending.closed)
            )
        assert kept and receiving.read(1) == b"x"
        assert in_child(lambda: sending.closed)
        assert not (receiving.closed or sending.closed)
