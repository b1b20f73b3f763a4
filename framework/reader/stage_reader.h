// SPDX-License-Identifier: Apache-2.0
// A stage makes no, one or many elements from each element of a reader. StageReader runs it in
// parallel and ahead of the consumer.
#ifndef MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/base/sleepers.h"
#include "framework/base/thread_pool.h"
#include "framework/base/yielding_mutex.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"
#include "framework/reader/reader.h"

namespace millhopper {

// One element after the stage has worked on it.
struct StagedElement {
  RecordId id;
  std::vector<LoDTensor> tensors;  // one per slot
  // Copies to a device that may still be running, and the buffer that each reads.
  struct Copy {
    std::shared_ptr<DeviceEvent> event;
    Ref<Buffer> source;
  };
  std::vector<Copy> copies;
};

// Forgets the values of an element's tensors. Keeps their tables of levels of detail, so that the
// next element that is moved there (Rows::MoveTo) needs no new ones, if MayKeepEmptyTable allows
// it.
void ForgetValues(std::vector<LoDTensor>* tensors);
// Appends an element that was made ahead to rows, which take its own memory if they have nothing
// yet. Then the element is empty, unless the calling thread may have to load it again.
void GiveOut(std::vector<LoDTensor>* tensors, Rows* rows);

// Work on single elements. The result depends on the element alone, not on earlier ones.
class Stage {
 public:
  virtual ~Stage() = default;
  // Changes a loaded element in place and returns how many elements come out of it: 0 or 1, or any
  // number if the stage makes parts. Called by many threads at once. If it throws, the consumer
  // gets the error in the element's place.
  virtual size_t Work(StagedElement* element) const = 0;
  // Whether the stage makes parts: then LoadPart appends part 0, 1, ... of a worked-on element to
  // the rows. LoadPart is called by many threads at once, also for one element.
  virtual bool makes_parts() const { return false; }
  virtual void LoadPart(const StagedElement& element, size_t part, Rows* rows) const;
  // Whether every element becomes exactly one element, which can then be planned before the work on
  // it is done.
  virtual bool keeps_count() const { return false; }
  // Whether the elements it makes have the slots of the reader below, including what that learns
  // from its file.
  virtual bool keeps_slots() const { return keeps_count(); }
  // Whether an element that could not be loaded, because of this error, is left out; otherwise the
  // consumer gets the error in the element's place. Not asked about what says nothing of the
  // element (Error::interrupts). Any thread.
  virtual bool LeavesOut(const Error&, const RecordId&) const { return false; }
  // How many elements one thread may work on as a group: more than one if the work on an element
  // takes less time than handing it to another thread.
  virtual size_t most_together() const { return 1; }
  // The device that holds the elements it makes. Elements are loaded into memory from which the
  // device can copy them directly.
  virtual Place place() const { return Place(); }
};

// The number of the first part that is made of an element. Elements that are parts of one record
// get numbers far apart (of 64 bits), so that their parts have different names.
uint64_t FirstPart(const RecordId& id);

// How many groups keep all workers of the pool busy. It is no more than that, because groups hold
// loaded elements.
int64_t DepthForAllWorkers();

class StageGroup;
enum class GroupState;

// Loads and works on up to `depth` groups of elements of the reader below ahead of the consumer.
// The chain below is run by whoever is free, one thread at a time: it plans a group of elements and
// works on it. Where that takes long, the next thread plans while this one works. Workers run it
// until `depth` groups are ahead, and are woken when half of them are taken. A consumer runs it
// while what it wants is not made, and sleeps only while another thread makes that. Elements come
// out in the order of the reader below, whatever the threads do.
//
// A worker is woken only for elements that take longer than that.
//
// No wake-up is lost. Two things wait:
// - A thread that sleeps in sleepers_: for a group to be planned (planned_), or worked on (its
//   state), for the end (end_), or for its turn to run the chain (runs_, planning_). Whoever
//   changes one of these calls sleepers_.Wake() afterwards: the end of a Turn, NotePlanned,
//   WorkIfDeferred, UnlockPlanning, Stop. sleepers.h says why none is missed; besides, it looks
//   every 4 ms.
// - A worker that has left because it found nothing to do, and has to be called again. What may let
//   it go on is that an element was taken (wanted_), or that another thread that had the turn or
//   the lock has planned or let go of it. Whoever changes that then raises changes_, and then calls
//   a worker if fewer than `most` are counted in workers_. A worker reads changes_, looks, ceases
//   to be counted, and reads changes_ again: so, all of these being sequentially consistent, either
//   it sees the change, or who changed it sees that it has left. One that sees a change looks
//   again, so that a worker does look after the change. If it finds that another thread has the
//   turn or the lock, then this one has looked before the change, and sees it after it has let go:
//   a worker, and a thread that helps (Help), do as above; the consumer hands out the group that it
//   has planned.
//
// The consumer plans and works on elements itself, when it asks for them, if the memory limit
// leaves no room for more ahead, or if planning would wait for a thread outside the pool. Under a
// limit the consumer always plans the first group of a pass, so that memory that readers keep for
// the whole pass, such as a shuffle window, counts as needed and not as ahead of need.
class StageReader : public DecoratedReader {
 public:
  // `slots` are those of the elements that the stage makes; the caller may compute them from
  // `reader` in the same call. Throws kInvalidArgument for a depth below 1, and if the reader's
  // elements are on a device.
  StageReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots,
              std::unique_ptr<const Stage> stage, int64_t depth);
  ~StageReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override;
  Place place() const override { return stage_->place(); }
  size_t ElementsReady() const override;
  std::optional<uint64_t> PassLength() const override;
  void ExpectWindow() override {}  // its elements are loaded, and keep nothing else
  // Which elements below become which is known only if the stage keeps the count.
  void ExpectRanks(size_t ranks, size_t run) override {
    DecoratedReader::ExpectRanks(ranks, stage_->keeps_count() ? run : kAnyRun);
  }
  bool BeginElement() override;
  void LockPlanning() override ACQUIRE(planning_) { planning_.LockAtOnce(); }
  void UnlockPlanning() override RELEASE(planning_);
  // Writes two numbers for each ticket. First, which element below it was made of: 0 is a new one,
  // whose name is added now; k is the k-th last of those named so far. Second, the part.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  // Also works on the elements that it plans again, so that they can be handed out.
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;
  bool HoldsOnlyElements() const override { return stage_->keeps_count(); }
  ElementNames NamesBelow(ElementNames names) const override;

 protected:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  // Writes the groups that were planned and not handed out yet. Restored ones are worked on when
  // they are needed.
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // The element of a ticket that PlanNext has added, for a stage that neither keeps the count nor
  // makes parts. Only the planning thread may call it; it may move the tensors out if the ticket
  // will not be loaded.
  static StagedElement* ElementOf(const Ticket& ticket);
  // How the reader below names the element that such an element was made of; empty unless
  // expects_save().
  static ElementNames MadeOf(const Ticket& ticket);

 private:
  class Ahead;
  class Turn;
  static constexpr int64_t kNotMeasured = INT64_MAX / 4;

  uint64_t InStore() const override;
  // Adds the name of the next element below of a group.
  void Name(const Ticket& below, StageGroup* group) const;
  // Throws if ExpectSave was not called before the group was planned.
  void CheckNamed(const StageGroup& group) const;
  // Adds an element of a restored group, which is worked on when it is needed.
  void AddAgain(const Ticket& below, StageGroup* group) const;
  // Hands out up to n elements of a group; returns how many.
  size_t HandOut(StageGroup* group, size_t n, TicketRun* run);
  void Add(StageGroup* group, const RecordId& id, TicketRun* run) const;
  // Plans one more group and works on it. False if there is nothing to plan, or if another thread
  // is planning.
  bool Advance(MemoryScope::Need need) EXCLUDES(planning_, mutex_);
  // Plans a group of up to n elements; false at the end.
  bool PlanGroup(size_t n, const Ref<StageGroup>& group) EXCLUDES(mutex_);
  // The group that is handed out next; null if there is none yet.
  Ref<StageGroup> Planned() EXCLUDES(mutex_);
  // Waits until the work on a group is done or deferred; meanwhile works on later groups.
  GroupState Wait(const StageGroup& group) const;
  // Waits for a group, and works on it if the work was deferred.
  void WorkIfDeferred(StageGroup* group) const;
  void Work(StageGroup* group, MemoryScope::Need need) const;
  // Whether a group takes much longer than to have another thread make it and to get it from there:
  // then several threads work on groups at once. And whether it is worth waking a thread at all.
  bool TakesLong() const;
  bool IsWorthWaking() const;
  // Notes how long the work on a group took, and how large it is.
  void NoteWork(int64_t nanoseconds, int64_t bytes) const;
  // Asks the pool for a worker, if there is work for one more.
  void CallWorker();
  bool HasHalfOfRoom() const { return 2 * wanted_.load() >= depth_; }
  void Stop();

  const std::unique_ptr<const Stage> stage_;
  const int64_t depth_;
  const Ref<Ahead> ahead_;
  bool started_ = false;
  size_t next_ = 0;                         // element of the front group that is handed out next,
  size_t next_part_ = 0;                    // and its next part
  std::atomic<bool> ahead_allowed_{false};  // whether workers may plan for this pass yet

  YieldingMutex planning_;  // held by the thread that plans
  // Groups that may still be planned ahead. Negative if more were restored than are wanted.
  std::atomic<int64_t> wanted_;
  std::atomic<bool> end_{false};
  std::exception_ptr error_;  // of planning; set before end_

  std::atomic<bool> runs_{false};  // a thread plans a group that does not take long, or works on it
  std::atomic<uint64_t> changes_{0};  // after which a worker may find something to do
  std::atomic<int> workers_{0};       // that were called and have not left
  // Of a group, in the mean.
  mutable std::atomic<int64_t> nanoseconds_{kNotMeasured}, bytes_{kNotMeasured};
  mutable Sleepers sleepers_;  // who wait for a group, or to run the chain

  mutable Mutex mutex_;
  std::deque<Ref<StageGroup>> planned_ GUARDED_BY(mutex_);
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_STAGE_READER_H_
