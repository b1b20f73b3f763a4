// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/concat_reader.h"

namespace millhopper {

std::optional<uint64_t> ConcatReader::PassLength() const {
  uint64_t length = 0;
  for (size_t k = 0; k < size(); ++k) {
    const std::optional<uint64_t> one = reader(k).PassLength();
    if (!one || __builtin_add_overflow(length, *one, &length)) return std::nullopt;
  }
  return length;
}

void ConcatReader::PlanNext(size_t n, TicketRun* run) {
  SettleSlots();
  const size_t first = run->tickets.size();
  for (; current_ < size(); ++current_) {
    const size_t planned = reader(current_).Plan(n, run);
    if (planned == 0) continue;
    try {
      Rename(current_, &run->tickets[first], planned);
    } catch (...) {
      run->tickets.resize(first);
      throw;
    }
    return;
  }
}

void ConcatReader::Rewind(uint64_t pass) {
  current_ = 0;
  UnionReader::Rewind(pass);
}

void ConcatReader::SaveState(ReaderState* state) const {
  UnionReader::SaveState(state);
  state->Set("current", current_);
}

void ConcatReader::RestoreState(const ReaderState& state) {
  UnionReader::RestoreState(state);
  current_ = state.Get("current", size());
}

}  // namespace millhopper
