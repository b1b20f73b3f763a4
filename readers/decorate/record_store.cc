// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/record_store.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace millhopper {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kFewSlots = 16;

}  // namespace

void RecordStore::Lease::Dispose() {
  if (!slots_.empty()) {
    std::lock_guard<std::mutex> lock(store_->mutex_);
    if (one_size_) {
      PooledVector<Ticket*>& returned = store_->returned_[KindOf(*slots_.front())];
      returned.insert(returned.end(), slots_.begin(), slots_.end());
    } else {
      for (Ticket* const slot : slots_) store_->returned_[KindOf(*slot)].push_back(slot);
    }
  }
  Empty(&slots_);
  one_size_ = true;
  store_ = Ref<RecordStore>();
  Pool<Lease>::Give(this);
}

Ref<RecordStore::Lease> RecordStore::NewLease() {
  Ref<Lease> lease = Pool<Lease>::Take();
  lease->store_ = Ref<RecordStore>(this);
  return lease;
}

void RecordStore::Put(const Ticket* tickets, size_t n, Ticket** slots) {
  size_t put = 0;
  try {
    while (put < n) {
      if (tickets[put].bytes != nullptr && !FitsInSlot(tickets[put])) {
        slots[put] = PutLarge(tickets[put]);
        ++put;
      } else {
        put += PutAlike(tickets + put, n - put, slots + put);
      }
    }
  } catch (...) {
    while (put > 0) Drop(slots[--put]);
    throw;
  }
}

size_t RecordStore::PutAlike(const Ticket* tickets, size_t n, Ticket** slots) {
  const bool copies = FitsInSlot(*tickets);
  const uint32_t bytes = copies ? tickets->size : 0;
  PooledVector<Ticket*>& free = Free(sizeof(Ticket) + bytes);
  const size_t most = std::min(n, free.size());
  const auto last = free.rbegin();
  size_t put = 0;
  if (copies) {
    for (; put < most && tickets[put].size == bytes && tickets[put].bytes != nullptr; ++put) {
      Ticket* const slot = slots[put] = last[static_cast<std::ptrdiff_t>(put)];
      *slot = tickets[put];
      slot->bytes = static_cast<char*>(std::memcpy(slot + 1, tickets[put].bytes, bytes));
      slot->owner = nullptr;
    }
  } else {
    RefCounted* const owner = tickets->owner;
    for (; put < most && tickets[put].owner == owner && tickets[put].bytes == nullptr; ++put) {
      slots[put] = last[static_cast<std::ptrdiff_t>(put)];
      *slots[put] = tickets[put];
    }
    if (owner != nullptr) owner->Retain(static_cast<int>(put));
  }
  free.resize(free.size() - put);
  return put;
}

Ticket* RecordStore::PutLarge(const Ticket& ticket) {
  const Ref<Buffer> copy = BufferPool::At(Place()).Take(ticket.size);
  std::memcpy(copy->data(), ticket.bytes, ticket.size);
  Ticket stored = ticket;
  stored.bytes = nullptr;
  stored.owner = copy.get();
  Ticket* slot = nullptr;
  PutAlike(&stored, 1, &slot);
  slot->bytes = copy->data();
  return slot;
}

PooledVector<Ticket*>& RecordStore::Free(size_t bytes) {
  size_t size;
  const size_t kind = Kind(bytes, &size);
  if (free_[kind].empty()) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_[kind].swap(returned_[kind]);
  }
  if (free_[kind].empty()) MakeSlot(kind, size);
  return free_[kind];
}

void RecordStore::MakeSlot(size_t kind, size_t size) {
  if (made_[kind] == room_[kind]) {
    const size_t room = std::max(kFewSlots, 2 * room_[kind]);
    free_[kind].reserve(room);
    std::lock_guard<std::mutex> lock(mutex_);
    returned_[kind].reserve(room);
    room_[kind] = room;
  }
  Fresh& fresh = MemoryScope::IsAhead() ? ahead_ : now_;
  if (fresh.bytes < size) {
    buffers_.push_back(BufferPool::At(Place()).Take(kBufferBytes));
    fresh = {buffers_.back()->data(), buffers_.back()->capacity()};
  }
  free_[kind].push_back(new (fresh.place) Ticket);
  fresh.place += size;
  fresh.bytes -= size;
  ++made_[kind];
}

void RecordStore::Drop(Ticket* slot) {
  RefCounted* const owner = slot->owner;
  free_[KindOf(*slot)].push_back(slot);
  if (owner != nullptr) owner->Release();
}

}  // namespace millhopper
