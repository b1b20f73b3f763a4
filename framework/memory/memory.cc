// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kSmallest = 64;
// Of buffers of one size that a device uses although no reference to them is left. A consumer that
// queues work further ahead waits for the device, instead of taking more and more of its memory.
constexpr size_t kMostBusy = 4;

// Pools live as long as the process: buffers may come back while it exits.
struct Pools {
  Mutex mutex;
  // By device and whether they are pinned.
  std::map<std::pair<Device*, bool>, BufferPool*> pools GUARDED_BY(mutex);
};

Pools& AllPools() {
  static auto* pools = new Pools;
  return *pools;
}

BufferPool& FindPool(Place place, bool pinned,
                     const std::function<BufferPool*(Place, bool)>& make) {
  const MutexLock lock(&AllPools().mutex);
  BufferPool*& pool = AllPools().pools[{place.device(), pinned}];
  if (pool == nullptr) pool = make(place, pinned);
  return *pool;
}

// Buffers that devices use although no reference to them is left.
struct KeptBuffers {
  struct One {
    Ref<Buffer> buffer;
    std::shared_ptr<DeviceEvent> event;
  };
  Mutex mutex;
  std::vector<One> all GUARDED_BY(mutex);
  std::atomic<bool> some{false};

  static KeptBuffers& Get() {
    static auto* kept = new KeptBuffers;  // never destroyed, as the pools
    return *kept;
  }
  // Gives back what is done. The buffers go without the mutex: they may be Python's.
  void ReleaseDone() {
    if (!some.load(std::memory_order_relaxed)) return;
    std::vector<One> done;
    const MutexLock lock(&mutex);
    const auto is_pending = [](const One& one) { return !one.event->Done(); };
    const auto first = std::stable_partition(all.begin(), all.end(), is_pending);
    done.assign(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    some.store(!all.empty(), std::memory_order_relaxed);
  }
};

}  // namespace

void KeepUntilDone(Ref<Buffer> buffer, std::shared_ptr<DeviceEvent> event) {
  KeptBuffers& kept = KeptBuffers::Get();
  kept.ReleaseDone();
  if (event->Done()) return;
  const MutexLock lock(&kept.mutex);
  kept.all.push_back({std::move(buffer), std::move(event)});
  kept.some.store(true, std::memory_order_relaxed);
}

// The chunks of streams depend on these classes, so a change of them is a new version of indexes
// (kVersion in readers/index/chunk_index.cc).
size_t SizeClass(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  // Four classes an octave: 1.0, 1.25, 1.5 and 1.75 times a power of two.
  size_t octave = kSmallest;
  while (octave <= bytes / 2) octave *= 2;
  const size_t step = octave / 4;
  const size_t size = (bytes + step - 1) / step * step;
  return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

size_t CheckedProduct(size_t left, size_t right) {
  size_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) {
    Throw(ErrorCode::kResourceLimit, "a size overflows: ", left, " times ", right);
  }
  return product;
}

BufferPool& BufferPool::At(Place place) {
  if (place.is_cpu()) {
    static auto* host = new BufferPool(Place(), Kind::kMemory);
    return *host;
  }
  return FindPool(place, false, [](Place p, bool) { return new BufferPool(p, Kind::kMemory); });
}

BufferPool& BufferPool::PinnedFor(Place place) {
  if (place.is_cpu()) return At(place);
  return FindPool(place, true, [](Place p, bool) { return new BufferPool(p, Kind::kPinned); });
}

Ref<Buffer> BufferPool::Take(size_t bytes) {
  if (bytes > (size_t{1} << 46)) {
    Throw(ErrorCode::kResourceLimit, "a buffer of ", bytes, " bytes is out of reach");
  }
  KeptBuffers::Get().ReleaseDone();
  const size_t capacity = SizeClass(bytes);
  MemoryCharge charge;
  if (on_host()) charge = MemoryLimit::Use(capacity);
  Buffer* buffer = TakeIdle(capacity);
  if (buffer == nullptr) {
    try {
      buffer = NewBuffer(capacity);
    } catch (...) {
      if (on_host()) MemoryLimit::Unuse(capacity, charge);
      throw;
    }
  }
  buffer->charge_ = std::move(charge);
  return Ref<Buffer>(buffer);
}

Buffer* BufferPool::TakeIdle(size_t capacity) {
  for (;;) {
    std::shared_ptr<DeviceEvent> first;
    {
      const MutexLock lock(&mutex_);
      auto found = free_.find(capacity);
      if (found == free_.end() || found->second.empty()) return nullptr;
      std::vector<Buffer*>& idle = found->second;
      const auto last =
          std::find_if(idle.rbegin(), idle.rend(), [](const Buffer* one) { return !IsBusy(*one); });
      if (last != idle.rend()) {
        Buffer* const buffer = *last;
        idle.erase(std::next(last).base());
        idle_bytes_ -= capacity;
        in_use_bytes_ += capacity;
        buffer->busy_until_.reset();
        return buffer;
      }
      if (idle.size() < kMostBusy) return nullptr;
      first = idle.front()->busy_until_;  // the one that came first is done first
    }
    WaitUntilDone(first.get());
  }
}

bool BufferPool::IsBusy(const Buffer& buffer) {
  return buffer.busy_until_ != nullptr && !buffer.IsDone();
}

std::shared_ptr<DeviceEvent> BufferPool::FirstBusy() const {
  const MutexLock lock(&mutex_);
  for (const auto& size : free_) {
    for (const Buffer* const buffer : size.second) {
      if (IsBusy(*buffer)) return buffer->busy_until_;
    }
  }
  return nullptr;
}

void BufferPool::WaitUntilDone(DeviceEvent* event) {
  try {
    event->Wait();
  } catch (const Error&) {  // whose work it was gets this error; the memory is idle either way
    if (!event->Done()) throw;
  }
}

bool BufferPool::SetBusy(Buffer* buffer) noexcept {
  try {
    buffer->busy_until_ = place_.device()->EventAfterAll();
    return true;
  } catch (...) {
    return false;
  }
}

Buffer* BufferPool::NewBuffer(size_t capacity) {
  auto* buffer = new Buffer;
  try {
    try {
      buffer->data_ = static_cast<char*>(Allocate(capacity));
    } catch (const Error&) {
      if (Trim(0) == 0) {
        const std::shared_ptr<DeviceEvent> busy = FirstBusy();
        if (busy == nullptr) throw;
        WaitUntilDone(busy.get());
        Trim(0);
      }
      // Idle memory was freed, which may suffice.
      buffer->data_ = static_cast<char*>(Allocate(capacity));
    }
  } catch (...) {
    delete buffer;
    throw;
  }
  buffer->capacity_ = capacity;
  buffer->pool_ = this;
  buffer->on_host_ = place().is_cpu();
  const MutexLock lock(&mutex_);
  in_use_bytes_ += capacity;
  return buffer;
}

void BufferPool::Give(Buffer* buffer) {
  if (!on_host() && !SetBusy(buffer)) {
    // The device is lost, or the process ends. The memory is not touched again.
    const MutexLock lock(&mutex_);
    in_use_bytes_ -= buffer->capacity_;
    delete buffer;
    return;
  }
  // The buffer joins the idle ones before it is uncounted, so that a thread which then finds room
  // under the limit also finds the buffer.
  const MemoryCharge charge = std::exchange(buffer->charge_, MemoryCharge());
  const size_t capacity = buffer->capacity_;
  if (!Keep(buffer)) Free(buffer);
  if (on_host()) MemoryLimit::Unuse(capacity, charge);
}

bool BufferPool::Keep(Buffer* buffer) {
  const MutexLock lock(&mutex_);
  in_use_bytes_ -= buffer->capacity_;
  // A buffer that a device still uses stays for now, also beyond the limit; a later call frees it.
  if (idle_bytes_ + buffer->capacity_ > idle_limit_ && !IsBusy(*buffer)) return false;
  try {
    free_[buffer->capacity_].push_back(buffer);
  } catch (const std::bad_alloc&) {  // no memory even for the list
    return false;
  }
  idle_bytes_ += buffer->capacity_;
  return true;
}

void BufferPool::set_idle_limit(size_t bytes) {
  {
    const MutexLock lock(&mutex_);
    idle_limit_ = bytes;
  }
  Trim(bytes);
  while (idle_bytes() > bytes) {
    const std::shared_ptr<DeviceEvent> busy = FirstBusy();
    if (busy != nullptr) WaitUntilDone(busy.get());
    Trim(bytes);
  }
}

size_t BufferPool::Trim(size_t bytes) {
  std::vector<Buffer*> surplus;
  size_t freed = 0;
  {
    const MutexLock lock(&mutex_);
    for (auto size = free_.rbegin(); size != free_.rend(); ++size) {
      std::vector<Buffer*>& idle = size->second;
      for (size_t i = idle.size(); i-- > 0 && idle_bytes_ > bytes;) {
        if (IsBusy(*idle[i])) continue;
        surplus.push_back(idle[i]);
        idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i));
        idle_bytes_ -= size->first;
        freed += size->first;
      }
    }
  }
  for (Buffer* buffer : surplus) Free(buffer);
  return freed;
}

size_t BufferPool::FreeIdle(size_t bytes) {
  std::vector<BufferPool*> pools{&At(Place())};
  {
    const MutexLock lock(&AllPools().mutex);
    for (const auto& entry : AllPools().pools) {
      if (entry.second->on_host()) pools.push_back(entry.second);
    }
  }
  size_t freed = 0;
  for (BufferPool* pool : pools) {
    if (freed >= bytes) break;
    const size_t idle = pool->idle_bytes();
    freed += pool->Trim(idle - std::min(idle, bytes - freed));
  }
  return freed;
}

size_t BufferPool::idle_bytes() const {
  const MutexLock lock(&mutex_);
  return idle_bytes_;
}

size_t BufferPool::in_use_bytes() const {
  const MutexLock lock(&mutex_);
  return in_use_bytes_;
}

void* BufferPool::Allocate(size_t bytes) {
  if (!on_host()) return place_.device()->Allocate(bytes);
  MemoryLimit::Reserve(bytes);
  try {
    if (!place_.is_cpu()) return place_.device()->AllocateHost(bytes);
    void* memory = std::aligned_alloc(kBufferAlignment, bytes);
    if (memory == nullptr) {
      throw Error(
          ErrorCode::kResourceLimit,
          StrCat("the system has no memory for ", bytes, " bytes",
                 MemoryScope::CurrentName().empty() ? "" : " of ", MemoryScope::CurrentName()))
          .WithCause(std::make_shared<OutOfMemory>());
    }
    return memory;
  } catch (...) {
    MemoryLimit::Unreserve(bytes);
    throw;
  }
}

void BufferPool::Free(Buffer* buffer) noexcept {
  if (!IsBusy(*buffer)) {  // else the device would write to memory that others have by then
    if (place_.is_cpu()) {
      std::free(buffer->data_);
    } else if (kind_ == Kind::kPinned) {
      place_.device()->FreeHost(buffer->data_);
    } else {
      place_.device()->Free(buffer->data_);
    }
  }
  if (on_host()) MemoryLimit::Unreserve(buffer->capacity_);
  delete buffer;
}

}  // namespace millhopper
