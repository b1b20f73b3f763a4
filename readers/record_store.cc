// SPDX-License-Identifier: Apache-2.0
#include "readers/record_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace millrace {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

void RecordStore::Lease::Dispose() {
  if (!slots_.empty()) {
    std::lock_guard<std::mutex> lock(store_->mutex_);
    try {
      store_->returned_.insert(store_->returned_.end(), slots_.begin(), slots_.end());
    } catch (const std::bad_alloc&) {  // the store does without these slots
    }
  }
  slots_.clear();
  store_ = Ref<RecordStore>();
  Pool<Lease>::Give(this);
}

Ref<RecordStore::Lease> RecordStore::NewLease() {
  Ref<Lease> lease = Pool<Lease>::Take();
  lease->store_ = Ref<RecordStore>(this);
  return lease;
}

Ticket* RecordStore::PutLarge(const Ticket& ticket) {
  const Ref<Buffer> copy = BufferPool::At(Place()).Take(ticket.size);
  Ticket* const slot = Take(sizeof(Ticket));
  *slot = ticket;
  slot->where = std::memcpy(copy->data(), ticket.where, ticket.size);
  slot->owner = copy.get();
  slot->owner->Retain();
  return slot;
}

Ticket* RecordStore::TakeFresh(size_t size) {
  if (fresh_bytes_ < size) {
    buffers_.push_back(BufferPool::At(Place()).Take(kBufferBytes));
    fresh_ = buffers_.back()->data();
    fresh_bytes_ = buffers_.back()->capacity();
  }
  auto* const slot = new (fresh_) Ticket;
  fresh_ += size;
  fresh_bytes_ -= size;
  return slot;
}

void RecordStore::Drop(Ticket* slot) {
  Kept* const owner = slot->owner;
  Give(&slot, 1);
  if (owner != nullptr) owner->Release();
}

// Mostly they are all of one kind, so the list to put them on is looked up where that changes.
void RecordStore::Give(Ticket* const* slots, size_t n) {
  for (size_t i = 0; i < n;) {
    const size_t kind = KindOf(*slots[i]);
    const size_t begin = i;
    while (i < n && KindOf(*slots[i]) == kind) ++i;
    try {
      free_[kind].insert(free_[kind].end(), slots + begin, slots + i);
    } catch (const std::bad_alloc&) {  // the store does without these slots
    }
  }
}

void RecordStore::Collect() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    collected_.swap(returned_);
  }
  Give(collected_.data(), collected_.size());
  collected_.clear();
}

}  // namespace millrace
