// SPDX-License-Identifier: Apache-2.0
// Millrace's own operators, readers and formats as a plugin: they register themselves.
#include "framework/plugin.h"

MILLRACE_PLUGIN;
