# SPDX-License-Identifier: Apache-2.0
"""Places, as the lineage counts them."""

from __future__ import annotations

import os

import millhopper as fluid
import pytest


def test_cpu_places_are_as_many_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fluid.cpu_places(3) == [fluid.CPUPlace()] * 3
    monkeypatch.setenv("CPU_NUM", "5")
    assert len(fluid.cpu_places()) == 5
    monkeypatch.delenv("CPU_NUM")
    assert len(fluid.cpu_places()) == os.cpu_count()


def test_cuda_places_are_those_that_there_are() -> None:
    assert len(fluid.cuda_places()) == fluid.core.get_cuda_device_count()
    assert fluid.is_compiled_with_cuda() == bool(fluid.cuda_places())
    assert fluid.cuda_places([1, 0]) == [fluid.CUDAPlace(1), fluid.CUDAPlace(0)]
