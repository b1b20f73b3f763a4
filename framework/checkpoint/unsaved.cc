// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/unsaved.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {

// What no variable holds.
struct TensorOrReader {};

namespace {

struct Known {
  std::mutex mutex;
  std::vector<bool (*)(const Variable&)> left;  // to the process
  std::set<std::string> told;                   // names of variables
};

Known& All() {
  static auto* const known = new Known;
  return *known;
}

// "variable 'x' holds a std::vector<millhopper::LoDTensor>, not a millhopper::TensorOrReader"
std::string Description(const Variable& variable) {
  try {
    variable.Get<TensorOrReader>();
  } catch (const Error& error) {  // which alone knows the type
    return error.message();
  }
  return "";
}

}  // namespace

void LeaveToProcess(bool (*holds)(const Variable&)) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().left.push_back(holds);
}

void TellOfUnsaved(const Scope& scope) {
  std::string text;
  for (const std::string& name : scope.LocalNames()) {
    const Variable& variable = *scope.FindLocal(name);
    if (!variable.has_value() || variable.Holds<LoDTensor>() || variable.Holds<ReaderHolder>()) {
      continue;
    }
    const std::lock_guard<std::mutex> lock(All().mutex);
    const auto is_left = [&](bool (*holds)(const Variable&)) { return holds(variable); };
    if (std::any_of(All().left.begin(), All().left.end(), is_left)) continue;
    if (!All().told.insert(name).second) continue;
    text += StrCat("warning: a checkpoint does not hold what is in ", Description(variable), "\n");
  }
  if (!text.empty()) std::fputs(text.c_str(), stderr);
}

}  // namespace millhopper
