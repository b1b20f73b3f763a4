# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.executor, under this name, too.
from millhopper.fluid.executor import *  # noqa: F403
from millhopper.fluid.executor import __all__, __doc__  # noqa: F401
