# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.param_attr, under this name, too.
from millhopper.fluid.param_attr import *  # noqa: F403
from millhopper.fluid.param_attr import __all__, __doc__  # noqa: F401
