# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.reader.creator, under this name, too.
from millhopper.fluid.reader.creator import *  # noqa: F403
from millhopper.fluid.reader.creator import __all__, __doc__  # noqa: F401
