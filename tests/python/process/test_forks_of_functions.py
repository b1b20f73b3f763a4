# SPDX-License-Identifier: Apache-2.0
"""Processes that are started while functions of map run, or by such functions."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import millhopper
import numpy as np

SLOTS = {"x": ("float32", [1, 2])}
COUNT = 64


def source() -> millhopper.Reader:
    return millhopper.Reader.create("create_random_data_generator", slots=SLOTS, count=COUNT)


def test_functions_may_fork_at_once() -> None:
    def function(element: dict[str, Any]) -> dict[str, Any]:
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        return {"x": np.array(element["x"])}

    assert len(list(source().map(function, slots=SLOTS).batch(8).double_buffer(4))) == COUNT // 8


def test_functions_may_run_programs() -> None:
    def function(element: dict[str, Any]) -> dict[str, Any]:
        subprocess.run(["true"], check=True, group=os.getgid())
        return {"x": np.array(element["x"])}

    assert len(list(source().map(function, slots=SLOTS).batch(8).double_buffer(4))) == COUNT // 8


def test_programs_of_a_group_start_while_functions_are_at_work() -> None:
    def function(element: dict[str, Any]) -> dict[str, Any]:
        return {"x": np.array([[float(value) for value in element["x"][0]]], np.float32)}

    batches = iter(source().map(function, slots=SLOTS).batch(4).double_buffer(8))
    for _ in range(COUNT // 4):
        next(batches)
        subprocess.run(["true"], check=True, group=os.getgid())  # Python forks without its hooks
    assert next(batches, None) is None
