# SPDX-License-Identifier: Apache-2.0
"""Executor and scopes under PaddlePaddle's module name; the code is in ``running.executor``."""

from millhopper.programs.scope import global_scope, scope_guard
from millhopper.running.executor import Executor

__all__ = ["Executor", "global_scope", "scope_guard"]
