// SPDX-License-Identifier: Apache-2.0
// A bounded queue of elements between whoever makes them, in threads of his own, and the reader
// that yields them.
#ifndef MILLHOPPER_READERS_ELEMENT_QUEUE_H_
#define MILLHOPPER_READERS_ELEMENT_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// Elements in the order in which they were pushed, pass after pass. A pass has a number, its
// generation, which whoever pushes names: what he makes for a pass that is over meanwhile is
// refused, so that nothing of it gets into the next one.
//
// A pass is open from its beginning, unless a provider is expected (Expect): then somebody who is
// Attached makes all elements, and taking one while nobody is attached is an error instead of a
// wait without end.
//
// Any thread. In a child process that was forked later a queue can only be destroyed, for another
// thread may have been at work on it: all else throws kInvalidArgument.
class ElementQueue {
 public:
  using Element = std::vector<LoDTensor>;
  enum class Pushed { kDone, kFull, kRefused };

  // Throws kInvalidArgument for a capacity below 1.
  explicit ElementQueue(int64_t capacity);
  ~ElementQueue();
  ElementQueue(const ElementQueue&) = delete;
  ElementQueue& operator=(const ElementQueue&) = delete;

  // ---- Whoever makes elements. ----

  // The pass that is running.
  uint64_t generation() const;
  // Appends *element, which is empty then. Waits, up to `patience`, while the queue is full: of
  // `capacity` elements, or of any if the memory limit leaves no room for more ahead. kRefused if
  // that pass is closed or over; the element is as it was then, and for kFull.
  Pushed PushWithin(std::chrono::milliseconds patience, uint64_t generation, Element* element);
  // The same without impatience; false if it was refused. Throws kCancelled on a request to stop.
  bool Push(uint64_t generation, Element element);
  // The end of that pass, behind what was pushed. Does nothing if it is closed or over already, as
  // does Fail.
  void Close(uint64_t generation);
  // As Close, but an error takes the end's place.
  void Fail(uint64_t generation, const Error& error);

  // From now on elements come from a provider, and this is said where there is none.
  void Expect(const std::string& missing);
  // There is a provider now; returns the pass that he begins with.
  uint64_t Attach();
  // There is none any more: his pass is closed.
  void Detach();
  // Waits until a pass behind `generation` begins and returns it; none if nobody is attached then,
  // or `patience` is over.
  std::optional<uint64_t> AwaitNext(std::chrono::milliseconds patience, uint64_t generation);

  // ---- The reader. ----

  // Moves the next element to *element, or returns false at the end of the pass. Waits for it;
  // throws kCancelled on a request to stop, and again and again the error of Fail.
  bool Take(Element* element);
  // Begins the next pass: what is left of this one is dropped.
  void Restart();

  size_t size() const;
  size_t capacity() const { return capacity_; }
  // Whether the running pass takes no more elements.
  bool closed() const;
  bool attached() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;

  // By itself because it cannot be destroyed in a child process while it was in use.
  struct Sync {
    std::mutex mutex;
    std::condition_variable changed;  // for providers
    int waiting = 0;                  // of them
  };

  Lock TakeLock() const;
  bool full() const;
  // True if `generation` takes elements.
  bool open(uint64_t generation) const { return generation == generation_ && !closed_; }
  // A provider waits for a change, or for as long as a request to stop or memory that has become
  // free may go unnoticed, but not beyond `until`.
  void WaitABit(Lock* lock, Clock::time_point until);

  const size_t capacity_;
  const OwnProcess process_;
  Sync* const sync_;  // its mutex guards all below; no element is dropped while it is held
  std::deque<Element> elements_;
  uint64_t generation_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;  // at the end of the pass
  std::string missing_;         // what is said where a provider is expected and missing
  bool attached_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ELEMENT_QUEUE_H_
