# SPDX-License-Identifier: Apache-2.0
"""Objects that tell where they stand by ``state_dict``, and their states as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from millhopper.errors import Error


@runtime_checkable
class Stateful(Protocol):
    """What tells where it stands, and goes there.

    Source: the Stateful protocols of torchdata and torch.distributed.checkpoint.
    """

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any], /) -> Any: ...


def state_text(holder: object) -> str | None:
    """The state of an object as JSON; None if it has none.

    Raises:
        Error: JSON would give back something else.
    """
    if not isinstance(holder, Stateful):
        return None
    state = holder.state_dict()
    name = type(holder).__name__
    try:
        text = json.dumps(state, allow_nan=False)
        same = json.loads(text) == state
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"the state_dict of {name!r} cannot be saved: {error}") from error
    if not same:
        raise Error(
            f"the state_dict of {name!r} cannot be saved, because JSON would not give it back: it "
            "may have dicts with texts as keys, lists, texts, numbers, True, False and None, and "
            f"no tuples; it is {state!r:.200}"
        )
    return text


def state_in(text: str) -> dict[str, Any]:
    """What ``state_text`` was given.

    Raises:
        Error: it is no JSON, or no dict.
    """
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Error(f"the state is wrong: the data set's is no JSON: {error}") from None
    if not isinstance(state, dict):
        raise Error("the state is wrong: the data set's is no dict")
    return state
