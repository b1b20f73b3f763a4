# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.reader.decorator, under this name, too.
from millhopper.fluid.reader.decorator import *  # noqa: F403
from millhopper.fluid.reader.decorator import __all__, __doc__  # noqa: F401
