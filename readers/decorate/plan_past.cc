// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/plan_past.h"

#include <algorithm>

#include "framework/base/stop.h"

namespace millhopper {
namespace {

// Enough to make the call cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;

}  // namespace

bool PlanPast(ReaderBase* reader, size_t* left) {
  TicketRun passed_over;
  while (*left > 0) {
    CheckStop();  // many elements may be passed over one after another
    const size_t planned = reader->Plan(std::min(*left, kMostPlannedAtOnce), &passed_over);
    if (planned == 0) return false;
    *left -= planned;
    passed_over.Clear();
  }
  return true;
}

}  // namespace millhopper
