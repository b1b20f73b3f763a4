# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers.ops, under this name, too.
from millhopper.fluid.layers.ops import *  # noqa: F403
from millhopper.fluid.layers.ops import __all__, __dir__, __doc__, __getattr__  # noqa: F401
