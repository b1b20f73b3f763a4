// SPDX-License-Identifier: Apache-2.0
// Memory for elements that wait in a window, so that their chunks can be released.
#ifndef MILLHOPPER_READERS_DECORATE_RECORD_STORE_H_
#define MILLHOPPER_READERS_DECORATE_RECORD_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "framework/reader/ticket.h"

namespace millhopper {

// Stores tickets, each in a slot that also holds a copy of its record if that is small. So a window
// holds only pointers to slots. Put, Drop and NewLease are called by one thread at a time, the
// planner's. A lease may be dropped by any thread and keeps the store alive, so that tickets
// outlive the reader's passes. If there is no memory, functions throw and change nothing.
class RecordStore final : public RefCounted {
 public:
  // The slots of one planned run. They go back together when the lease is dropped; one by one would
  // cost a lock per record.
  class Lease final : public RefCounted {
   public:
    // Makes room for n slots, so that the next n calls of Add cannot fail.
    void MakeRoom(size_t n) {
      if (slots_.capacity() - slots_.size() < n) slots_.reserve(2 * slots_.size() + n);
    }
    // Takes over the slots of n elements for which HoldsBytes is true.
    void Add(Ticket* const* slots, size_t n) {
      if (slots_.empty() && n > 0) record_bytes_ = slots[0]->size;
      for (size_t i = 0; i < n; ++i) one_size_ = one_size_ && slots[i]->size == record_bytes_;
      slots_.insert(slots_.end(), slots, slots + n);
    }

   private:
    friend class RecordStore;
    void Dispose() override;

    Ref<RecordStore> store_;
    PooledVector<Ticket*> slots_;
    size_t record_bytes_ = 0;  // of the first slot
    bool one_size_ = true;     // whether all slots have that size
  };

  // Stores n elements; slots[i] will be that of tickets[i]. If a ticket has bytes, the stored one
  // points to a copy: in the slot if they are few, else in a buffer that becomes its owner. The
  // slot holds a reference to the ticket's owner.
  void Put(const Ticket* tickets, size_t n, Ticket** slots);
  // Whether the slot of an element holds its bytes too. Such a ticket has no owner: a lease must
  // hold the slot while the bytes are in use.
  static bool HoldsBytes(const Ticket& stored) {
    return stored.bytes != nullptr && stored.owner == nullptr;
  }
  // The memory that an element takes here.
  static size_t BytesFor(const Ticket& stored) {
    constexpr size_t kTables = 3 * sizeof(void*);  // pointers: in the window, and in two lists of
                                                   // free slots
    // A record in a mapped file has no bytes in memory.
    const size_t bytes = stored.bytes == nullptr ? 0 : stored.size;
    size_t size;
    Kind(sizeof(Ticket) + (HoldsBytes(stored) ? bytes : 0), &size);
    return kTables + size + (HoldsBytes(stored) ? 0 : bytes);
  }
  // Gives back a slot that no lease holds, and releases the ticket's owner.
  void Drop(Ticket* slot);
  Ref<Lease> NewLease();

 private:
  // The kind of slot for this many bytes, and its size. Sizes are multiples of 64 up to 512; above
  // that there are four sizes per power of two.
  static size_t Kind(size_t bytes, size_t* size) {
    size_t step = 64;
    size_t kind = 0;
    for (; step * 8 < bytes; step *= 2) kind += 4;
    const size_t steps = (bytes + step - 1) / step;
    *size = steps * step;
    return kind + steps - 1;
  }
  // Whether the slot of an element will hold its bytes.
  static bool FitsInSlot(const Ticket& ticket) {
    return ticket.bytes != nullptr && ticket.size <= kLargestSlot - sizeof(Ticket);
  }
  // As Put, for a run of elements that need equal slots, as long as there are free slots: elements
  // that FitsInSlot with as many bytes as the first, or elements without bytes of one owner.
  // Returns how many it has put.
  size_t PutAlike(const Ticket* tickets, size_t n, Ticket** slots);
  // As Put, for an element with more bytes than a slot takes.
  Ticket* PutLarge(const Ticket& ticket);
  // The free slots of a kind, at least one.
  PooledVector<Ticket*>& Free(size_t bytes);
  // Makes a slot, and adds it to the free ones.
  void MakeSlot(size_t kind, size_t size);
  // The kind of slot that a stored element has.
  static size_t KindOf(const Ticket& stored) {
    size_t size;
    return Kind(sizeof(Ticket) + (HoldsBytes(stored) ? stored.size : 0), &size);
  }
  // A slot is reused only for records of its size. That suits many small records, but would waste
  // memory for a few large records of different sizes.
  static constexpr size_t kLargestSlot = size_t{32} << 10;
  static constexpr size_t kKinds = 32;

  // The part of a buffer that was never used.
  struct Fresh {
    char* place = nullptr;
    size_t bytes = 0;
  };

  using Slots = std::array<PooledVector<Ticket*>, kKinds>;  // by kind

  // free_ and returned_ have room for every slot, so that giving one back never allocates.
  Slots free_;
  std::array<size_t, kKinds> made_ = {};  // slots
  std::array<size_t, kKinds> room_ = {};  // for so many
  std::vector<Ref<Buffer>> buffers_;
  Fresh now_, ahead_;  // in a buffer taken when needed, and in one taken ahead of need
  std::mutex mutex_;   // guards returned_
  Slots returned_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_RECORD_STORE_H_
