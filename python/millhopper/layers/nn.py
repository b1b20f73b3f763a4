# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers.nn, under this name, too.
from millhopper.fluid.layers.nn import *  # noqa: F403
from millhopper.fluid.layers.nn import __all__, __doc__  # noqa: F401
