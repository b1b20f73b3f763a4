# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.framework, under this name, too.
from millhopper.fluid.framework import *  # noqa: F403
from millhopper.fluid.framework import __all__, __doc__  # noqa: F401
