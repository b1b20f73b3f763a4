# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers.tensor, under this name, too.
from millhopper.fluid.layers.tensor import *  # noqa: F403
from millhopper.fluid.layers.tensor import __all__, __doc__  # noqa: F401
