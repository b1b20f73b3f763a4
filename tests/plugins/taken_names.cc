// SPDX-License-Identifier: Apache-2.0
// A plugin that registers one new name and two that are taken; plugin_test expects it to be
// refused.
#include "framework/plugin.h"

namespace {

millhopper::OpSchema Schema() { return millhopper::OpSchema("Does nothing."); }

void Run(millhopper::OpContext&) {}

REGISTER_OPERATOR(taken_names_test, Schema, Run);
REGISTER_OPERATOR(mean, Schema, Run);
REGISTER_OPERATOR(read, Schema, Run);

}  // namespace

MILLHOPPER_PLUGIN;
