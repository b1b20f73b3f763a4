// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/element_queue.h"

#include <algorithm>
#include <utility>

#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

// How long a waiting thread may overlook a request to stop, or memory that has become free.
constexpr std::chrono::milliseconds kMoment{10};

}  // namespace

ElementQueue::ElementQueue(int64_t capacity)
    : capacity_(static_cast<size_t>(capacity)), sync_(new Sync) {
  if (capacity >= 1) return;
  delete sync_;
  Throw(ErrorCode::kInvalidArgument, "the capacity of a queue is ", capacity,
        "; it must be at least 1");
}

ElementQueue::~ElementQueue() {
  if (process_.IsThis()) delete sync_;
}

ElementQueue::Lock ElementQueue::TakeLock() const {
  if (!process_.IsThis()) OwnProcess::Refuse("this queue");
  return Lock(sync_->mutex);
}

uint64_t ElementQueue::generation() const {
  const Lock lock = TakeLock();
  return generation_;
}

size_t ElementQueue::size() const {
  const Lock lock = TakeLock();
  return elements_.size();
}

bool ElementQueue::closed() const {
  const Lock lock = TakeLock();
  return closed_;
}

bool ElementQueue::attached() const {
  const Lock lock = TakeLock();
  return attached_;
}

// One element always has room: if the memory limit is too low for it, the allocation itself reports
// that.
bool ElementQueue::full() const {
  return elements_.size() >= capacity_ || (!elements_.empty() && !MemoryLimit::HasRoomInStore());
}

void ElementQueue::WaitABit(Lock* lock, Clock::time_point until) {
  ++sync_->waiting;
  sync_->changed.wait_until(*lock, std::min(until, Clock::now() + kMoment));
  --sync_->waiting;
}

ElementQueue::Pushed ElementQueue::PushWithin(std::chrono::milliseconds patience,
                                              uint64_t generation, Element* element) {
  Lock lock = TakeLock();
  if (open(generation) && skip_ > 0) {
    const Element dropped = std::exchange(*element, {});
    --skip_;
    lock.unlock();
    return Pushed::kDone;
  }
  if (open(generation) && full()) {
    const auto until = Clock::now() + patience;
    while (open(generation) && full()) {
      if (Clock::now() >= until) return Pushed::kFull;
      WaitABit(&lock, until);
    }
  }
  if (!open(generation)) return Pushed::kRefused;
  elements_.push_back(std::exchange(*element, {}));
  return Pushed::kDone;
}

bool ElementQueue::Push(uint64_t generation, Element element) {
  for (;;) {
    const Pushed pushed = PushWithin(kMoment, generation, &element);
    if (pushed != Pushed::kFull) return pushed == Pushed::kDone;
    CheckStop();
  }
}

uint64_t ElementQueue::TakeSkip(uint64_t generation) {
  const Lock lock = TakeLock();
  return open(generation) ? std::exchange(skip_, 0) : 0;
}

uint64_t ElementQueue::pass() const {
  const Lock lock = TakeLock();
  return pass_;
}

void ElementQueue::Note(std::string note) {
  const Lock lock = TakeLock();
  note_ = std::move(note);
}

std::string ElementQueue::note() const {
  const Lock lock = TakeLock();
  return note_;
}

void ElementQueue::Close(uint64_t generation) {
  {
    const Lock lock = TakeLock();
    if (open(generation)) closed_ = true;
  }
  sync_->changed.notify_all();
}

void ElementQueue::Fail(uint64_t generation, const Error& error) {
  {
    const Lock lock = TakeLock();
    if (open(generation)) {
      error_ = error;
      closed_ = true;
    }
  }
  sync_->changed.notify_all();
}

void ElementQueue::Expect(const std::string& missing) {
  const Lock lock = TakeLock();
  missing_ = missing;
}

uint64_t ElementQueue::Attach() {
  const Lock lock = TakeLock();
  attached_ = true;
  return generation_;
}

void ElementQueue::Detach() {
  {
    const Lock lock = TakeLock();
    if (attached_) closed_ = true;
    attached_ = false;
  }
  sync_->changed.notify_all();
}

std::optional<uint64_t> ElementQueue::AwaitNext(std::chrono::milliseconds patience,
                                                uint64_t generation) {
  Lock lock = TakeLock();
  const auto until = Clock::now() + patience;
  while (attached_ && generation_ == generation && Clock::now() < until) {
    WaitABit(&lock, until);
  }
  if (!attached_ || generation_ == generation) return std::nullopt;
  return generation_;
}

// The reader polls instead of being woken: waking it would cost time in the producer, which is what
// the reader is waiting for.
bool ElementQueue::Take(Element* element) {
  Lock lock = TakeLock();
  for (Backoff backoff; elements_.empty();) {
    if (error_) throw Error(*error_);
    if (closed_) {
      Require(skip_ == 0, "the producer has ended the pass ", skip_,
              " elements before the position that the reader continues from");
      return false;
    }
    Require(attached_ || missing_.empty(), missing_);
    lock.unlock();
    backoff.Pause();
    CheckWait();
    lock.lock();
  }
  std::swap(*element, elements_.front());
  Element old = std::move(elements_.front());
  elements_.pop_front();
  const bool wake = sync_->waiting > 0;
  lock.unlock();
  if (wake) sync_->changed.notify_one();
  return true;
}

void ElementQueue::Restart(uint64_t skip, uint64_t pass) {
  std::deque<Element> dropped;
  std::optional<Error> error;
  {
    const Lock lock = TakeLock();
    ++generation_;
    skip_ = skip;
    pass_ = pass;
    dropped.swap(elements_);
    error_.swap(error);
    closed_ = false;
  }
  sync_->changed.notify_all();
}

}  // namespace millhopper
