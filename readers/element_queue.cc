// SPDX-License-Identifier: Apache-2.0
#include "readers/element_queue.h"

#include <algorithm>
#include <utility>

#include "framework/memory_limit.h"
#include "framework/stop.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

// How long a request to stop, or memory that has become free, may go unnoticed.
constexpr std::chrono::milliseconds kMoment{10};

}  // namespace

ElementQueue::ElementQueue(int64_t capacity) : capacity_(static_cast<size_t>(capacity)) {
  Require(capacity >= 1, "the capacity of a queue is ", capacity, "; it must be at least 1");
}

uint64_t ElementQueue::generation() const {
  const Lock lock(mutex_);
  return generation_;
}

size_t ElementQueue::size() const {
  const Lock lock(mutex_);
  return elements_.size();
}

bool ElementQueue::closed() const {
  const Lock lock(mutex_);
  return closed_;
}

bool ElementQueue::attached() const {
  const Lock lock(mutex_);
  return attached_;
}

// One element always has room, so that a limit that is too low is said where memory is taken.
bool ElementQueue::full() const {
  return elements_.size() >= capacity_ || (!elements_.empty() && !MemoryLimit::HasRoomAhead());
}

void ElementQueue::WaitABit(Lock* lock, std::condition_variable* condition, int* waiting,
                            Clock::time_point until) {
  ++*waiting;
  condition->wait_until(*lock, std::min(until, Clock::now() + kMoment));
  --*waiting;
}

ElementQueue::Pushed ElementQueue::PushWithin(std::chrono::milliseconds patience,
                                              uint64_t generation, Element* element) {
  Lock lock(mutex_);
  if (open(generation) && full()) {
    const auto until = Clock::now() + patience;
    while (open(generation) && full()) {
      if (Clock::now() >= until) return Pushed::kFull;
      WaitABit(&lock, &changed_for_provider_, &providers_waiting_, until);
    }
  }
  if (!open(generation)) return Pushed::kRefused;
  elements_.push_back(std::exchange(*element, {}));
  const bool wake = readers_waiting_ > 0;
  lock.unlock();
  if (wake) changed_for_reader_.notify_one();
  return Pushed::kDone;
}

bool ElementQueue::Push(uint64_t generation, Element element) {
  for (;;) {
    const Pushed pushed = PushWithin(kMoment, generation, &element);
    if (pushed != Pushed::kFull) return pushed == Pushed::kDone;
    CheckStop();
  }
}

void ElementQueue::Close(uint64_t generation) {
  {
    const Lock lock(mutex_);
    if (open(generation)) closed_ = true;
  }
  changed_for_reader_.notify_all();
  changed_for_provider_.notify_all();
}

void ElementQueue::Fail(uint64_t generation, const Error& error) {
  {
    const Lock lock(mutex_);
    if (open(generation)) {
      error_ = error;
      closed_ = true;
    }
  }
  changed_for_reader_.notify_all();
  changed_for_provider_.notify_all();
}

void ElementQueue::Expect(const std::string& missing) {
  const Lock lock(mutex_);
  missing_ = missing;
}

uint64_t ElementQueue::Attach() {
  const Lock lock(mutex_);
  attached_ = true;
  return generation_;
}

void ElementQueue::Detach() {
  {
    const Lock lock(mutex_);
    if (attached_) closed_ = true;
    attached_ = false;
  }
  changed_for_reader_.notify_all();
  changed_for_provider_.notify_all();
}

std::optional<uint64_t> ElementQueue::AwaitNext(std::chrono::milliseconds patience,
                                                uint64_t generation) {
  Lock lock(mutex_);
  const auto until = Clock::now() + patience;
  while (attached_ && generation_ == generation && Clock::now() < until) {
    WaitABit(&lock, &changed_for_provider_, &providers_waiting_, until);
  }
  if (!attached_ || generation_ == generation) return std::nullopt;
  return generation_;
}

bool ElementQueue::Take(Element* element) {
  Lock lock(mutex_);
  while (elements_.empty()) {
    if (error_) throw Error(*error_);
    if (closed_) return false;
    Require(attached_ || missing_.empty(), missing_);
    WaitABit(&lock, &changed_for_reader_, &readers_waiting_, Clock::time_point::max());
    CheckStop();
  }
  std::swap(*element, elements_.front());
  Element old = std::move(elements_.front());
  elements_.pop_front();
  const bool wake = providers_waiting_ > 0;
  lock.unlock();
  if (wake) changed_for_provider_.notify_one();
  return true;
}

void ElementQueue::Restart() {
  std::deque<Element> dropped;
  std::optional<Error> error;
  {
    const Lock lock(mutex_);
    ++generation_;
    dropped.swap(elements_);
    error_.swap(error);
    closed_ = false;
  }
  changed_for_reader_.notify_all();
  changed_for_provider_.notify_all();
}

}  // namespace millrace
