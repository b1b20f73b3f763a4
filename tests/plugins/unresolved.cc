// SPDX-License-Identifier: Apache-2.0
// A plugin that needs a function that is defined nowhere.
#include "framework/plugin.h"

namespace millhopper {
int NobodyDefinesThis();
}  // namespace millhopper

extern "C" int CallIt() { return millhopper::NobodyDefinesThis(); }

MILLHOPPER_PLUGIN;
