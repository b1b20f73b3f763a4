# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.core, under this name, too.
from millhopper.fluid.core import *  # noqa: F403
from millhopper.fluid.core import __all__, __doc__  # noqa: F401
