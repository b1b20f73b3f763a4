// SPDX-License-Identifier: Apache-2.0
// A plugin of another version. It must be refused before any of its code runs, since that code
// would end the process.
#include <cstdlib>

#include "framework/plugin.h"

namespace {

constexpr millhopper::PluginStamp OtherStamp() {
  millhopper::PluginStamp stamp = millhopper::CurrentPluginStamp();
  stamp.version[0] = '9';
  return stamp;
}

__attribute__((used, retain)) constexpr millhopper::PluginStamp stamp = OtherStamp();

const bool started = [] {
  std::abort();
  return true;
}();

}  // namespace
