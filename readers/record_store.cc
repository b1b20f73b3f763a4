// SPDX-License-Identifier: Apache-2.0
#include "readers/record_store.h"

#include <algorithm>
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

Ticket* RecordStore::PutOwned(const Ticket& ticket) {
  Ref<Buffer> copy;
  if (ticket.bytes != nullptr) copy = BufferPool::At(Place()).Take(ticket.size);
  Ticket* const slot = Take(sizeof(Ticket));
  *slot = ticket;
  if (copy) {
    std::memcpy(copy->data(), ticket.bytes, ticket.size);
    slot->bytes = copy->data();
    slot->owner = copy.get();
  }
  if (slot->owner != nullptr) slot->owner->Retain();
  return slot;
}

Ticket* RecordStore::TakeFresh(size_t kind, size_t size) {
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
  auto* const slot = new (fresh.place) Ticket;
  fresh.place += size;
  fresh.bytes -= size;
  ++made_[kind];
  return slot;
}

void RecordStore::Drop(Ticket* slot) {
  Kept* const owner = slot->owner;
  free_[KindOf(*slot)].push_back(slot);
  if (owner != nullptr) owner->Release();
}

void RecordStore::Collect(size_t kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_[kind].swap(returned_[kind]);
}

}  // namespace millhopper
