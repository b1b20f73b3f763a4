# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers.io, under this name, too.
from millhopper.fluid.layers.io import *  # noqa: F403
from millhopper.fluid.layers.io import __all__, __doc__  # noqa: F401
