// SPDX-License-Identifier: Apache-2.0
#include "readers/skip_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

// Enough to make the call cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;

}  // namespace

SkipReader::SkipReader(std::unique_ptr<ReaderBase> reader, int64_t count)
    : DecoratedReader(std::move(reader)), count_(static_cast<size_t>(count)), left_(count_) {
  Require(count >= 0, "count is ", count, "; it must be at least 0");
}

size_t SkipReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return ready == kAnyNumber ? ready : ready - std::min(ready, count_);
}

std::optional<uint64_t> SkipReader::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  return *below - std::min<uint64_t>(*below, count_);
}

void SkipReader::PlanNext(size_t n, TicketRun* run) {
  if (left_ == 0 || LeaveOut()) reader().Plan(n, run);
}

bool SkipReader::LeaveOut() {
  TicketRun left_out;
  while (left_ > 0) {
    CheckStop();  // many elements may be left out one after another
    const size_t planned = reader().Plan(std::min(left_, kMostPlannedAtOnce), &left_out);
    if (planned == 0) return false;
    left_ -= planned;
    left_out.Clear();
  }
  return true;
}

void SkipReader::Rewind(uint64_t pass) {
  left_ = count_;
  DecoratedReader::Rewind(pass);
}

void SkipReader::SaveState(ReaderState* state) const {
  state->Setting("count", count_);
  state->Set("left", left_);
}

void SkipReader::RestoreState(const ReaderState& state) { left_ = state.Get("left", count_); }

}  // namespace millhopper
