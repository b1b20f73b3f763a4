# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.layer, under this name, too.
from millhopper.fluid.layer import *  # noqa: F403
from millhopper.fluid.layer import __all__, __doc__  # noqa: F401
