// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/stage_reader.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "framework/memory/attempt.h"
#include "framework/memory/memory.h"
#include "framework/reader/reader_counters.h"
#include "framework/reader/stage_group.h"

namespace millhopper {
namespace {

// What it costs to have another thread make a group: to wake it, and to get from its cache what it
// has made, where the processors share none.
constexpr int64_t kWakeNanoseconds = 5000;
constexpr int64_t kBytesANanosecond = 5;
// A worker that finds more to do goes to the end of the pool's queue after so long.
constexpr std::chrono::nanoseconds kTurn = std::chrono::microseconds(200);
// A thread that takes so long to plan waits for something, so that it can be helped.
constexpr std::chrono::nanoseconds kPlanning = std::chrono::microseconds(200);

}  // namespace

// A thread's turn to run the chain, which it has alone unless groups take long.
class StageReader::Turn {
 public:
  explicit Turn(StageReader* reader)
      : reader_(reader),
        alone_(!reader->TakesLong()),
        is_ours_(!alone_ || !reader->runs_.exchange(true)) {}
  ~Turn() {
    if (!is_ours_) return;
    if (alone_) reader_->runs_.store(false);
    reader_->sleepers_.Wake();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool is_ours() const { return is_ours_; }
  // A group is planned: others may take it, and plan the next one.
  void NotePlanned() const {
    ++reader_->changes_;
    if (alone_) return;
    reader_->sleepers_.Wake();
    reader_->CallWorker();
  }

 private:
  StageReader* const reader_;
  const bool alone_, is_ours_;
};

class StageReader::Ahead final : public Job {
 public:
  explicit Ahead(StageReader* reader) : reader_(reader) {}

  // Plans one more group and works on it, if there is one and memory for it.
  bool Step() {
    const OtherLane other;
    try {
      return reader_->Advance(MemoryScope::Need::kAhead);
    } catch (const std::bad_alloc&) {  // nothing was planned; the consumer will plan it
      return false;
    }
  }
  // The same for a thread that waits. A worker that came meanwhile may have left because of it.
  bool Help() {
    const uint64_t seen = reader_->changes_;
    const bool did = Step();
    if (reader_->changes_ != seen) {
      ++reader_->changes_;
      if (reader_->HasHalfOfRoom()) reader_->CallWorker();
    }
    return did;
  }

 private:
  void Work() override {
    const CounterClock::time_point until = CounterClock::now() + kTurn;
    uint64_t seen = 0;
    const auto may_go_on = [&] { return reader_->changes_ != seen && reader_->IsWorthWaking(); };
    do {
      seen = reader_->changes_;
      Step();
    } while (may_go_on() && CounterClock::now() < until && !CancelScope::IsWaitOver());
    if (may_go_on() && Submit()) return;  // it is still counted
    --reader_->workers_;
    if (reader_->changes_ != seen) reader_->CallWorker();
  }

  StageReader* const reader_;  // it cancels this job before it is destroyed
};

void ForgetValues(std::vector<LoDTensor>* tensors) {
  if (!MayKeepEmptyTable()) {
    tensors->clear();
    return;
  }
  for (LoDTensor& tensor : *tensors) {
    Lod levels;
    levels.swap(*tensor.mutable_lod_unchecked());
    for (LodLevel& level : levels) level.clear();
    tensor.Clear();
    tensor.mutable_lod_unchecked()->swap(levels);
  }
}

void GiveOut(std::vector<LoDTensor>* tensors, Rows* rows) {
  const bool may_give_up = MemoryScope::MayGiveUp();
  if (!may_give_up && MemoryLimit::is_set() && rows->untouched()) SetNeeded(*tensors);
  rows->Append(*tensors);
  if (may_give_up || CancelScope::MayLeave()) return;
  for (LoDTensor& tensor : *tensors) tensor.Clear();
}

void Stage::LoadPart(const StagedElement&, size_t, Rows*) const {
  Throw(ErrorCode::kInternal, "a stage that makes parts does not say how");
}

uint64_t FirstPart(const RecordId& id) { return id.part == 0 ? 0 : MixBits(id.part); }

int64_t DepthForAllWorkers() { return 2 * (static_cast<int64_t>(ThreadPool::Get().size()) + 1); }

StageReader::StageReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots,
                         std::unique_ptr<const Stage> stage, int64_t depth)
    : DecoratedReader(std::move(reader), std::move(slots)),
      stage_(std::move(stage)),
      depth_(depth),
      ahead_(new Ahead(this)),
      wanted_(depth_) {
  Require(depth >= 1, "depth is ", depth, "; it must be at least 1");
  const Place below = this->reader().place();
  Require(below.is_cpu(), "elements on ", below.name(),
          " cannot be buffered again, nor worked on; put this reader below "
          "create_double_buffer_reader");
}

// Workers may use this object until Stop returns. They must call no virtual function of it, because
// the destructors of derived classes have already run.
StageReader::~StageReader() { Stop(); }

const std::vector<SlotSpec>& StageReader::row_slots() const {
  return stage_->keeps_slots() ? reader().row_slots() : slots();
}

size_t StageReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return stage_->keeps_count() || ready == kAnyNumber ? ready : 0;
}

std::optional<uint64_t> StageReader::PassLength() const {
  return stage_->keeps_count() ? reader().PassLength() : std::nullopt;
}

uint64_t StageReader::InStore() const {
  const MutexLock lock(&mutex_);
  uint64_t elements = 0;
  for (const Ref<StageGroup>& group : planned_) {
    if (group->state.load(std::memory_order_acquire) == GroupState::kReady)
      elements += group->size();
  }
  return elements;
}

void StageReader::PlanNext(size_t n, TicketRun* run) {
  if (!std::exchange(started_, true)) {
    if (!MemoryLimit::is_set()) ahead_allowed_.store(true);
    CallWorker();
  }
  std::optional<WaitTimer> timer;
  bool slept = false;  // while another thread plans
  const auto is_there = [this] { return end_.load() || Planned(); };
  const auto help_planner = [&] {
    const HelpScope scope(is_there);
    return reader().HelpToPlan();
  };
  while (n > 0) {
    if (const Ref<StageGroup> group = Planned()) {
      timer.reset();
      slept = false;
      n -= HandOut(group.get(), n, run);
    } else if (end_.load()) {
      const MutexLock lock(&mutex_);
      if (!planned_.empty()) continue;
      if (error_ != nullptr) std::rethrow_exception(error_);
      return;
    } else {
      if (!timer) timer.emplace(counters());
      if (Advance(MemoryScope::Need::kNow) || (slept && help_planner())) continue;
      CheckWait();
      const auto try_it = [&] { return is_there() || Advance(MemoryScope::Need::kNow); };
      slept = !sleepers_.TryOrSleep(try_it, slept ? Sleepers::kLook : kPlanning) || slept;
    }
  }
}

size_t StageReader::HandOut(StageGroup* group, size_t n, TicketRun* run) {
  size_t added = 0;
  if (stage_->keeps_count()) {
    // Under a limit the element is worked on now, so that its tickets do not keep their chunks in
    // memory any longer.
    if (MemoryLimit::is_set()) WorkIfDeferred(group);
    Add(group, group->first, run);
    added = 1;
  } else {
    WorkIfDeferred(group);
    while (next_ < group->size()) {
      for (; next_part_ < group->parts(next_); ++next_part_, ++added) {
        if (added == n) return n;
        RecordId id = (*group)[next_].id;
        if (stage_->makes_parts()) id.part = FirstPart(id) + next_part_;
        Add(group, id, run);
      }
      ++next_;
      next_part_ = 0;
    }
    if (group->error != nullptr) std::rethrow_exception(group->error);
  }
  {
    const MutexLock lock(&mutex_);
    planned_.pop_front();
  }
  next_ = 0;
  ++wanted_;
  ++changes_;
  // Workers that have found no room are worth waking once half of it is free.
  if (HasHalfOfRoom()) CallWorker();
  return added;
}

void StageReader::Add(StageGroup* group, const RecordId& id, TicketRun* run) const {
  Ticket ticket;
  ticket.id = id;
  ticket.owner = group;
  ticket.index = static_cast<uint32_t>(next_);
  run->Add(ticket);
}

StagedElement* StageReader::ElementOf(const Ticket& ticket) {
  return &(*ticket.object<StageGroup>())[ticket.index];
}

Ref<StageGroup> StageReader::Planned() {
  const MutexLock lock(&mutex_);
  return planned_.empty() ? Ref<StageGroup>() : planned_.front();
}

bool StageReader::Advance(MemoryScope::Need need) {
  const bool ahead = need == MemoryScope::Need::kAhead;
  if (ahead && (!ahead_allowed_.load() || !MemoryLimit::HasRoomAhead(1))) return false;
  const Turn turn(this);
  if (!turn.is_ours()) return false;
  Ref<StageGroup> group;
  {
    if (!planning_.TryLockToWork()) return false;
    LockToWork planning(&planning_, std::adopt_lock);
    if (end_.load()) return false;
    if (!ahead && Planned()) return true;  // another thread has just planned what is needed
    if (wanted_.load() <= 0) return false;
    const size_t ready = reader().ElementsReady();
    if (ahead && ready == 0) return false;
    // Takes no more elements than one hand-over is worth, and no more than can be planned without
    // waiting.
    const size_t together =
        std::clamp<size_t>(std::min(ready, reader().grain()), 1, stage_->most_together());
    group = Pool<StageGroup>::Take();
    const Yields yields(planning_);
    const MemoryScope scope(account(), need);
    bool more = false;
    const Attempt attempt([&] { more = PlanGroup(together, group); });
    if (attempt.may_be_repeated() && (ahead || planning_.IsWanted())) return false;
    attempt.ThrowIfMayBeRepeated();  // the caller is ahead of need itself, or has left, too
    if (!more) {
      error_ = attempt.error();
      end_.store(true, std::memory_order_release);
      return true;
    }
    wanted_.fetch_sub(1);
    ahead_allowed_.store(true);
  }
  turn.NotePlanned();
  Work(group.get(), need);
  return true;
}

bool StageReader::PlanGroup(size_t n, const Ref<StageGroup>& group) {
  if (reader().Plan(n, &group->run) == 0) return false;
  group->first = group->run.tickets.front().id;
  if (expects_save()) {
    for (const Ticket& ticket : group->run.tickets) Name(ticket, group.get());
  }
  const MutexLock lock(&mutex_);
  planned_.push_back(group);
  return true;
}

void StageReader::UnlockPlanning() {
  planning_.Unlock();
  ++changes_;
  sleepers_.Wake();
  if (started_) CallWorker();
}

bool StageReader::BeginElement() {
  RefuseElementsAhead(DecoratedReader::BeginElement());
  return false;
}

bool StageReader::TakesLong() const {
  const int64_t moving = bytes_.load(std::memory_order_relaxed) / kBytesANanosecond;
  return nanoseconds_.load(std::memory_order_relaxed) > 2 * (kWakeNanoseconds + moving);
}

// The copy of an element to a device begins before the consumer needs it.
bool StageReader::IsWorthWaking() const {
  return !stage_->place().is_cpu() ||
         nanoseconds_.load(std::memory_order_relaxed) > kWakeNanoseconds;
}

void StageReader::NoteWork(int64_t nanoseconds, int64_t bytes) const {
  const auto note = [](int64_t now, std::atomic<int64_t>* mean) {
    const int64_t before = mean->load(std::memory_order_relaxed);
    mean->store(before == kNotMeasured ? now : before + (now - before) / 8,
                std::memory_order_relaxed);
  };
  note(nanoseconds, &nanoseconds_);
  note(bytes, &bytes_);
}

void StageReader::CallWorker() {
  if (is_in_lane() || wanted_.load() <= 0 || end_.load() || !IsWorthWaking()) return;
  const int most = TakesLong() ? ThreadPool::Get().size() : 1;
  // A thread that calls nobody leaves no trace: two that look at once must not both see the other.
  int called = workers_.load();
  while (called < most && !workers_.compare_exchange_weak(called, called + 1)) {
  }
  if (called < most && !ahead_->Submit()) --workers_;
}

void StageReader::Work(StageGroup* group, MemoryScope::Need need) const {
  const MemoryScope scope(account(), need);
  LoadTimer timer(counters());
  const Attempt working(
      [&] { group->WorkOn(reader(), *stage_, origin().empty() ? "a reader" : origin()); });
  if (working.may_be_repeated()) {  // a holder of an element's ticket may still load it
    group->ForgetWork();
    group->state.store(GroupState::kDeferred, std::memory_order_release);
    return;
  }
  group->error = working.error();
  NoteWork(std::chrono::nanoseconds(timer.Stop()).count(), group->bytes());
  group->run.Clear();
  group->state.store(GroupState::kReady, std::memory_order_release);
}

GroupState StageReader::Wait(const StageGroup& group) const {
  const auto is_there = [&] { return group.state.load() != GroupState::kWorking; };
  if (is_there()) return group.state;
  const WaitTimer timer(counters());
  // A thread that helps waits for this group only, and not once the pass is over.
  const auto is_over = [&] { return is_there() || end_.load(); };
  const auto help = [&] {
    const HelpScope scope(is_over);
    return ahead_->Help();
  };
  for (; !is_there(); CheckWait()) {
    if (!help()) sleepers_.TryOrSleep([&] { return is_there() || help(); });
  }
  return group.state;
}

void StageReader::WorkIfDeferred(StageGroup* group) const {
  if (Wait(*group) != GroupState::kDeferred) return;
  const WaitTimer timer(counters());
  Work(group, MemoryScope::Need::kNow);
  sleepers_.Wake();
  if (Wait(*group) != GroupState::kDeferred) return;
  ThrowNotYet();  // the caller is loading ahead of need, or leaves that to others
}

void StageReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    auto* const group = tickets[i].object<StageGroup>();
    if (stage_->keeps_count()) {
      WorkIfDeferred(group);
      if (group->error != nullptr) std::rethrow_exception(group->error);
    }
    const size_t index = tickets[i].index;
    StagedElement& element = (*group)[index];
    if (stage_->makes_parts()) {
      stage_->LoadPart(element, tickets[i].id.part - FirstPart(element.id), rows);
      continue;
    }
    for (const auto& copy : element.copies) copy.event->Wait();
    GiveOut(&element.tensors, rows);
  }
}

void StageReader::Stop() {
  end_.store(true);
  sleepers_.Wake();
  ahead_->Cancel(TicketsStay::OnThisThread() ? Job::Leave::kWaits : Job::Leave::kAll);
  workers_.store(0);  // calls that were void have not counted down
}

void StageReader::Rewind(uint64_t pass) {
  Stop();
  // A thread that waits for an element of the old pass may still be planning another group.
  const LockAtOnce planning(&planning_);
  {
    const MutexLock lock(&mutex_);
    planned_.clear();
  }
  error_ = nullptr;
  wanted_.store(depth_);
  started_ = false;
  next_ = next_part_ = 0;
  ahead_allowed_.store(false);
  DecoratedReader::Rewind(pass);
  end_.store(false);
}

}  // namespace millhopper
