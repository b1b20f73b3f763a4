// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/array_reader.h"

#include <cstring>
#include <utility>

namespace millhopper {
namespace {

std::vector<SlotSpec> SlotsOf(const std::vector<ArrayColumn>& columns) {
  std::vector<SlotSpec> slots;
  for (const ArrayColumn& column : columns) {
    SlotSpec slot;
    slot.dtype = column.dtype;
    slot.dims = {1};
    for (const int64_t dim : column.row) slot.dims.push_back(dim);
    slots.push_back(slot);
  }
  return slots;
}

}  // namespace

ArrayReader::ArrayReader(std::vector<ArrayColumn> columns, uint64_t rows,
                         const std::optional<RandomKey>& key)
    : RangeReader(rows, key, SlotsOf(columns)), columns_(std::move(columns)) {}

void ArrayReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t slot = 0; slot < columns_.size(); ++slot) {
    const ArrayColumn& column = columns_[slot];
    const auto bytes = static_cast<size_t>(Product(column.row)) * SizeOf(column.dtype);
    char* place = rows->Append(slot, n);
    if (bytes == 0) continue;
    const bool dense = column.stride == static_cast<int64_t>(bytes);
    for (size_t i = 0; i < n;) {
      const uint64_t first = NumberOf(tickets[i]);
      // Rows that lie one after the other are copied together.
      size_t count = 1;
      while (dense && i + count < n && NumberOf(tickets[i + count]) == first + count) ++count;
      std::memcpy(place, column.data + static_cast<int64_t>(first) * column.stride, count * bytes);
      place += count * bytes;
      i += count;
    }
  }
}

}  // namespace millhopper
