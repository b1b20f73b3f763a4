# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.io, under this name, too.
from millhopper.fluid.io import *  # noqa: F403
from millhopper.fluid.io import __all__, __doc__  # noqa: F401
