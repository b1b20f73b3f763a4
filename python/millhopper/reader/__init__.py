# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.reader, under this name, too.
from millhopper.fluid.reader import *  # noqa: F403
from millhopper.fluid.reader import __all__, __doc__  # noqa: F401
