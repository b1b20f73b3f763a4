# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers, under this name, too.
from millhopper.fluid.layers import *  # noqa: F403
from millhopper.fluid.layers import __all__, __dir__, __doc__, __getattr__  # noqa: F401
