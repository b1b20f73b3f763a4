# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.initializer, under this name, too.
from millhopper.fluid.initializer import *  # noqa: F403
from millhopper.fluid.initializer import __all__, __doc__  # noqa: F401
