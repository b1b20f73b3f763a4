# SPDX-License-Identifier: Apache-2.0
"""Names that no other variable has: ``generate("fc")`` gives fc_0, fc_1 ...

Random numbers depend on the names of variables (of readers and parameters alike). So build a
program within ``guard()`` if it must be the same no matter how many programs were built before it.
The code is in ``programs.unique_name``.
"""

from millhopper.programs.unique_name import UniqueNameGenerator, generate, guard, switch

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]
