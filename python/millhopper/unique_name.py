# SPDX-License-Identifier: Apache-2.0
"""Names that no other variable has: ``generate("fc")`` gives fc_0, fc_1 ...

Random numbers depend on the names of variables (of readers and parameters alike), so a program is
built within ``guard()`` where it is to be the same however many were built before it. The code is
in ``programs.unique_name``.
"""

from millhopper.programs.unique_name import UniqueNameGenerator, generate, guard, switch

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]
