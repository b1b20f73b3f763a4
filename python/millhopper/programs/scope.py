# SPDX-License-Identifier: Apache-2.0
"""The scope that programs run in unless they are given another one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from millhopper._core import Scope

_scope = Scope()


def global_scope() -> Scope:
    """The scope that programs run in unless they are given another one.

    Raises nothing.

    Source: PaddlePaddle's fluid.executor, 2018.
    """
    return _scope


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Within ``with``, ``scope`` is the global scope.

    Raises nothing of its own.

    Source: PaddlePaddle's fluid.executor, 2018.
    """
    global _scope  # what the lineage's programs expect to be one for all threads
    before, _scope = _scope, scope
    try:
        yield
    finally:
        _scope = before
