# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.unique_name, under this name, too.
from millhopper.fluid.unique_name import *  # noqa: F403
from millhopper.fluid.unique_name import __all__, __doc__  # noqa: F401
