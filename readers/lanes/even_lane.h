// SPDX-License-Identifier: Apache-2.0
// Makes the lanes of all ranks equally long, so that the ranks end at the same step.
#ifndef MILLHOPPER_READERS_LANES_EVEN_LANE_H_
#define MILLHOPPER_READERS_LANES_EVEN_LANE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/lane_dealer.h"
#include "framework/reader/reader.h"
#include "readers/decorate/shard_reader.h"

namespace millhopper {

// One of the lanes of a source that makes them equal (LaneSource::MakeEqual), of which some have an
// element more than the others. With kPad those others yield their first element once more at the
// end of the pass, with kDrop the some leave out their last one. That does not depend on the number
// of ranks, of which there may be one.
class EvenLane final : public DecoratedReader {
 public:
  // `even` is kPad or kDrop; `lanes` are those of all ranks.
  EvenLane(std::unique_ptr<ReaderBase> lane, std::shared_ptr<const LaneSource> source, size_t lanes,
           ShardEven even);

  std::optional<uint64_t> PassLength() const override;

 private:
  // Throws kInvalidArgument, with a way out, if the length is not known before the lane is read,
  // and with kPad if there are fewer elements than lanes.
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Finds how many elements the lane has in this pass, and how many it yields.
  void FindLength();

  const std::shared_ptr<const LaneSource> source_;
  const size_t lanes_;
  const ShardEven even_;
  std::optional<uint64_t> length_;  // of this pass, once it is found; then
  uint64_t own_ = 0;                // how many of these are not repeated
  uint64_t yielded_ = 0;
  TicketRun first_;  // kPad: the first element
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_EVEN_LANE_H_
