// SPDX-License-Identifier: Apache-2.0
// Records that are delivered as their bytes.
#ifndef MILLHOPPER_READERS_SUPPORT_BYTE_RECORDS_H_
#define MILLHOPPER_READERS_SUPPORT_BYTE_RECORDS_H_

#include <cstddef>
#include <string_view>

#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// uint8 [-1] with one level of detail.
SlotSpec BytesSlot();
// Appends bytes to such a slot.
void AppendBytes(std::string_view bytes, size_t slot, Rows* rows);
// Appends the bytes of the tickets to slot 0.
void LoadBytes(const Ticket* tickets, size_t n, Rows* rows);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_BYTE_RECORDS_H_
