// SPDX-License-Identifier: Apache-2.0
// Makes a plugin of the formats in readers/arrow_plugin, which need the library of Arrow.
// tools/build_parquet_plugin builds it.
#include "framework/plugin.h"

MILLHOPPER_PLUGIN;
