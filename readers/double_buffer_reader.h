// SPDX-License-Identifier: Apache-2.0
// Loads elements ahead of their use, and copies them to a device if asked.
#ifndef MILLHOPPER_READERS_DOUBLE_BUFFER_READER_H_
#define MILLHOPPER_READERS_DOUBLE_BUFFER_READER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "framework/base/memory_limit.h"
#include "framework/base/place.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Keeps `depth` elements of the reader below loaded, or being loaded, ahead of the consumer.
// Planning is serial: whoever holds the planner's lock plans one element, lets the next worker plan
// on, and loads its own. A consumer that would have to wait does the same instead.
//
// Elements for the host that load in less than 5 us are loaded when they are asked for, by whoever
// asks: to hand them over would cost more. Workers have the more time to read the files ahead.
//
// For a device, elements are loaded into pinned memory and copied from there by the device's own
// queue; an element is handed out when its copy is done, so that an error of the copy takes the
// element's place like every other one.
//
// Where the memory limit leaves no room for more ahead, elements are planned and loaded when they
// are asked for, by whoever asks; so they are where planning would have to wait for somebody
// outside. Under a limit the first element of a pass is always the consumer's, so that what readers
// keep for the whole pass, such as a shuffle window, is memory of what is needed.
class DoubleBufferReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a depth below 1, and for elements that are on a device already.
  DoubleBufferReader(std::unique_ptr<ReaderBase> reader, Place place, int64_t depth);
  ~DoubleBufferReader() override;

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;
  Place place() const override { return place_; }
  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }

 private:
  enum class State;
  class Element;
  class Ahead;

  void PlanNext(size_t n, Run* run) override;
  void Rewind(uint64_t pass) override;
  // Plans and loads one more element. False if there is nothing to plan, or another thread plans.
  bool Advance(MemoryScope::Need need);
  // The element that is handed out next; null if there is none yet.
  Ref<Element> Planned();
  // Waits for the loading of an element, and works on the next ones meanwhile.
  State Wait(const Element& element) const;
  // Waits for an element, and loads it if there was no memory to load it ahead.
  void LoadIfDeferred(Element* element) const;
  void LoadElement(Element* element, MemoryScope::Need need) const;
  // Has a worker come for an element that is wanted, where it is worth a hand-over.
  void CallWorker();
  void Stop();

  const Place place_;
  const size_t depth_;
  const Ref<Ahead> ahead_;
  bool started_ = false;
  std::atomic<bool> ahead_allowed_{false};  // elements of this pass

  std::mutex planning_;         // held by the thread that plans
  std::atomic<size_t> wanted_;  // elements that may still be planned ahead
  std::atomic<bool> end_{false};
  std::exception_ptr error_;  // of planning; set before end_

  std::mutex mutex_;  // guards planned_
  std::deque<Ref<Element>> planned_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DOUBLE_BUFFER_READER_H_
