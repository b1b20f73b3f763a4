# SPDX-License-Identifier: Apache-2.0
# millhopper.fluid.recordio_writer, under this name, too.
from millhopper.fluid.recordio_writer import *  # noqa: F403
from millhopper.fluid.recordio_writer import __all__, __doc__  # noqa: F401
