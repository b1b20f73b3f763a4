// SPDX-License-Identifier: Apache-2.0
// Yields the elements of several readers, one reader after another.
#ifndef MILLHOPPER_READERS_COMBINE_CONCAT_READER_H_
#define MILLHOPPER_READERS_COMBINE_CONCAT_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "readers/combine/union_reader.h"

namespace millhopper {

// Yields all elements of the first reader, then all of the second, and so on. An error of a reader
// is not its end: no later reader is read then.
class ConcatReader final : public UnionReader {
 public:
  // Throws kInvalidArgument unless there is a reader and all have the same slots. `lanes` is how
  // many lanes there are, of which this is one, or 1.
  explicit ConcatReader(Readers readers, size_t lanes = 1)
      : UnionReader(std::move(readers), lanes) {}

  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  size_t current_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_CONCAT_READER_H_
