// SPDX-License-Identifier: Apache-2.0
// Reference-counted things that planned tickets point into, and pools that use them again.
#ifndef MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_
#define MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/base/mutex.h"

namespace millhopper {

// Something that must outlive what points into it: a chunk of a file, a buffer, a run of tickets.
// The count is atomic; the last Release, on any thread, disposes of the object.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  // Adds n references.
  void Retain(int n = 1) const { references_.fetch_add(n, std::memory_order_relaxed); }
  void Release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<RefCounted*>(this)->Dispose();
    }
  }
  // True if the caller holds the only reference, so that no other thread can see a change.
  bool HasOneReference() const { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  virtual ~RefCounted() = default;
  // Called when the last reference is gone. Pooled kinds return themselves to their pool. Must not
  // throw.
  virtual void Dispose() { delete this; }

 private:
  friend class TicketRun;
  mutable std::atomic<int> references_{0};
  // The run that has kept this last. A run calls Keep for every ticket, but retains only once.
  std::atomic<uint64_t> last_run_{0};
};

// An owning pointer to something RefCounted.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* pointer) : pointer_(pointer) {
    if (pointer_ != nullptr) pointer_->Retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ != nullptr) pointer_->Release();
  }

  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  T* get() const { return pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  T* pointer_ = nullptr;
};

// Destroys the idle objects of every pool, and so frees the memory that they keep. For tests that
// count what is in use. Any thread.
void DropIdleObjects();

namespace internal {
// Tells DropIdleObjects of a pool: the function drops the pool's idle objects.
void AddPool(void (*drop_idle)());
}  // namespace internal

// A place for the calling thread in tables with one for each thread, so that threads do not write
// to the same cache lines: below kThreadPlaces - 1, or that one, which is shared by all threads for
// which no own place is left. When the thread ends, another thread may get its place.
size_t ThreadPlace();
constexpr size_t kThreadPlaces = 16;

// Objects of one type that are used again and again with the memory that they have gathered, so
// that the steady state allocates nothing. T derives from RefCounted, is default-constructible, and
// its Dispose clears it and calls Pool<T>::Give(this). Any thread. A thread mostly gets objects
// that it has given back itself, which are in its cache, and takes no lock that others want.
template <typename T>
class Pool {
 public:
  static Ref<T> Take() {
    Pool& pool = Get();
    Place& own = pool.places_[ThreadPlace()];
    {
      const MutexLock lock(&own.mutex);
      if (own.free.empty()) pool.Refill(&own);
      if (!own.free.empty()) {
        T* object = own.free.back();
        own.free.pop_back();
        return Ref<T>(object);
      }
    }
    {
      const MutexLock lock(&pool.mutex_);
      pool.free_.reserve(std::min(pool.made_ + 1, kMostIdle));  // so that Give cannot fail
      ++pool.made_;
    }
    try {
      return Ref<T>(new T);
    } catch (...) {
      const MutexLock lock(&pool.mutex_);
      --pool.made_;
      throw;
    }
  }
  static void Give(T* object) {
    Pool& pool = Get();
    Place& own = pool.places_[ThreadPlace()];
    std::array<T*, kMostOwn / 2> surplus;
    size_t n = 0;
    {
      const MutexLock lock(&own.mutex);
      if (own.free.size() == kMostOwn) n = pool.TakeBack(&own, &surplus);
      own.free.push_back(object);
    }
    for (size_t i = 0; i < n; ++i) delete surplus[i];
  }
  // The number of objects in use: 0 when every reader is gone. For tests.
  static size_t in_use() {
    Pool& pool = Get();
    size_t idle = 0;
    for (Place& place : pool.places_) {
      const MutexLock lock(&place.mutex);
      idle += place.free.size();
    }
    const MutexLock lock(&pool.mutex_);
    return pool.made_ - pool.free_.size() - idle;
  }

 private:
  // The most idle objects that are kept, so that a peak of use does not hold memory for ever; and
  // those of them that are kept for one thread.
  static constexpr size_t kMostIdle = 4096;
  static constexpr size_t kMostOwn = 32;

  struct alignas(128) Place {
    Place() { free.reserve(kMostOwn); }

    Mutex mutex;
    std::vector<T*> free GUARDED_BY(mutex);  // has room for kMostOwn
  };

  Pool() = default;
  static Pool& Get() {
    static Pool* const pool = [] {
      internal::AddPool(&Pool::DropIdle);
      return new Pool;  // never destroyed: objects may come back at exit
    }();
    return *pool;
  }

  // Moves half of what a place can hold to it.
  void Refill(Place* place) REQUIRES(place->mutex) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    for (size_t n = kMostOwn / 2; n > 0 && !free_.empty(); --n) {
      place->free.push_back(free_.back());
      free_.pop_back();
    }
  }
  // Moves the half that has been there for longest from a full place. Returns how many of them are
  // too many to be kept.
  size_t TakeBack(Place* place, std::array<T*, kMostOwn / 2>* surplus) REQUIRES(place->mutex)
      EXCLUDES(mutex_) {
    const auto half = place->free.begin() + kMostOwn / 2;
    const MutexLock lock(&mutex_);
    const size_t kept = std::min(kMostOwn / 2, kMostIdle - free_.size());
    free_.insert(free_.end(), place->free.begin(), place->free.begin() + kept);
    const auto end = std::copy(place->free.begin() + kept, half, surplus->begin());
    made_ -= kMostOwn / 2 - kept;
    place->free.erase(place->free.begin(), half);
    return static_cast<size_t>(end - surplus->begin());
  }

  static void DropIdle() {
    Pool& pool = Get();
    std::vector<T*> idle;
    for (Place& place : pool.places_) {
      const MutexLock lock(&place.mutex);
      idle.insert(idle.end(), place.free.begin(), place.free.end());
      place.free.clear();
    }
    {
      const MutexLock lock(&pool.mutex_);
      idle.insert(idle.end(), pool.free_.begin(), pool.free_.end());
      pool.free_.clear();
      pool.made_ -= idle.size();
    }
    for (T* object : idle) delete object;
  }

  std::array<Place, kThreadPlaces> places_;
  Mutex mutex_;
  std::vector<T*> free_ GUARDED_BY(mutex_);
  size_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_
