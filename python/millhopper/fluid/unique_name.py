# SPDX-License-Identifier: Apache-2.0
"""Unique names of variables: ``generate("fc")`` returns fc_0, then fc_1 and so on.

The random numbers of readers and parameters depend on the names of their variables. Build a program
within ``guard()``, which starts to count at 0 again, and its names do not depend on the programs
that were built before it.
"""

from millhopper.programs.unique_name import UniqueNameGenerator, generate, guard, switch

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]
