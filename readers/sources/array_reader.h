// SPDX-License-Identifier: Apache-2.0
// Reads the rows of arrays that lie in memory, without a copy of the arrays.
#ifndef MILLHOPPER_READERS_SOURCES_ARRAY_READER_H_
#define MILLHOPPER_READERS_SOURCES_ARRAY_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/memory/memory.h"
#include "readers/sources/range_reader.h"

namespace millhopper {

// An array whose rows are in C order, one `stride` after the other. The owner keeps the memory,
// which must not change while a reader reads it.
struct ArrayColumn {
  DataType dtype = DataType::kFp32;
  Dims row;                    // the dims of a row, without the axis that counts rows
  const char* data = nullptr;  // of row 0
  int64_t stride = 0;          // in bytes; may be negative
  Ref<Buffer> owner;
  // Of sequences of different lengths, whose rows lie end to end: where each begins, and the end of
  // the last one, one number more than there are sequences. They have been checked.
  std::shared_ptr<const std::vector<int64_t>> offsets = nullptr;
  bool text = false;  // SlotSpec::text
};

// An element is a row of each array, [1, row...], or a sequence of rows, with one level of detail.
// Rows are copied once, into the batch.
class ArrayReader final : public RangeReader {
 public:
  // Each column has `rows` rows. `key` is the one that decides the order; without it, the order is
  // that of the arrays. Throws kInvalidArgument without columns, and for more values than there may
  // be in an element.
  ArrayReader(std::vector<ArrayColumn> columns, uint64_t rows, const std::optional<RandomKey>& key);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;

 private:
  // `bytes` are those of a step.
  static void LoadSequences(const ArrayColumn& column, size_t bytes, const Ticket* tickets,
                            size_t n, size_t slot, Rows* rows);

  const std::vector<ArrayColumn> columns_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_ARRAY_READER_H_
