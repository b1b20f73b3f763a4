// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/unsaved.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {
namespace {

struct Known {
  Mutex mutex;
  std::vector<bool (*)(const Variable&)> left GUARDED_BY(mutex);  // to the process
  std::set<std::string> told GUARDED_BY(mutex);                   // names of variables
};

Known& All() {
  static auto* const known = new Known;
  return *known;
}

}  // namespace

void LeaveToProcess(bool (*holds)(const Variable&)) {
  const MutexLock lock(&All().mutex);
  All().left.push_back(holds);
}

void TellOfUnsaved(const Scope& scope) {
  std::string text;
  for (const std::string& name : scope.LocalNames()) {
    const Variable& variable = *scope.FindLocal(name);
    if (!variable.has_value() || variable.Holds<LoDTensor>() || variable.Holds<ReaderHolder>()) {
      continue;
    }
    const MutexLock lock(&All().mutex);
    const auto is_left = [&](bool (*holds)(const Variable&)) { return holds(variable); };
    if (std::any_of(All().left.begin(), All().left.end(), is_left)) continue;
    if (!All().told.insert(name).second) continue;
    text += StrCat("warning: a checkpoint does not hold variable '", Escaped(name), "', a ",
                   variable.TypeName(), "\n");
  }
  if (!text.empty()) std::fputs(text.c_str(), stderr);
}

}  // namespace millhopper
