// SPDX-License-Identifier: Apache-2.0
// A bounded queue of elements between a producer, which pushes from its own threads, and the reader
// that yields them.
#ifndef MILLHOPPER_READERS_SOURCES_ELEMENT_QUEUE_H_
#define MILLHOPPER_READERS_SOURCES_ELEMENT_QUEUE_H_

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
// generation. The producer names it with each push: the queue refuses an element of a pass that is
// over, so that it cannot get into the next one.
//
// A reader that resumes in the middle of a pass does not need the pass's first elements. The queue
// drops them when they are pushed; a producer that calls TakeSkip can leave them out instead. The
// reader also says which of its passes it wants, and keeps in its saved place what the producer has
// noted of its own.
//
// A pass accepts elements from its beginning. After Expect all elements come from a provider, which
// is a producer that calls Attach; Take without an attached provider is then an error instead of an
// endless wait.
//
// Any thread. A child process that was forked later can only destroy the queue, because another
// thread may have been using it during the fork; all else throws kInvalidArgument.
class ElementQueue {
 public:
  using Element = std::vector<LoDTensor>;
  enum class Pushed { kDone, kFull, kRefused };

  // Throws kInvalidArgument for a capacity below 1.
  explicit ElementQueue(int64_t capacity);
  ~ElementQueue();
  ElementQueue(const ElementQueue&) = delete;
  ElementQueue& operator=(const ElementQueue&) = delete;

  // ---- The producer. ----

  // The number of the running pass.
  uint64_t generation() const;
  // Moves *element to the end of the queue, which leaves it empty. Waits up to `patience` while the
  // queue is full: it holds `capacity` elements, or at least one and the memory limit leaves no
  // room for more. kRefused if that pass is closed or over. After kRefused and kFull *element is
  // unchanged.
  Pushed PushWithin(std::chrono::milliseconds patience, uint64_t generation, Element* element);
  // The same, but waits as long as it takes; false if the element was refused. Throws kCancelled on
  // a request to stop.
  bool Push(uint64_t generation, Element element);
  // How many elements at the beginning of that pass are still to be dropped. From now on none is
  // dropped: the producer that calls this leaves them out. 0 if that pass is closed or over.
  uint64_t TakeSkip(uint64_t generation);
  // The number that the reader has given to the running pass.
  uint64_t pass() const;
  // What the producer needs to make elements from a place on: bytes that only it understands. The
  // last ones are a part of the reader's saved place, and are here again when that is restored.
  void Note(std::string note);
  std::string note() const;
  // Ends that pass after the elements that were pushed. Close and Fail do nothing if the pass is
  // closed or over already.
  void Close(uint64_t generation);
  // As Close, but the reader gets an error instead of the end.
  void Fail(uint64_t generation, const Error& error);

  // From now on elements come from a provider. Take throws an error with the text `missing` while
  // none is attached.
  void Expect(const std::string& missing);
  // A provider starts; returns the pass that it begins with.
  uint64_t Attach();
  // The provider stops; closes the running pass.
  void Detach();
  // Waits until a pass after `generation` begins and returns its number; nothing if no provider is
  // attached then, or if `patience` is over.
  std::optional<uint64_t> AwaitNext(std::chrono::milliseconds patience, uint64_t generation);

  // ---- The reader. ----

  // Moves the next element to *element, or returns false at the end of the pass. Waits for
  // an element; throws kCancelled on a request to stop. After Fail every call throws its error.
  // Throws kInvalidArgument if the pass was closed before the elements that are to be dropped.
  bool Take(Element* element);
  // Begins the next pass, which the reader calls `pass`, and drops the elements that are left of
  // this one, and the first `skip` ones of the next.
  void Restart(uint64_t skip = 0, uint64_t pass = 0);

  size_t size() const;
  size_t capacity() const { return capacity_; }
  // Whether the running pass takes no more elements.
  bool closed() const;
  bool attached() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;

  // On the heap, so that a child process can leave it undestroyed: the parent's threads may have
  // held the mutex during the fork.
  struct Sync {
    std::mutex mutex;
    std::condition_variable changed;  // for providers
    int waiting = 0;                  // how many providers wait
  };

  Lock TakeLock() const;
  bool full() const;
  // True if `generation` takes elements.
  bool open(uint64_t generation) const { return generation == generation_ && !closed_; }
  // A provider waits here for a change, for at most kMoment and not beyond `until`, because a
  // request to stop or freed memory does not wake it.
  void WaitABit(Lock* lock, Clock::time_point until);

  const size_t capacity_;
  const OwnProcess process_;
  Sync* const sync_;  // its mutex guards all below; it is not held while elements are destroyed
  std::deque<Element> elements_;
  uint64_t generation_ = 0;
  uint64_t skip_ = 0;  // elements that are still to be dropped
  uint64_t pass_ = 0;
  std::string note_;
  bool closed_ = false;
  std::optional<Error> error_;  // thrown at the end of the pass
  std::string missing_;         // error text if a provider is expected and missing
  bool attached_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_ELEMENT_QUEUE_H_
