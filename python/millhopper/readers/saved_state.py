# SPDX-License-Identifier: Apache-2.0
"""What ``state_dict`` returns: the form of states, and their bytes as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from millhopper.base.integers import INT64_MAX, integer_within
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


def to_json(state: Mapping[str, Any]) -> bytes:
    """A state as JSON."""
    return json.dumps(state, default=_encoded, sort_keys=True).encode()


def from_json(text: bytes | str) -> object:
    """What ``to_json`` was given.

    Raises:
        TypeError: it is neither bytes nor a text.
        Error: it is no JSON, or a part of it is no base64.
    """
    if not isinstance(text, (bytes, str)):
        raise TypeError(f"the state is {text!r}; it must be the bytes that get_state returns")
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
