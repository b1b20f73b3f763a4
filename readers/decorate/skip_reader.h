// SPDX-License-Identifier: Apache-2.0
// Leaves out the first elements of every pass of a reader.
#ifndef MILLHOPPER_READERS_DECORATE_SKIP_READER_H_
#define MILLHOPPER_READERS_DECORATE_SKIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// Leaves out the first `count` elements of every pass of the reader below. They are planned but not
// loaded: their files are read, but the records are not decoded. An error in the place of one of
// them ends the pass, unless only loading would show it.
class SkipReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a count below 0.
  SkipReader(std::unique_ptr<ReaderBase> reader, int64_t count);

  // Assumes that all `count` elements are still to be left out: any thread may call this, and only
  // the planning thread knows how many are.
  size_t ElementsReady() const override;
  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const size_t count_;
  size_t left_;  // elements of this pass that are still to be left out
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_SKIP_READER_H_
