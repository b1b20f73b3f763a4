# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layers.control_flow, under this name, too.
from millhopper.fluid.layers.control_flow import *  # noqa: F403
from millhopper.fluid.layers.control_flow import __all__, __doc__  # noqa: F401
