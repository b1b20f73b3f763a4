// SPDX-License-Identifier: Apache-2.0
#include "readers/record_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace millrace {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
// Slots are kept for records of their size: that is fine for many small ones, and waste for a few
// large ones of which each has another size.
constexpr size_t kLargestSlot = size_t{32} << 10;

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

void RecordStore::Copy(Ticket* ticket) {
  Ref<Buffer> own;
  if (ticket->size > kLargestSlot) own = BufferPool::At(Place()).Take(ticket->size);
  char* place = own ? own->data() : Take(ticket->size);
  std::memcpy(place, ticket->where, ticket->size);
  ticket->where = place;
  ticket->owner = own.get();
  if (own) own->Retain();
}

size_t RecordStore::SlotSize(size_t bytes) {
  size_t step = 64;
  while (step * 8 < bytes) step *= 2;
  return std::max<size_t>(1, (bytes + step - 1) / step) * step;
}

char* RecordStore::Take(size_t bytes) {
  const size_t size = SlotSize(bytes);
  if (size != last_size_) {
    last_free_ = &free_[size];
    last_size_ = size;
  }
  if (last_free_->empty()) Collect();
  if (!last_free_->empty()) {
    char* place = last_free_->back();
    last_free_->pop_back();
    return place;
  }
  if (fresh_bytes_ < size) {
    buffers_.push_back(BufferPool::At(Place()).Take(kBufferBytes));
    fresh_ = buffers_.back()->data();
    fresh_bytes_ = buffers_.back()->capacity();
  }
  char* place = fresh_;
  fresh_ += size;
  fresh_bytes_ -= size;
  return place;
}

void RecordStore::Give(char* place, size_t bytes) {
  const size_t size = SlotSize(bytes);
  try {
    if (size != last_size_) {
      last_free_ = &free_[size];
      last_size_ = size;
    }
    last_free_->push_back(place);
  } catch (const std::bad_alloc&) {  // the store does without this slot
  }
}

void RecordStore::Collect() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    collected_.swap(returned_);
  }
  for (; !collected_.empty(); collected_.pop_back()) {
    const Lease::Slot& slot = collected_.back();
    free_[SlotSize(slot.size)].push_back(slot.place);
  }
}

}  // namespace millrace
