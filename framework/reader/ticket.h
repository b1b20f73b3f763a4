// SPDX-License-Identifier: Apache-2.0
// Tickets, each of which names one planned element, and runs of tickets.
#ifndef MILLHOPPER_FRAMEWORK_READER_TICKET_H_
#define MILLHOPPER_FRAMEWORK_READER_TICKET_H_

#include <cstdint>

#include "framework/base/record_id.h"
#include "framework/base/ref_counted.h"
#include "framework/memory/buffer.h"

namespace millhopper {

// One planned element. Trivially copyable; the run that holds the ticket keeps what it points to.
struct Ticket {
  RecordId id;
  // The encoded bytes; the holder of the ticket may copy them. Null if the element has no encoded
  // bytes, or only such as may change (mapping.h): then `owner` holds the element, or `id` alone is
  // enough to make it.
  const char* bytes = nullptr;
  RefCounted* owner = nullptr;  // keeps `bytes` valid; null if nothing has to be kept
  uint32_t size = 0;            // of the encoded bytes; 0 if there are none
  uint32_t index = 0;           // for its reader alone, such as which element of the owner

  // The owner as a T. Only the reader that set `owner` knows its type.
  template <typename T>
  T* object() const {
    return static_cast<T*>(owner);
  }
};
static_assert(sizeof(Ticket) == 64, "plans of small records are as fast as tickets are small");

// Tickets in order, and one reference to each owner that keeps them valid. A run may be dropped at
// any moment; nothing else remembers what was planned. One thread at a time.
class TicketRun final : public RefCounted {
 public:
  TicketRun();

  PooledVector<Ticket> tickets;

  // Adds a ticket and keeps its owner. If there is no memory for that, no ticket is added.
  void Add(const Ticket& ticket) {
    if (ticket.owner != nullptr) Keep(ticket.owner);
    tickets.push_back(ticket);
  }
  // Keeps an owner for tickets that are added without Add. A mark on the owner says which run kept
  // it last, so that a repeated call for the same owner costs one read of memory.
  void Keep(RefCounted* owner) {
    if (owner->last_run_.load(std::memory_order_relaxed) == id_) return;
    kept_.emplace_back(owner);
    owner->last_run_.store(id_, std::memory_order_relaxed);
  }
  // Forgets tickets and references.
  void Clear();

 private:
  void Dispose() override;

  PooledVector<Ref<RefCounted>> kept_;
  uint64_t id_;  // new after each Clear, so no owner carries it yet
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_TICKET_H_
