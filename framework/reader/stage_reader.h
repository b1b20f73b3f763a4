// SPDX-License-Identifier: Apache-2.0
// Stages: what makes none, one or many elements of each element of a reader, in parallel and ahead
// of their use.
#ifndef MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "framework/base/memory_limit.h"
#include "framework/base/place.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/reader.h"

namespace millhopper {

// What has become of one element.
struct StagedElement {
  RecordId id;
  std::vector<LoDTensor> tensors;  // one a slot
  // Copies to a device that are under way, and what they read, which nobody may write before.
  std::vector<std::shared_ptr<DeviceEvent>> copies;
  std::vector<Ref<Buffer>> copied_from;
};

// What becomes of elements, one by one: the same of the same element, whatever came before.
class Stage {
 public:
  virtual ~Stage() = default;
  // Changes a loaded element into what it becomes, and returns how many elements that is: none, or
  // the one that is left in it; of a stage that makes parts, any number. Any thread, several at
  // once. What it throws takes the element's place.
  virtual size_t Work(StagedElement* element) const = 0;
  // Whether elements become parts of what is left in them, which LoadPart appends to the rows one
  // by one, from 0. Any thread, several at once for one element.
  virtual bool makes_parts() const { return false; }
  virtual void LoadPart(const StagedElement& element, size_t part, Rows* rows) const;
  // Whether every element becomes exactly one: then its place is known before the work is done.
  virtual bool keeps_count() const { return false; }
  // Whether what it makes has the slots of what it is made of, as the file turns out to hold them.
  virtual bool keeps_slots() const { return keeps_count(); }
  // How many elements may be worked on together, by one thread: more than one where an element
  // takes less time than its hand-over from thread to thread.
  virtual size_t most_together() const { return 1; }
  // Where the elements are that it makes. They are loaded into memory from which they get there
  // without a detour.
  virtual Place place() const { return Place(); }
};

// Groups to keep ready so that all workers of the pool are busy, and no more than that: they hold
// what is loaded.
int64_t DepthForAllWorkers();

// Keeps `depth` groups of elements of the reader below loaded and worked on, or being so, ahead of
// the consumer. Planning is serial: whoever holds the planner's lock plans one group, lets the next
// worker plan on, and works on its own. A consumer that would have to wait does the same instead.
// Elements come out in the order of what they were made of, whatever the threads.
//
// Where a stage keeps the count, elements for the host that load in less than 5 us are loaded when
// they are asked for, by whoever asks: to hand them over would cost more. Workers have the more
// time to read the files ahead.
//
// Where the memory limit leaves no room for more ahead, elements are planned and worked on when
// they are asked for, by whoever asks; so they are where planning would have to wait for somebody
// outside. Under a limit the first group of a pass is always the consumer's, so that what readers
// keep for the whole pass, such as a shuffle window, is memory of what is needed.
class StageReader : public DecoratedReader {
 public:
  // `slots` is what the stage makes; they may be computed from the reader in the same call. Throws
  // kInvalidArgument for a depth below 1, and for elements that are on a device.
  StageReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots,
              std::unique_ptr<const Stage> stage, int64_t depth);
  ~StageReader() override;

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override;
  Place place() const override { return stage_->place(); }
  size_t ElementsReady() const override;
  std::optional<uint64_t> PassLength() const override;

 private:
  enum class State;
  class Group;
  class Ahead;

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  // Hands out up to n elements of a group; returns how many.
  size_t HandOut(Group* group, size_t n, TicketRun* run);
  void Add(Group* group, const RecordId& id, TicketRun* run) const;
  // Plans and works on one more group. False if there is nothing to plan, or another thread plans.
  bool Advance(MemoryScope::Need need);
  // The group that is handed out next; null if there is none yet.
  Ref<Group> Planned();
  // Waits for the work on a group, and works on the next ones meanwhile.
  State Wait(const Group& group) const;
  // Waits for a group, and works on it if there was no memory to do so ahead.
  void WorkIfDeferred(Group* group) const;
  void Work(Group* group, MemoryScope::Need need) const;
  // Has a worker come for a group that is wanted, where it is worth a hand-over.
  void CallWorker();
  void Stop();

  const std::unique_ptr<const Stage> stage_;
  const size_t depth_;
  const Ref<Ahead> ahead_;
  bool started_ = false;
  size_t next_ = 0;                         // element of the group that is handed out,
  size_t next_part_ = 0;                    // and part of it
  std::atomic<bool> ahead_allowed_{false};  // elements of this pass

  std::mutex planning_;         // held by the thread that plans
  std::atomic<size_t> wanted_;  // groups that may still be planned ahead
  std::atomic<bool> end_{false};
  std::exception_ptr error_;  // of planning; set before end_

  std::mutex mutex_;  // guards planned_
  std::deque<Ref<Group>> planned_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_
