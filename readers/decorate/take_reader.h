// SPDX-License-Identifier: Apache-2.0
// Yields the first elements of every pass of a reader.
#ifndef MILLHOPPER_READERS_DECORATE_TAKE_READER_H_
#define MILLHOPPER_READERS_DECORATE_TAKE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// Yields the first `count` elements of every pass of the reader below, or all if it has fewer. It
// asks for no others, so that readers that share the reader below get the rest.
class TakeReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a count below 0.
  TakeReader(std::unique_ptr<ReaderBase> reader, int64_t count);

  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const size_t count_;
  size_t left_;  // in this pass
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_TAKE_READER_H_
