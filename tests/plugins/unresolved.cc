// SPDX-License-Identifier: Apache-2.0
// A plugin that needs what nobody has.
#include "framework/plugin.h"

namespace millrace {
int NobodyDefinesThis();
}  // namespace millrace

extern "C" int CallIt() { return millrace::NobodyDefinesThis(); }

MILLRACE_PLUGIN;
