// SPDX-License-Identifier: Apache-2.0
// Memory for elements that wait for their turn, away from the chunks that they came from.
#ifndef MILLHOPPER_READERS_RECORD_STORE_H_
#define MILLHOPPER_READERS_RECORD_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "framework/base/buffer.h"
#include "framework/base/kept.h"
#include "framework/base/memory.h"
#include "framework/reader/ticket.h"

namespace millhopper {

// Elements that wait: tickets, each in a slot of its size, with a copy of its record behind it
// where that is small. A window thus holds pointers and finds all of an element in one place. Put,
// Drop and NewLease are called by one thread at a time, the planner's. A lease may be dropped by
// any thread and keeps the store alive, so that tickets outlive the reader's passes. Where there is
// no memory, functions throw and nothing has changed.
class RecordStore final : public Kept {
 public:
  // The slots of one planned run. They go back together when the lease is dropped, since giving
  // them back one by one would cost a lock a record.
  class Lease final : public Kept {
   public:
    // So that as many calls of Add cannot fail.
    void MakeRoom(size_t n) {
      if (slots_.capacity() - slots_.size() < n) slots_.reserve(2 * slots_.size() + n);
    }
    // Takes over the slot of an element that HoldsBytes.
    void Add(Ticket* slot) {
      if (slot->size != record_bytes_) {
        one_size_ = slots_.empty();
        record_bytes_ = slot->size;
      }
      slots_.push_back(slot);
    }

   private:
    friend class RecordStore;
    void Dispose() override;

    Ref<RecordStore> store_;
    PooledVector<Ticket*> slots_;
    size_t record_bytes_ = 0;  // of the last
    bool one_size_ = true;     // all are of that size
  };

  // Stores an element. The ticket in the slot points to a copy of its bytes, if it has any: behind
  // it if there are few, and otherwise in a buffer that is its owner. It holds a reference of its
  // owner.
  Ticket* Put(const Ticket& ticket) {
    if (ticket.bytes == nullptr || ticket.size > kLargestSlot - sizeof(Ticket))
      return PutOwned(ticket);
    Ticket* const slot = Take(sizeof(Ticket) + ticket.size);
    *slot = ticket;
    slot->bytes = static_cast<char*>(std::memcpy(slot + 1, ticket.bytes, ticket.size));
    slot->owner = nullptr;
    return slot;
  }
  // Whether the slot of an element holds its bytes too. Such a ticket has no owner: the slot is to
  // be held by a lease for as long as the bytes are in use.
  static bool HoldsBytes(const Ticket& stored) {
    return stored.bytes != nullptr && stored.owner == nullptr;
  }
  // The memory that an element takes here.
  static size_t BytesFor(const Ticket& stored) {
    constexpr size_t kTables = 3 * sizeof(void*);  // that of the window, and two of free slots
    size_t size;
    Kind(sizeof(Ticket) + (HoldsBytes(stored) ? stored.size : 0), &size);
    return kTables + size + (HoldsBytes(stored) ? 0 : stored.size);
  }
  // Gives back a slot that no lease has, and the reference in it.
  void Drop(Ticket* slot);
  Ref<Lease> NewLease();

 private:
  // The kind of slot that so many bytes go into. Sizes are multiples of 64 up to 512; beyond, there
  // are four from each power of two to the next.
  static size_t Kind(size_t bytes, size_t* size) {
    size_t step = 64;
    size_t kind = 0;
    for (; step * 8 < bytes; step *= 2) kind += 4;
    const size_t steps = (bytes + step - 1) / step;
    *size = steps * step;
    return kind + steps - 1;
  }
  Ticket* Take(size_t bytes) {
    if (bytes != taken_bytes_) {
      taken_kind_ = Kind(bytes, &taken_size_);
      taken_bytes_ = bytes;
    }
    PooledVector<Ticket*>& free = free_[taken_kind_];
    if (free.empty()) {
      Collect(taken_kind_);
      if (free.empty()) return TakeFresh(taken_kind_, taken_size_);
    }
    Ticket* const slot = free.back();
    free.pop_back();
    return slot;
  }
  Ticket* TakeFresh(size_t kind, size_t size);
  // An element whose bytes, if it has any, its owner holds.
  Ticket* PutOwned(const Ticket& ticket);
  // The kind of slot that a stored element has.
  static size_t KindOf(const Ticket& stored) {
    size_t size;
    return Kind(sizeof(Ticket) + (HoldsBytes(stored) ? stored.size : 0), &size);
  }
  // Makes slots that leases have given back free again.
  void Collect(size_t kind);

  // Slots are kept for records of their size: that is fine for many small ones, and waste for a
  // few large ones of which each has another size.
  static constexpr size_t kLargestSlot = size_t{32} << 10;
  static constexpr size_t kKinds = 32;

  // The part of a buffer that was never used.
  struct Fresh {
    char* place = nullptr;
    size_t bytes = 0;
  };

  using Slots = std::array<PooledVector<Ticket*>, kKinds>;  // by kind

  // Both free_ and returned_ have room for every slot that there is, so that a slot can always be
  // given back.
  Slots free_;
  std::array<size_t, kKinds> made_ = {};  // slots
  std::array<size_t, kKinds> room_ = {};  // for so many
  size_t taken_bytes_ = 0;  // what was asked for last, and the kind and size of slot for it
  size_t taken_kind_ = 0;
  size_t taken_size_ = 64;
  std::vector<Ref<Buffer>> buffers_;
  Fresh now_, ahead_;  // of buffers that were taken when it was needed, and ahead of need
  std::mutex mutex_;   // guards returned_
  Slots returned_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RECORD_STORE_H_
