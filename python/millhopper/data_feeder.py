# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.data_feeder, under this name, too.
from millhopper.fluid.data_feeder import *  # noqa: F403
from millhopper.fluid.data_feeder import __all__, __doc__  # noqa: F401
