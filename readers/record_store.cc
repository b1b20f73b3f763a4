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

void RecordStore::Copy(Ticket* ticket) {
  Ref<Buffer> own;
  if (ticket->size > kLargestSlot) own = BufferPool::At(Place()).Take(ticket->size);
  char* place = own ? own->data() : Take(ticket->size);
  std::memcpy(place, ticket->where, ticket->size);
  ticket->where = place;
  ticket->owner = own.get();
  if (own) own->Retain();
}

// Sizes are multiples of 64 up to 512; beyond, there are four from each power of two to the next.
size_t RecordStore::Kind(size_t bytes, size_t* size) {
  size_t step = 64;
  size_t kind = 0;
  for (; step * 8 < bytes; step *= 2) kind += 4;
  const size_t steps = std::max<size_t>(1, (bytes + step - 1) / step);
  *size = steps * step;
  return kind + steps - 1;
}

char* RecordStore::Take(size_t bytes) {
  size_t size;
  std::vector<char*>& free = free_[Kind(bytes, &size)];
  if (free.empty()) Collect();
  if (!free.empty()) {
    char* place = free.back();
    free.pop_back();
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
  size_t size;
  try {
    free_[Kind(bytes, &size)].push_back(place);
  } catch (const std::bad_alloc&) {  // the store does without this slot
  }
}

void RecordStore::Collect() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    collected_.swap(returned_);
  }
  for (const Lease::Slot& slot : collected_) Give(slot.place, slot.size);
  collected_.clear();
}

}  // namespace millrace
