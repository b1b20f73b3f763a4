# SPDX-License-Identifier: Apache-2.0
"""States as Accelerate, torch.save and torch.distributed.checkpoint, and so torchtitan, keep them.

What torch.distributed.checkpoint does with an object that has ``state_dict`` and
``load_state_dict`` is played by a stand-in, so that it is tested where there is no torch, too.

Source: the documentation of torch.distributed.checkpoint, and of Accelerate's
``register_for_checkpointing``.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import millhopper
import numpy as np
import pytest
from number_files import open_numbers, write_numbers

RECORDS = 60
HAS_TORCH = find_spec("torch") is not None
NO_TORCH = "PyTorch is not installed"


@runtime_checkable
class Stateful(Protocol):
    """As ``torch.distributed.checkpoint.stateful.Stateful``."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


class Stream:
    """A data set with its own state."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> Iterator[int]:
        while self.at < RECORDS:
            self.at += 1
            yield self.at
        self.at = 0

    def state_dict(self) -> dict[str, Any]:
        # Not the keys that it has in the beginning.
        return {"at": self.at, **({"begun": [True]} if self.at else {})}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.at = state_dict["at"]


def reader_of(path: Path) -> millhopper.Reader:
    return open_numbers(path).shuffle(20, seed=3).batch(7).double_buffer(4)


def samples_of(path: Path) -> millhopper.DataLoader:
    return millhopper.DataLoader(list(range(RECORDS)), batch_size=7, shuffle=True, seed=5)


def stream_of(path: Path) -> millhopper.DataLoader:
    return millhopper.DataLoader(Stream(), batch_size=7)


def texts(batches: Any) -> list[str]:
    rows = [batch["row"] if isinstance(batch, dict) else batch for batch in batches]
    return [str(row.tolist() if hasattr(row, "tolist") else row) for row in rows]


class NoGlobals(pickle.Unpickler):
    """Loads numbers, texts, bytes, lists and dicts, as ``torch.load(weights_only=True)`` does."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def flat(state: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    leaves: dict[tuple[str, ...], Any] = {}
    for key, value in state.items():
        if isinstance(value, Mapping):
            leaves.update(flat(value, (*path, key)))
        else:
            leaves[(*path, key)] = value
    return leaves


def distributed_save(objects: Mapping[str, Stateful]) -> dict[tuple[str, ...], bytes]:
    """Every value under its path, on its own."""
    states = {name: one.state_dict() for name, one in objects.items()}
    return {path: pickle.dumps(value) for path, value in flat(states).items()}


def distributed_load(
    saved: Mapping[tuple[str, ...], bytes], objects: Mapping[str, Stateful]
) -> None:
    """Puts values in place of those that the objects have, and gives the objects the result."""
    states: dict[str, Any] = {name: one.state_dict() for name, one in objects.items()}
    for path in flat(states):
        at = states
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = NoGlobals(io.BytesIO(saved[path])).load()
    for name, one in objects.items():
        one.load_state_dict(states[name])


def by_distributed_checkpoint(old: Stateful, new: Stateful) -> None:
    distributed_load(distributed_save({"loader_0": old}), {"loader_0": new})


def by_accelerate(old: Stateful, new: Stateful) -> None:
    # register_for_checkpointing asks for these two.
    assert all(hasattr(one, name) for one in (old, new) for name in dir(Stateful) if name[0] != "_")
    file = io.BytesIO(pickle.dumps(old.state_dict()))
    new.load_state_dict(NoGlobals(file).load())


def by_torch(old: Stateful, new: Stateful) -> None:
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save({"model": {}, "loader": old.state_dict()}, file)
    file.seek(0)
    new.load_state_dict(torch.load(file, weights_only=True, map_location="cpu")["loader"])


@pytest.fixture
def by_torch_distributed(tmp_path: Path) -> Callable[[Stateful, Stateful], None]:
    if not HAS_TORCH:
        pytest.skip(NO_TORCH)

    def carry(old: Stateful, new: Stateful) -> None:
        dcp = pytest.importorskip("torch.distributed.checkpoint")
        if not hasattr(dcp, "save"):
            pytest.skip("it needs PyTorch 2.2, which has brought save and its checkpoint_id")
        dcp.save({"loader_0": old}, checkpoint_id=tmp_path / "saved")
        dcp.load({"loader_0": new}, checkpoint_id=tmp_path / "saved")

    return carry


@pytest.mark.parametrize("make", [reader_of, samples_of, stream_of])
@pytest.mark.parametrize(
    "carry", [by_distributed_checkpoint, by_accelerate, by_torch, "by_torch_distributed"]
)
@pytest.mark.parametrize("taken", [0, 3, 9])
def test_a_state_goes_through_each_of_them(
    tmp_path: Path,
    torch_or_stand_in: None,
    request: pytest.FixtureRequest,
    make: Callable[[Path], Any],
    carry: Any,
    taken: int,
) -> None:
    if carry is by_torch and not HAS_TORCH:
        pytest.skip(NO_TORCH)  # later, it would keep a reader that has its file open
    if isinstance(carry, str):
        carry = request.getfixturevalue(carry)
    path = write_numbers(tmp_path / "numbers.bin", RECORDS)
    old = make(path)
    assert isinstance(old, Stateful)
    loop = iter(old)
    texts(islice(loop, taken))
    new = make(path)
    carry(old, new)
    assert texts(new) == texts(loop)
    assert texts(new) == texts(old)


@pytest.mark.parametrize("carry", [by_distributed_checkpoint, by_accelerate])
def test_programs_go_through_them(carry: Callable[[Stateful, Stateful], None]) -> None:
    """The default program, in the global scope."""

    class Steps:
        """An Executor in a scope."""

        def __init__(self, steps: int) -> None:
            self.scope, self.executor = millhopper.core.Scope(), millhopper.Executor()
            self.tensor().set(np.array([steps]), millhopper.CPUPlace())

        def tensor(self) -> Any:
            return self.scope.var("steps").get_tensor()

        def state_dict(self) -> dict[str, Any]:
            with millhopper.scope_guard(self.scope):
                return self.executor.state_dict()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            with millhopper.scope_guard(self.scope):
                self.executor.load_state_dict(state_dict)

    old, new = Steps(7), Steps(9)
    assert isinstance(old.executor, Stateful)
    carry(old, new)
    assert np.array(new.tensor()).tolist() == [7]


def test_each_rank_needs_a_key_of_its_own(torch_or_stand_in: None) -> None:
    """Of equal keys one value is kept, so that a rank would get the state of another one."""

    def loader(rank: int) -> millhopper.DataLoader:
        return millhopper.DataLoader(list(range(RECORDS)), 7, num_shards=2, index=rank)

    kept = distributed_save({"loader": loader(0)})
    kept.update(distributed_save({"loader": loader(1)}))
    with pytest.raises(millhopper.Error, match="that of rank 1 of 2; this is rank 0 of 2"):
        distributed_load(kept, {"loader": loader(0)})
    kept = {}
    for rank in (0, 1):
        kept.update(distributed_save({f"loader_{rank}": loader(rank)}))
    for rank in (0, 1):
        distributed_load(kept, {f"loader_{rank}": loader(rank)})
