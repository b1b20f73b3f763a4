# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.minibatch, under this name, too.
from millhopper.fluid.minibatch import *  # noqa: F403
from millhopper.fluid.minibatch import __all__, __doc__  # noqa: F401
