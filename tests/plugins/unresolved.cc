// SPDX-License-Identifier: Apache-2.0
// A plugin that needs what nobody has.
#include "framework/plugin.h"

namespace millhopper {
int NobodyDefinesThis();
}  // namespace millhopper

extern "C" int CallIt() { return millhopper::NobodyDefinesThis(); }

MILLHOPPER_PLUGIN;
