// SPDX-License-Identifier: Apache-2.0
// Yields several passes of the reader below as one pass.
#ifndef MILLHOPPER_READERS_DECORATE_MULTI_PASS_READER_H_
#define MILLHOPPER_READERS_DECORATE_MULTI_PASS_READER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// `pass_num` passes of the reader below as one. Pass k of its own pass r is the reader's pass r *
// pass_num + k, so that each of them is shuffled differently.
class MultiPassReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument unless pass_num is at least 1.
  MultiPassReader(std::unique_ptr<ReaderBase> reader, int64_t pass_num);

  std::optional<uint64_t> PassLength() const override;
  bool HoldsOnlyElements() const override { return true; }
  void GiveBack(const NewCut& cut, SavedRank* saved, Position* own) const override {
    saved->of_passes = true;
    DecoratedReader::GiveBack(cut, saved, own);
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const uint64_t pass_num_;
  uint64_t first_ = 0;  // the reader's first pass of this pass
  uint64_t done_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_MULTI_PASS_READER_H_
