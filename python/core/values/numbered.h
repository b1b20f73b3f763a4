// SPDX-License-Identifier: Apache-2.0
// Objects of Python that programs name by number, in the process that made them.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_NUMBERED_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_NUMBERED_H_

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>

namespace millhopper {

// The objects of one kind that some code holds. Any thread. Never destroyed, because readers may
// still go away while the process exits.
template <typename Object>
class Numbered {
 public:
  static Numbered& All() {
    static auto* const all = new Numbered;
    return *all;
  }

  // The number of the next object.
  int64_t Next() { return next_.fetch_add(1); }
  void Register(int64_t number, const std::shared_ptr<Object>& object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto i = objects_.begin(); i != objects_.end();) {
      i = i->second.expired() ? objects_.erase(i) : std::next(i);
    }
    objects_[number] = object;
  }
  // The object with this number; null if it does not exist or is gone.
  std::shared_ptr<Object> Find(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second.lock();
  }

 private:
  // Begins the numbers at a random place, so that a program from another process finds no object
  // here by its number.
  static int64_t FirstNumber() {
    std::random_device random;
    return static_cast<int64_t>(random() & 0x7fffffff) << 32 |
           static_cast<int64_t>(random() >> 8 << 8);
  }

  std::mutex mutex_;
  std::map<int64_t, std::weak_ptr<Object>> objects_;
  std::atomic<int64_t> next_{FirstNumber()};
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_NUMBERED_H_
