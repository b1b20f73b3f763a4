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
    slot.dims = {column.offsets ? -1 : 1};
    slot.lod_level = column.offsets ? 1 : 0;
    slot.text = column.text;
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
    if (column.offsets) {
      LoadSequences(column, bytes, tickets, n, slot, rows);
      continue;
    }
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

void ArrayReader::LoadSequences(const ArrayColumn& column, size_t bytes, const Ticket* tickets,
                                size_t n, size_t slot, Rows* rows) {
  const std::vector<int64_t>& offsets = *column.offsets;
  const auto bytes_before = [&](uint64_t row) { return static_cast<size_t>(offsets[row]) * bytes; };
  size_t all = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t row = NumberOf(tickets[i]);
    all += bytes_before(row + 1) - bytes_before(row);
  }
  rows->ExpectBytes(slot, all);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t row = NumberOf(tickets[i]);
    const auto steps = static_cast<size_t>(offsets[row + 1] - offsets[row]);
    char* const place = rows->AppendSequence(slot, steps);
    if (steps * bytes > 0) std::memcpy(place, column.data + bytes_before(row), steps * bytes);
  }
}

}  // namespace millhopper
