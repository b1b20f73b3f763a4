// SPDX-License-Identifier: Apache-2.0
// What is planned: tickets, each naming one element to come, and runs of them.
#ifndef MILLHOPPER_FRAMEWORK_READER_TICKET_H_
#define MILLHOPPER_FRAMEWORK_READER_TICKET_H_

#include <cstdint>

#include "framework/base/buffer.h"
#include "framework/base/kept.h"
#include "framework/base/record_id.h"

namespace millhopper {

// One element to come. Trivially copyable; what it points to is kept by the run it is planned in.
struct Ticket {
  RecordId id;
  // Encoded bytes, which whoever holds the ticket may copy elsewhere. Null where the element is
  // nothing that can be copied: then it is the owner, or its name says all.
  const char* bytes = nullptr;
  Kept* owner = nullptr;  // keeps `bytes` valid; null if nothing has to be kept
  uint32_t size = 0;      // of `bytes`; else 0
  uint32_t index = 0;     // which element of the owner it is, where that holds several

  // An owner that the planner knows, for it has put it there.
  template <typename T>
  T* object() const {
    return static_cast<T*>(owner);
  }
};

// Tickets in order and the references that keep them valid, each taken once. Dropping a run, at any
// moment, is all that it takes to forget what was planned. One thread at a time.
class TicketRun final : public Kept {
 public:
  TicketRun();

  PooledVector<Ticket> tickets;

  // Adds a ticket and keeps its owner. Where there is no memory for that, nothing has changed.
  void Add(const Ticket& ticket) {
    if (ticket.owner != nullptr) Keep(ticket.owner);
    tickets.push_back(ticket);
  }
  // Keeps an owner for tickets that are added without Add. A mark on the owner says which run kept
  // it last, so that asking again for the same one costs a load.
  void Keep(Kept* owner) {
    if (owner->last_run_.load(std::memory_order_relaxed) == id_) return;
    kept_.emplace_back(owner);
    owner->last_run_.store(id_, std::memory_order_relaxed);
  }
  // Forgets tickets and references.
  void Clear();

 private:
  void Dispose() override;

  PooledVector<Ref<Kept>> kept_;
  uint64_t id_;  // of this use of the run: no owner carries it before it is kept
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_TICKET_H_
