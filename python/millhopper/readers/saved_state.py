# SPDX-License-Identifier: Apache-2.0
"""What ``state_dict`` returns: the form of states, and their bytes as JSON."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from millhopper import _core
from millhopper.base.integers import INT64_MAX, integer_within
from millhopper.base.ranks import find_ranks
from millhopper.base.zipped import zip_strict
from millhopper.errors import Error

_VERSION = 1
_BYTES = "base64"


def new_state(of: str, **fields: object) -> dict[str, Any]:
    """The state of a Reader or a DataLoader, as ``of`` says."""
    return {"millhopper": _VERSION, "of": of, **fields}


def checked_state(of: str, state: object) -> Mapping[str, Any]:
    """The state, if it is one of such an object.

    Raises:
        TypeError: it is no dict.
        Error: it is no state, or that of something else, or of a version that is not known.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"the state is {state!r}; it must be the dict that state_dict returns")
    if "millhopper" not in state or "of" not in state:
        raise Error(f"this is no state of a millhopper.{of}: it has the keys {list(state)}")
    if state["millhopper"] != _VERSION:
        raise Error(
            f"the state has version {state['millhopper']!r}; this program knows version {_VERSION}"
        )
    if state["of"] != of:
        raise Error(f"this is the state of a millhopper.{state['of']}, not of a millhopper.{of}")
    return state


def number_in(state: Mapping[str, Any], name: str) -> int:
    """A number of a state.

    Raises:
        Error: it is missing, no integer, or out of range.
    """
    try:
        return integer_within(name, state[name], 0, INT64_MAX)
    except (KeyError, TypeError, ValueError) as error:
        raise Error(f"the state is wrong: {name}: {error}") from None


def position_in(state: Mapping[str, Any]) -> bytes | None:
    """Where the readers stood.

    Raises:
        Error: it is missing or neither bytes nor None.
    """
    position = state.get("position", 0)
    if position is not None and not isinstance(position, bytes):
        raise Error("the state is wrong: position: it must be bytes or None")
    return position


def merge_states(states: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> dict[str, Any]:
    """The state of all processes that train together, from which any number of them goes on.

    For readers with lanes (``Reader.open_files(..., lanes=16)``), which ranks share: the steps that
    follow are made of the same records for every number of ranks that divides the lanes, each once.
    A rank saves its own state after every step, or every thousandth; to go on with as many ranks
    as before, that is enough. ::

        state = millhopper.merge_states([torch.load(f"rank{r}.pt")["loader"] for r in range(8)])
        loader.load_state_dict(state)  # on each of 4, 16 or any other number of ranks

        # or, where torch.distributed runs, when the states are saved: every rank calls this
        state = millhopper.merge_states(loader.state_dict())

    Args:
        states: what ``state_dict`` of a Reader or a DataLoader returned on each rank after the same
            step, in any order; or this rank's own, which then is gathered from all ranks by
            torch.distributed, or by JAX if ``jax.distributed`` runs. Every rank must call it then.

    Raises:
        TypeError: one of the states is no dict.
        Error: one of them is no state, they are of different kinds or loops, or not those of all
            ranks after the same step; or one stands in another pass, since ranks may have a
            different number of batches.

    Source: Millhopper's own; MosaicML's StreamingDataset resumes on other numbers of ranks, too.
    """
    if isinstance(states, Mapping):
        states = _gathered(states)
    states = list(states)
    if not states:
        raise Error("there is no state to merge")
    kind = states[0].get("of") if isinstance(states[0], Mapping) else "Reader"
    checked = [checked_state("DataLoader" if kind == "DataLoader" else "Reader", s) for s in states]
    if kind == "DataLoader":
        for name in ("seed", "world_size"):
            if len({number_in(state, name) for state in checked}) > 1:
                raise Error(f"the loaders have different numbers in {name}")
        if any("reader" not in state for state in checked):
            raise Error("the loader is for a data set, whose state is that of one rank only")
        reader = merge_states([state["reader"] for state in checked])
        if len({state.get("even") for state in checked}) > 1:
            raise Error("the loaders have different values of even")
        return {**checked[0], "reader": reader, "rank": 0, "world_size": 1}
    epochs = {number_in(state, "epoch") for state in checked}
    positions = [position_in(state) for state in checked]
    at_beginning = [position is None for position in positions]
    if len(epochs) > 1 or len(set(at_beginning)) > 1:
        raise Error(
            f"some ranks are in pass {min(epochs)} and others in pass {max(epochs)}, or at the "
            "beginning and within one: the states must be those after one step"
        )
    if at_beginning[0]:
        return dict(checked[0])
    position = _core.merge_positions([p for p in positions if p is not None])
    return new_state("Reader", epoch=epochs.pop(), position=position)


def _gathered(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The states of all ranks, in their order."""
    ranks = find_ranks()
    if ranks is None or ranks.size == 1:
        return [state]
    if ranks.source == "torch.distributed":
        torch: Any = sys.modules["torch"]
        states: list[Any] = [None] * ranks.size
        torch.distributed.all_gather_object(states, dict(state))
        return states
    if ranks.source == "jax.distributed":
        gather: Any = import_module("jax.experimental.multihost_utils").process_allgather
        text = np.frombuffer(to_json(state), np.uint8)
        sizes = np.ravel(gather(np.array([len(text)])))
        padded = np.zeros(int(max(sizes)), np.uint8)
        padded[: len(text)] = text
        rows = np.asarray(gather(padded)).reshape(len(sizes), -1)
        gathered: list[Any] = [from_json(bytes(r[:size])) for r, size in zip_strict(rows, sizes)]
        return gathered
    raise Error(
        f"this is {ranks}, and nothing gathers the states of all ranks: initialise "
        "torch.distributed, or give merge_states a list of them"
    )


def to_json(state: Mapping[str, Any]) -> bytes:
    """A state as JSON."""
    return json.dumps(state, default=_encoded, sort_keys=True).encode()


def from_json(text: bytes | str | Mapping[str, Any]) -> object:
    """What ``to_json`` was given, of its text or of what ``json.loads`` makes of that.

    Raises:
        TypeError: it is none of these.
        Error: it is no JSON, or a part of it is no base64.
    """
    if isinstance(text, Mapping):
        text = to_json(text)
    if not isinstance(text, (bytes, str)):
        raise TypeError(f"the state is {text!r:.100}; it must be what get_state returns")
    try:
        return json.loads(text, object_hook=_decoded)
    except (ValueError, RecursionError) as error:
        raise Error(f"this is no state that get_state has returned: {error}") from None


def _encoded(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{value!r} cannot be a part of a state")
    return {_BYTES: base64.b64encode(value).decode()}


def _decoded(value: dict[str, Any]) -> object:
    if list(value) != [_BYTES]:
        return value
    if not isinstance(value[_BYTES], str):
        raise ValueError("base64 must be a text")
    return base64.b64decode(value[_BYTES], validate=True)
