// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/lane_stretch.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "readers/decorate/plan_past.h"

namespace millhopper {

uint64_t LanePart::Size(std::optional<uint64_t> length) const {
  // The part of a lane in what is left when each lane has given the same, by stripes of `size`.
  const auto of_rest = [this](uint64_t rest, uint64_t size) {
    return std::min(size, rest - std::min(rest, lane * size));
  };
  const uint64_t rounds = count / (lanes * stripe);
  if (!length || rounds < *length / stripe) {
    return rounds * stripe + of_rest(count % (lanes * stripe), stripe);
  }
  const uint64_t whole = *length / stripe * stripe;
  return whole + of_rest(count - whole * lanes, *length % stripe);
}

LaneStretch::LaneStretch(std::unique_ptr<ReaderBase> lane, LanePart part, Keep keep)
    : DecoratedReader(std::move(lane)), part_(part), keep_(keep) {}

std::optional<uint64_t> LaneStretch::KnownLength() const {
  return part_.even ? reader().PassLength() : std::nullopt;
}

std::optional<uint64_t> LaneStretch::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  const uint64_t part = std::min(part_.Size(KnownLength()), *below);
  return keep_ == Keep::kPart ? part : *below - part;
}

void LaneStretch::PlanNext(size_t n, TicketRun* run) {
  if (!left_) left_ = part_.Size(KnownLength());
  if (keep_ == Keep::kRest) {
    if (!PlanPast(&reader(), &*left_)) ThrowTooShort();
    reader().Plan(n, run);
    return;
  }
  if (*left_ == 0) return;
  const size_t planned = reader().Plan(std::min(n, *left_), run);
  if (planned == 0) ThrowTooShort();
  *left_ -= planned;
}

void LaneStretch::ThrowTooShort() const {
  const uint64_t part = part_.Size(KnownLength());
  Throw(ErrorCode::kInvalidArgument, "lane ", part_.lane, " of ", part_.lanes, " has only ",
        part - *left_, " of the ", part, " elements that are its part of the first ", part_.count,
        " of all lanes, so that others would have to give more, and no process knows all of them; "
        "make the lanes even (even: \"pad\" or \"drop\" of create_shard_reader), ask for fewer "
        "elements, or do it below create_shard_reader, which then divides the elements by number");
}

void LaneStretch::Rewind(uint64_t pass) {
  left_.reset();
  DecoratedReader::Rewind(pass);
}

void LaneStretch::SaveState(ReaderState* state) const {
  state->Setting("count", part_.count);
  state->Setting("stripe", part_.stripe);
  state->Setting("even", part_.even ? "true" : "false");
  if (left_) state->Set("left", *left_);
}

void LaneStretch::RestoreState(const ReaderState& state) {
  if (state.Has("left")) left_ = state.Get("left", part_.count);
}

}  // namespace millhopper
