# SPDX-License-Identifier: Apache-2.0
"""Names that no other variable has: ``generate("fc")`` gives fc_0, fc_1 ...

Random numbers depend on the names of variables (of readers and parameters alike), so build a
program within ``guard()`` if it must be the same no matter how many were built before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class UniqueNameGenerator:
    """Counts how often each key was asked for; ``prefix`` stands before every name.

    Source: PaddlePaddle's fluid.unique_name, 2018.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._counts: dict[str, int] = {}

    def __call__(self, key: str) -> str:
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        return f"{self._prefix}{key}_{count}"


_generator = UniqueNameGenerator()


def generate(key: str) -> str:
    """``key``, followed by a number that this key has not had yet.

    Raises nothing.

    Source: PaddlePaddle's fluid.unique_name, 2018.
    """
    return _generator(key)


def switch(new_generator: UniqueNameGenerator | None = None) -> UniqueNameGenerator:
    """Names come from another generator from now on, by default a new one; returns the old one.

    Raises nothing.

    Source: PaddlePaddle's fluid.unique_name, 2018.
    """
    global _generator
    old = _generator
    _generator = UniqueNameGenerator() if new_generator is None else new_generator
    return old


@contextlib.contextmanager
def guard(new_generator: UniqueNameGenerator | str | None = None) -> Iterator[None]:
    """Within it names come from another generator; a text is a new one's prefix.

    Raises nothing of its own.

    Source: PaddlePaddle's fluid.unique_name, 2018.
    """
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    old = switch(new_generator)
    try:
        yield
    finally:
        switch(old)
