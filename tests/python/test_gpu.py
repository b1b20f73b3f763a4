# SPDX-License-Identifier: Apache-2.0
"""Batches on a GPU, as torch sees them. tools/dev/check_gpu runs this where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.base.places import is_compiled_with_cuda

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.usefixtures("fresh_programs"),
    pytest.mark.skipif(not is_compiled_with_cuda(), reason="there is no GPU, or no build for it"),
]

BATCHES = 100
BATCH_SIZE = 8
WIDTH = 1 << 14


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    """CUDA opens descriptors when it is first used, and keeps them."""
    torch.zeros(1, device="cuda")


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A file of random int64 [BATCHES * BATCH_SIZE, WIDTH]."""
    path = tmp_path / "numbers.bin"
    numbers = np.random.default_rng(1).integers(1 << 40, size=(BATCHES * BATCH_SIZE, WIDTH))
    numbers.astype(np.int64).tofile(path)
    return path


def batches(path: Path, place: str) -> Iterator[fluid.LoDTensor]:
    reader = layers.open_files(f"fixed:{path}", [[1, WIDTH]], [0], ["int64"])
    reader = layers.batch(reader, BATCH_SIZE)
    reader = layers.double_buffer(reader, place=place)
    out = layers.read_file(reader)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    while True:
        try:
            yield executor.run(fetch_list=[out], return_numpy=False)[0]
        except fluid.core.EOFException:
            return


def test_batches_on_the_gpu_are_those_on_the_host(numbers: Path) -> None:
    found = [torch.from_dlpack(batch) for batch in batches(numbers, "cuda:0")]
    assert len(found) == BATCHES
    assert {str(batch.device) for batch in found} == {"cuda:0"}
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        wanted = [np.array(batch) for batch in batches(numbers, "cpu")]
    for there, here in zip(found, wanted):
        np.testing.assert_array_equal(there.cpu().numpy(), here)


def streams() -> dict[str, Any]:
    return {"default": torch.cuda.default_stream(), "other": torch.cuda.Stream()}


@pytest.mark.parametrize("stream", ["default", "other"])
def test_a_batch_is_not_overwritten_before_the_gpu_has_read_it(numbers: Path, stream: str) -> None:
    """A loop queues work that reads a batch, and releases the batch long before it is read."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        wanted = [int(np.asarray(batch).sum()) for batch in batches(numbers, "cpu")]
    sums = []
    with torch.cuda.stream(streams()[stream]):
        for batch in batches(numbers, "cuda:0"):
            torch.cuda._sleep(3_000_000)  # more than a millisecond
            sums.append(torch.from_dlpack(batch).sum())
            del batch
        torch.cuda.synchronize()
        assert [int(value) for value in sums] == wanted


def test_a_copy_of_a_batch_is_made_by_torch(numbers: Path) -> None:
    batch = next(batches(numbers, "cuda:0"))
    assert batch.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError, match="copy it there"):
        batch.__dlpack__(copy=True)
    assert torch.from_dlpack(batch).clone().sum() == int(np.asarray(batch).sum())
