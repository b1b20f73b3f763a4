# SPDX-License-Identifier: Apache-2.0
"""Places: the host and its devices, where tensors may be."""

from __future__ import annotations

import os
from collections.abc import Iterable

from millhopper._core import device_names
from millhopper.base.integers import INT32_MAX, integer_within


class _Place:
    """Where memory is; equal if it is the same memory.

    Attributes:
        name: as programs and commands write it: ``"cpu"``, ``"cuda:0"``.
    """

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and (type(self), self.name) == (type(other), other.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class CPUPlace(_Place):
    """The host's memory.

    Source: PaddlePaddle's fluid.core, 2018.
    """

    name = "cpu"


class CUDAPinnedPlace(_Place):
    """The host's memory; what a device copies from is pinned by the double buffer itself.

    Source: PaddlePaddle's fluid.core, 2018.
    """

    name = "cpu"


class CUDAPlace(_Place):
    """The memory of CUDA device ``device_id``, counted from 0.

    That there is such a device, and a build with CUDA, is checked where the place is used.

    Raises:
        TypeError: ``device_id`` is no integer.
        ValueError: it is below 0, or 2**31 or more.

    Source: PaddlePaddle's fluid.core, 2018.
    """

    def __init__(self, device_id: int) -> None:
        self.name = f"cuda:{integer_within('device_id', device_id, 0, INT32_MAX)}"

    def __repr__(self) -> str:
        return f"CUDAPlace({self.name.removeprefix('cuda:')})"


def is_compiled_with_cuda() -> bool:
    """Whether this build can use CUDA devices and there is one.

    Raises nothing.

    Source: PaddlePaddle's fluid.core, 2018, which tells about the build only.
    """
    return get_cuda_device_count() > 0


def get_cuda_device_count() -> int:
    """How many CUDA devices the core can use; 0 in a build without CUDA.

    Raises nothing.

    Source: PaddlePaddle's fluid.core, 2018.
    """
    return sum(name.startswith("cuda:") for name in device_names())


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """The host, as many times as there are places to feed on it.

    Args:
        device_count: how many; by default what the environment's ``CPU_NUM`` says, or the number of
            processors.

    Raises:
        TypeError: ``device_count`` is no integer.
        ValueError: it is below 0, or what ``CPU_NUM`` says is no integer.

    Source: PaddlePaddle's fluid.framework, later than 2018.
    """
    if device_count is None:
        device_count = int(os.environ.get("CPU_NUM") or os.cpu_count() or 1)
    count = integer_within("device_count", device_count, 0, INT32_MAX)
    return [CPUPlace() for _ in range(count)]


def cuda_places(device_ids: Iterable[int] | None = None) -> list[CUDAPlace]:
    """CUDA devices by their numbers; by default all that the core can use.

    That there are such devices is checked where the places are used.

    Raises:
        TypeError: ``device_ids`` is no list.
        ValueError: one of them is no number.

    Source: PaddlePaddle's fluid.framework, later than 2018.
    """
    return [
        CUDAPlace(i) for i in (range(get_cuda_device_count()) if device_ids is None else device_ids)
    ]
