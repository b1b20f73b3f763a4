// SPDX-License-Identifier: Apache-2.0
// What is planned: tickets, each naming one element to come, and runs of them.
#ifndef MILLHOPPER_FRAMEWORK_READER_TICKET_H_
#define MILLHOPPER_FRAMEWORK_READER_TICKET_H_

#include <cstdint>

#include "framework/base/kept.h"
#include "framework/base/pooled_vector.h"

namespace millhopper {

// One element to come. Trivially copyable; what it points to is kept by the run it is planned in.
struct Ticket {
  const void* where = nullptr;  // encoded bytes, or the Run of an element made of several
  Kept* owner = nullptr;        // keeps `where` valid; may be null if nothing has to be kept
  uint64_t sample = 0;          // position in the pass of its source; keys its random numbers
  uint64_t offset = 0;          // byte in the file of the chunk that it came from, for errors
  uint32_t size = 0;            // bytes at `where`, or number of children
  uint32_t file = 0;            // index in the list of files of its source, for errors
  uint32_t record = 0;          // index in its chunk, for errors
  bool bytes = false;           // `where` is bytes, which a shuffle window may copy elsewhere
};

// Tickets in order and the references that keep them valid, each taken once. Dropping a run, at any
// moment, is all that it takes to forget what was planned. One thread at a time.
class Run final : public Kept {
 public:
  Run();

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
