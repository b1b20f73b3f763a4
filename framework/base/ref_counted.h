// SPDX-License-Identifier: Apache-2.0
// Reference-counted things that planned tickets point into, and pools that use them again.
#ifndef MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_
#define MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_

#include <algorithm>
#include <atomic>
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

// Objects of one type that are used again and again with the memory that they have gathered, so
// that the steady state allocates nothing. T derives from RefCounted, is default-constructible, and
// its Dispose clears it and calls Pool<T>::Give(this). Any thread.
template <typename T>
class Pool {
 public:
  static Ref<T> Take() {
    Pool& pool = Get();
    {
      const MutexLock lock(&pool.mutex_);
      if (!pool.free_.empty()) {
        T* object = pool.free_.back();
        pool.free_.pop_back();
        return Ref<T>(object);
      }
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
    {
      const MutexLock lock(&pool.mutex_);
      if (pool.free_.size() < kMostIdle) {
        pool.free_.push_back(object);
        return;
      }
      --pool.made_;
    }
    delete object;
  }
  // The number of objects in use: 0 when every reader is gone. For tests.
  static size_t in_use() {
    Pool& pool = Get();
    const MutexLock lock(&pool.mutex_);
    return pool.made_ - pool.free_.size();
  }

 private:
  // The most idle objects that are kept, so that a peak of use does not hold memory for ever.
  static constexpr size_t kMostIdle = 4096;

  static Pool& Get() {
    static Pool* const pool = [] {
      internal::AddPool(&Pool::DropIdle);
      return new Pool;  // never destroyed: objects may come back at exit
    }();
    return *pool;
  }

  static void DropIdle() {
    Pool& pool = Get();
    std::vector<T*> idle;
    {
      const MutexLock lock(&pool.mutex_);
      idle.swap(pool.free_);
      pool.made_ -= idle.size();
      pool.free_.reserve(std::min(pool.made_, kMostIdle));  // as Take does
    }
    for (T* object : idle) delete object;
  }

  Mutex mutex_;
  std::vector<T*> free_ GUARDED_BY(mutex_);
  size_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_REF_COUNTED_H_
