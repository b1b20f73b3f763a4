// SPDX-License-Identifier: Apache-2.0
// Millhopper's own operators, readers and formats as a plugin: they register themselves.
#include "framework/plugin.h"

MILLHOPPER_PLUGIN;
