# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.optimizer, under this name, too.
from millhopper.fluid.optimizer import *  # noqa: F403
from millhopper.fluid.optimizer import __all__, __doc__  # noqa: F401
