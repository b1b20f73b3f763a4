// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/take_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

TakeReader::TakeReader(std::unique_ptr<ReaderBase> reader, int64_t count)
    : DecoratedReader(std::move(reader)), count_(static_cast<size_t>(count)), left_(count_) {
  Require(count >= 0, "count is ", count, "; it must be at least 0");
}

std::optional<uint64_t> TakeReader::PassLength() const {
  if (count_ == 0) return 0;
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  return std::min<uint64_t>(*below, count_);
}

void TakeReader::PlanNext(size_t n, TicketRun* run) {
  if (left_ > 0) left_ -= reader().Plan(std::min(n, left_), run);
}

void TakeReader::Rewind(uint64_t pass) {
  left_ = count_;
  DecoratedReader::Rewind(pass);
}

void TakeReader::SaveState(ReaderState* state) const {
  state->Setting("count", count_);
  state->Set("left", left_);
}

void TakeReader::RestoreState(const ReaderState& state) { left_ = state.Get("left", count_); }

}  // namespace millhopper
