// SPDX-License-Identifier: Apache-2.0
// Makes a plugin of Millhopper's own operators, readers and formats, which register themselves.
#include "framework/plugin.h"

MILLHOPPER_PLUGIN;
