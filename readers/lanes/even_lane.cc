// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/even_lane.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

EvenLane::EvenLane(std::unique_ptr<ReaderBase> lane, std::shared_ptr<const LaneSource> source,
                   size_t lanes, ShardEven even)
    : DecoratedReader(std::move(lane)), source_(std::move(source)), lanes_(lanes), even_(even) {}

std::optional<uint64_t> EvenLane::PassLength() const {
  const std::optional<uint64_t> total = source_->Total();
  if (!total || !reader().PassLength()) return std::nullopt;
  return *total / lanes_ + (even_ == ShardEven::kPad && *total % lanes_ > 0 ? 1 : 0);
}

void EvenLane::FindLength() {
  const std::optional<uint64_t> total = source_->Total();
  const std::optional<uint64_t> length = PassLength();
  const bool pads = even_ == ShardEven::kPad;
  Require(length.has_value(), "lanes cannot be made even (even: \"", pads ? "pad" : "drop",
          "\"), because it is not known before reading how many elements each has: ",
          total ? "a reader of each lane leaves elements out, or makes other ones"
                : "the files do not tell how many records they and their chunks have (for some "
                  "formats indexes tell it: recordio index)",
          "; use even: \"none\", and end a pass on all ranks together, for example after a number "
          "of steps that all have");
  Require(!pads || *total == 0 || *total >= lanes_, *total, " elements are fewer than the ", lanes_,
          " lanes, so that they cannot be padded; use fewer lanes, or even: \"drop\"");
  own_ = std::min(*length, reader().PassLength().value_or(0));
  if (own_ + (pads ? 1 : 0) < *length || (own_ == 0 && *length > 0)) {
    Throw(ErrorCode::kInternal, "a lane of ", own_, " elements is to yield ", *length);
  }
  length_ = length;
}

// If memory is refused after the first element is planned, that element is not handed out yet.
void EvenLane::PlanNext(size_t n, TicketRun* run) {
  if (!length_) FindLength();
  if (even_ == ShardEven::kPad && yielded_ == 0 && own_ > 0) {
    if (first_.tickets.empty()) reader().Plan(1, &first_);
    if (!first_.tickets.empty()) {
      run->Add(first_.tickets.front());
      ++yielded_;
      --n;
    }
  }
  const uint64_t left = own_ - std::min(yielded_, own_);
  if (n > 0 && left > 0) {
    const size_t planned = reader().Plan(std::min<uint64_t>(n, left), run);
    yielded_ += planned;
    if (planned > 0) return;
    Throw(ErrorCode::kDataLoss, "a lane ends after ", yielded_, " elements, but has ", own_,
          " by what the files or their indexes tell; have they changed?");
  }
  if (n == 0 || yielded_ >= *length_) return;
  run->Add(first_.tickets.front());
  ++yielded_;
}

void EvenLane::Rewind(uint64_t pass) {
  length_.reset();
  yielded_ = 0;
  first_.Clear();
  DecoratedReader::Rewind(pass);
}

void EvenLane::SaveState(ReaderState* state) const {
  state->Setting("even", static_cast<uint64_t>(even_));
  state->Set("yielded", yielded_);
  if (first_.tickets.empty()) return;
  ElementNames names;
  reader().NameElements(first_.tickets.data(), 1, &names);
  state->SetElements("first", std::move(names));
}

void EvenLane::RestoreState(const ReaderState& state) {
  yielded_ = state.Get("yielded");
  const ElementNames& first = state.Elements("first");
  const bool is_right =
      first.count <= 1 && (first.count == 1 || yielded_ == 0 || even_ != ShardEven::kPad);
  if (!is_right) state.Fail(first.count, " first elements, after ", yielded_);
  reader().PlanRunAgain(first, &first_);
}

}  // namespace millhopper
