// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/multi_pass_reader.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {

MultiPassReader::MultiPassReader(std::unique_ptr<ReaderBase> reader, int64_t pass_num)
    : DecoratedReader(std::move(reader)), pass_num_(static_cast<uint64_t>(pass_num)) {
  Require(pass_num >= 1, "pass_num is ", pass_num, "; it must be at least 1");
}

std::optional<uint64_t> MultiPassReader::PassLength() const {
  std::optional<uint64_t> length = reader().PassLength();
  if (length && __builtin_mul_overflow(*length, pass_num_, &*length)) length.reset();
  return length;
}

void MultiPassReader::PlanNext(size_t n, TicketRun* run) {
  const size_t wanted = run->tickets.size() + n;
  while (run->tickets.size() < wanted) {
    CheckStop();  // very many passes may have no element
    if (reader().Plan(wanted - run->tickets.size(), run) > 0) continue;
    if (done_ + 1 == pass_num_) return;
    ++done_;
    reader().Restart(first_ + done_);
  }
}

void MultiPassReader::Rewind(uint64_t pass) {
  done_ = 0;
  first_ = pass * pass_num_;
  reader().Restart(first_);
}

void MultiPassReader::SaveState(ReaderState* state) const {
  state->Setting("pass_num", pass_num_);
  state->Set("first", first_);
  state->Set("done", done_);
}

void MultiPassReader::RestoreState(const ReaderState& state) {
  first_ = state.Get("first");
  done_ = state.Get("done", pass_num_ - 1);
}

}  // namespace millhopper
