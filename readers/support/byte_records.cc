// SPDX-License-Identifier: Apache-2.0
#include "readers/support/byte_records.h"

#include <cstring>

#include "framework/reader/prefetched.h"

namespace millhopper {

SlotSpec BytesSlot() {
  SlotSpec slot;
  slot.dtype = DataType::kUint8;
  slot.dims = Dims{-1};
  slot.lod_level = 1;
  return slot;
}

void AppendBytes(std::string_view bytes, size_t slot, Rows* rows) {
  char* const place = rows->AppendSequence(slot, bytes.size());
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
}

void LoadBytes(const Ticket* tickets, size_t n, Rows* rows) {
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    AppendBytes({ticket.bytes, ticket.size}, 0, rows);
  }
}

}  // namespace millhopper
