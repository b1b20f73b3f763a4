// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/skip_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "readers/decorate/plan_past.h"

namespace millhopper {

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
  if (PlanPast(&reader(), &left_)) reader().Plan(n, run);
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
