# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.lod_tensor, under this name, too.
from millhopper.fluid.lod_tensor import *  # noqa: F403
from millhopper.fluid.lod_tensor import __all__, __doc__  # noqa: F401
