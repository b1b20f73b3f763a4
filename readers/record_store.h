// SPDX-License-Identifier: Apache-2.0
// Memory for encoded records that must outlive the chunks they came from.
#ifndef MILLRACE_READERS_RECORD_STORE_H_
#define MILLRACE_READERS_RECORD_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "framework/kept.h"
#include "framework/memory.h"
#include "framework/ticket.h"

namespace millrace {

// Copies of records: small ones in slots of their size, cut from large buffers, others in buffers
// of their own. Copy, Drop and NewLease are called by one thread at a time, the planner's. A lease
// may be dropped by any thread and keeps the store alive, so that tickets outlive the reader's
// passes.
class RecordStore final : public Kept {
 public:
  // The slots of one planned run. They go back together when the lease is dropped, since giving
  // them back one by one would cost a lock a record.
  class Lease final : public Kept {
   public:
    // Takes over the slot of a copied record that has no owner.
    void Add(const Ticket& ticket) { slots_.push_back({SlotOf(ticket), ticket.size}); }
    bool empty() const { return slots_.empty(); }

   private:
    friend class RecordStore;
    struct Slot {
      char* place;
      uint32_t size;
    };
    void Dispose() override;

    Ref<RecordStore> store_;
    std::vector<Slot> slots_;
  };

  // Copies the bytes of the ticket and points it to the copy. A small one is in a slot and has no
  // owner yet; a large one is owned by its buffer, of which the caller holds a reference.
  void Copy(Ticket* ticket);
  // Gives back the slot of a ticket that no lease has.
  void Drop(const Ticket& ticket) { Give(SlotOf(ticket), ticket.size); }
  Ref<Lease> NewLease();

 private:
  static char* SlotOf(const Ticket& ticket) {
    return const_cast<char*>(static_cast<const char*>(ticket.where));
  }
  // The kind of slot that so many bytes go into, and its size.
  static size_t Kind(size_t bytes, size_t* size);
  char* Take(size_t bytes);
  void Give(char* place, size_t bytes);
  void Collect();

  // Slots are kept for records of their size: that is fine for many small ones, and waste for a
  // few large ones of which each has another size.
  static constexpr size_t kLargestSlot = size_t{32} << 10;
  static constexpr size_t kKinds = 32;

  std::array<std::vector<char*>, kKinds> free_;
  std::vector<Ref<Buffer>> buffers_;
  char* fresh_ = nullptr;  // the part of the last buffer that was never used
  size_t fresh_bytes_ = 0;
  std::mutex mutex_;  // guards returned_
  std::vector<Lease::Slot> returned_;
  std::vector<Lease::Slot> collected_;  // being given back; keeps its memory for the next time
};

}  // namespace millrace

#endif  // MILLRACE_READERS_RECORD_STORE_H_
