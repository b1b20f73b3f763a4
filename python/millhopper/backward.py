# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.backward, under this name, too.
from millhopper.fluid.backward import *  # noqa: F403
from millhopper.fluid.backward import __all__, __doc__  # noqa: F401
