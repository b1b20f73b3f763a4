// SPDX-License-Identifier: Apache-2.0
// The first elements of the stream of all lanes, or all but these, lane by lane.
#ifndef MILLHOPPER_READERS_LANES_LANE_STRETCH_H_
#define MILLHOPPER_READERS_LANES_LANE_STRETCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// The part that one of `lanes` lanes has of the first `count` elements of their stream, in which
// each has `stripe` in turn.
struct LanePart {
  uint64_t count;
  size_t lane, lanes;
  size_t stripe;
  bool even;  // whether all lanes have equally many elements

  // How many elements these are. `length` is that of each lane, if all have it; otherwise no lane
  // may end before it has given its part.
  uint64_t Size(std::optional<uint64_t> length) const;
};

// Yields the part of a lane, as TakeReader yields what it takes, or what is left of the lane
// without it, as SkipReader does. So all ranks that share the lanes together have the first `count`
// elements, or the others, for any number of ranks.
//
// Where a lane ends before it has given its part, lanes after it would give more of the first
// elements; which of them these are, a rank that runs other lanes cannot know. That is an error in
// the place where the lane ends. Lanes that are even never do so.
class LaneStretch final : public DecoratedReader {
 public:
  enum class Keep { kPart, kRest };
  LaneStretch(std::unique_ptr<ReaderBase> lane, LanePart part, Keep keep);

  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  std::optional<uint64_t> KnownLength() const;
  [[noreturn]] void ThrowTooShort() const;

  const LanePart part_;
  const Keep keep_;
  std::optional<size_t> left_;  // elements of the part, once the pass has begun
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_LANE_STRETCH_H_
