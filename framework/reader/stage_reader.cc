// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/stage_reader.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/reader/reader_counters.h"

namespace millhopper {
namespace {

// Elements are small if more than this many load in 200 us. Handing one from thread to thread costs
// two to four microseconds, for the cache lines that move between cores.
constexpr size_t kSmall = 40;
// To look at the clock takes as long as a small element: so many of them are worked on each time.
constexpr int kTimedOneIn = 8;
// For so many turns, about as long as a batch is planned, a consumer only looks whether it is.
constexpr int kPlanningTurns = 100;

double Seconds(CounterClock::duration time) { return std::chrono::duration<double>(time).count(); }
double Now() { return Seconds(CounterClock::now().time_since_epoch()); }

}  // namespace

// How far the work on a group is.
enum class StageReader::State {
  kWorking,
  kDeferred,  // no worker does it ahead; the thread that needs the group does it
  kReady,
};

// Elements of the reader below that one thread plans and works on together.
class StageReader::Group final : public RefCounted {
 public:
  TicketRun run;   // their tickets, until the work is done
  RecordId first;  // the name of the first element
  // How the reader below names each of them; empty if this will not be saved.
  std::vector<ElementNames> names;
  std::exception_ptr error;  // comes after the elements that were made
  std::atomic<State> state{State::kWorking};

  // How many elements have results so far.
  size_t size() const { return size_; }
  StagedElement& operator[](size_t i) { return elements_[i]; }
  // How many parts element i has.
  size_t parts(size_t i) const { return parts_[i]; }
  // Which of the elements below it was made of.
  size_t made_of(size_t i) const { return made_of_[i]; }

  // Works on all tickets. `name` is the reader's, for errors. Elements that were made before an
  // error stay.
  void WorkOn(const ReaderBase& reader, const Stage& stage, const std::string& name) {
    for (const Ticket& ticket : run.tickets) {
      CheckStop();  // the work may take long
      if (size_ == elements_.size()) {
        parts_.resize(size_ + 1);
        made_of_.resize(size_ + 1);
        elements_.emplace_back();
      }
      made_of_[size_] = static_cast<size_t>(&ticket - run.tickets.data());
      StagedElement& element = elements_[size_];
      element.id = ticket.id;
      rows_.Reset(reader.row_slots(), &BufferPool::PinnedFor(stage.place()));
      reader.LoadInParallel(&ticket, 1, &rows_);
      rows_.MoveTo(&element.tensors);
      try {
        parts_[size_] = stage.Work(&element);
        if (parts_[size_] > UINT32_MAX) {
          Throw(ErrorCode::kResourceLimit, "it becomes ", parts_[size_], " elements; the limit is ",
                UINT32_MAX);
        }
      } catch (...) {
        throw CurrentError().WithContext(
            StrCat("while processing element ", ticket.id.sample, " in ", name));
      }
      if (parts_[size_] > 0) {
        ++size_;
      } else {
        Clear(&element);
      }
    }
  }
  // Returns the group to its state before WorkOn.
  void ForgetWork() {
    rows_.Release();
    for (StagedElement& element : elements_) Clear(&element);
    size_ = 0;
  }

 private:
  static void Clear(StagedElement* element) {
    for (auto& [copy, source] : element->copies) KeepUntilDone(std::move(source), std::move(copy));
    element->copies.clear();
    ForgetValues(&element->tensors);
  }

  void Dispose() override {
    ForgetWork();
    run.Clear();
    names.clear();
    error = nullptr;
    state.store(State::kWorking, std::memory_order_relaxed);
    Pool<Group>::Give(this);
  }

  Rows rows_;  // where elements are loaded, one after another
  std::vector<StagedElement> elements_;
  std::vector<size_t> parts_;  // of each element
  std::vector<size_t> made_of_;
  size_t size_ = 0;  // used entries of each; the other entries are kept to reuse their memory
};

class StageReader::Ahead final : public Job {
 public:
  explicit Ahead(StageReader* reader) : reader_(reader) {}

  // Plans one more group and works on it, if there is one and memory for it.
  bool Step() {
    const MemoryScope none(nullptr);  // leaves the scope of this thread's other work
    try {
      return reader_->Advance(MemoryScope::Need::kAhead);
    } catch (const std::bad_alloc&) {  // nothing was planned; the consumer will plan it
      return false;
    }
  }

 private:
  void Work() override { Step(); }

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
      wanted_(depth_),
      help_choice_(stage_->keeps_count()) {
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
  for (const Ref<Group>& group : planned_) {
    if (group->state.load(std::memory_order_acquire) == State::kReady) elements += group->size();
  }
  return elements;
}

void StageReader::PlanNext(size_t n, TicketRun* run) {
  if (!std::exchange(started_, true)) {
    if (!MemoryLimit::is_set()) ahead_allowed_.store(true);
    CallWorker();
  }
  Backoff backoff;
  std::optional<WaitTimer> timer;
  int turns = 0;  // of waiting for a thread that plans
  const auto is_there = [this] { return end_.load(std::memory_order_acquire) || Planned(); };
  while (n > 0) {
    if (const Ref<Group> group = Planned()) {
      timer.reset();
      n -= HandOut(group.get(), n, run);
      backoff = Backoff();
      turns = 0;
    } else if (end_.load(std::memory_order_acquire)) {
      const MutexLock lock(&mutex_);
      if (!planned_.empty()) continue;
      if (error_ != nullptr) std::rethrow_exception(error_);
      return;
    } else {
      if (!timer) timer.emplace(counters());
      if (Advance(MemoryScope::Need::kNow)) continue;
      // A thread that takes so long to plan waits for something.
      if (++turns > kPlanningTurns) {
        const HelpScope scope(is_there);
        if (reader().HelpToPlan()) continue;
      }
      backoff.Pause();
      CheckWait();
    }
  }
}

size_t StageReader::HandOut(Group* group, size_t n, TicketRun* run) {
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
  wanted_.fetch_add(1);
  CallWorker();
  if (!IsForConsumer()) help_choice_.Note(Now(), Seconds(WaitTimer::OfThread()));
  return added;
}

void StageReader::Add(Group* group, const RecordId& id, TicketRun* run) const {
  Ticket ticket;
  ticket.id = id;
  ticket.owner = group;
  ticket.index = static_cast<uint32_t>(next_);
  run->Add(ticket);
}

StagedElement* StageReader::ElementOf(const Ticket& ticket) {
  return &(*ticket.object<Group>())[ticket.index];
}

ElementNames StageReader::MadeOf(const Ticket& ticket) {
  const Group& group = *ticket.object<Group>();
  return group.names.empty() ? ElementNames() : group.names[group.made_of(ticket.index)];
}

Ref<StageReader::Group> StageReader::Planned() {
  const MutexLock lock(&mutex_);
  return planned_.empty() ? Ref<Group>() : planned_.front();
}

bool StageReader::Advance(MemoryScope::Need need) {
  const bool ahead = need == MemoryScope::Need::kAhead;
  if (ahead && (!ahead_allowed_.load() || !MemoryLimit::HasRoomAhead(1))) return false;
  Ref<Group> group;
  {
    if (!planning_.TryLockToWork()) return false;
    LockToWork planning(&planning_, std::adopt_lock);
    if (end_.load()) return false;
    if (!ahead && Planned()) return true;  // another thread has just planned what is needed
    if (wanted_.load() <= 0) {
      planning.Unlock();
      // A consumer that raised wanted_ meanwhile may have sent a worker that found the lock taken.
      if (wanted_.load() > 0) CallWorker();
      return false;
    }
    const size_t ready = reader().ElementsReady();
    if (ahead && ready == 0) return false;
    // Takes no more elements than one hand-over is worth, and no more than can be planned without
    // waiting.
    const size_t together =
        std::clamp<size_t>(std::min(ready, reader().grain()), 1, stage_->most_together());
    group = Pool<Group>::Take();
    const Yields yields(planning_);
    try {
      const MemoryScope scope(account(), need);
      if (reader().Plan(together, &group->run) == 0) {
        end_.store(true, std::memory_order_release);
        return true;
      }
      group->first = group->run.tickets.front().id;
      if (expects_save()) {
        for (const Ticket& ticket : group->run.tickets) Name(ticket, group.get());
      }
      const MutexLock lock(&mutex_);
      planned_.push_back(group);
    } catch (...) {
      if (MemoryScope::WasRefused() || CancelScope::WasLeft()) {
        if (ahead || planning_.IsWanted()) return false;
        throw;  // the caller plans ahead of need and will call again, or leaves that to others
      }
      error_ = std::current_exception();
      end_.store(true, std::memory_order_release);
      return true;
    }
    wanted_.fetch_sub(1);
    ahead_allowed_.store(true);
  }
  if (wanted_.load() > 0) CallWorker();
  Work(group.get(), need);
  return true;
}

void StageReader::Name(const Ticket& below, Group* group) const {
  group->names.emplace_back();
  reader().NameElements(&below, 1, &group->names.back());
}

// A worker that finds the lock taken ends, so one may be missing afterwards.
void StageReader::UnlockPlanning() {
  planning_.Unlock();
  if (started_ && wanted_.load() > 0) CallWorker();
}

void StageReader::CheckNamed(const Group& group) const {
  Require(!group.names.empty(), origin().empty() ? "a reader" : origin(),
          " has loaded elements ahead and does not know any more which they are; ExpectSave must "
          "be called before the first element is read");
}

void StageReader::SaveState(ReaderState* state) const {
  const MutexLock lock(&mutex_);
  ElementNames ahead;
  std::vector<uint64_t> sizes;
  for (const Ref<Group>& group : planned_) {
    CheckNamed(*group);
    sizes.push_back(group->names.size());
    for (const ElementNames& one : group->names) ahead.Append(one);
  }
  if (!sizes.empty()) {
    state->SetElements("ahead", std::move(ahead));
    state->SetList("groups", std::move(sizes));
  }
  state->Set("next_in_group", next_);
  state->Set("next_part", next_part_);
}

void StageReader::RestoreState(const ReaderState& state) {
  next_ = state.Get("next_in_group", stage_->keeps_count() ? 0 : UINT64_MAX);
  next_part_ = state.Get("next_part", stage_->makes_parts() ? UINT64_MAX : 0);
  TicketRun ahead;
  reader().PlanRunAgain(state.Elements("ahead"), &ahead);
  size_t left = ahead.tickets.size();
  const Ticket* next = ahead.tickets.data();
  for (const uint64_t size : state.List("groups")) {
    if (size == 0 || size > left || (size > 1 && stage_->keeps_count())) {
      state.Fail(ahead.tickets.size(), " elements do not make these groups");
    }
    const Ref<Group> group = Pool<Group>::Take();
    for (uint64_t i = 0; i < size; ++i) AddAgain(*next++, group.get());
    left -= size;
    {
      const MutexLock lock(&mutex_);
      planned_.push_back(group);
    }
    wanted_.fetch_sub(1);
  }
  if (left > 0) state.Fail(ahead.tickets.size(), " elements do not make these groups");
}

void StageReader::AddAgain(const Ticket& below, Group* group) const {
  if (group->run.tickets.empty()) group->first = below.id;
  group->run.Add(below);
  Name(below, group);
  group->state.store(State::kDeferred, std::memory_order_release);
}

void StageReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  if (names->below.empty()) names->below.resize(1);
  std::map<std::pair<Group*, size_t>, size_t> known;
  for (size_t i = 0; i < n; ++i) {
    auto* const group = tickets[i].object<Group>();
    const size_t below = stage_->keeps_count() ? 0 : group->made_of(tickets[i].index);
    CheckNamed(*group);
    const auto [found, is_new] = known.emplace(std::make_pair(group, below), known.size());
    names->numbers.push_back(is_new ? 0 : known.size() - found->second);
    const RecordId& id = tickets[i].id;
    names->numbers.push_back(
        stage_->makes_parts() ? id.part - FirstPart((*group)[tickets[i].index].id) : 0);
    if (is_new) names->below[0].Append(group->names[below]);
  }
  names->count += n;
}

// Of a stage that keeps the count; what it holds itself has the names of the reader below already.
ElementNames StageReader::NamesBelow(ElementNames names) const {
  Require(names.count == 0 || names.below.size() == 1, "the position names elements of ", origin(),
          " that make no sense");
  return names.count == 0 ? ElementNames() : std::move(names.below[0]);
}

void StageReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  const auto check = [&](bool right) {
    Require(right, "the position names elements of ", origin(), " that make no sense");
  };
  check(names.numbers.size() / 2 == names.count && names.numbers.size() % 2 == 0 &&
        names.below.size() == 1 && names.records.empty());
  // The elements that are made of each element below.
  std::vector<std::vector<size_t>> made_of_it;
  for (size_t i = 0; i < names.count; ++i) {
    const uint64_t back = names.numbers[2 * i];
    check(back <= made_of_it.size() && (back == 0 || stage_->makes_parts()));
    if (back == 0) made_of_it.emplace_back();
    made_of_it[made_of_it.size() - std::max<uint64_t>(back, 1)].push_back(i);
  }
  check(names.below[0].count == made_of_it.size());
  reader().PlanAgain(names.below[0], [&](size_t place, const Ticket& below) {
    const Ref<Group> group = Pool<Group>::Take();
    AddAgain(below, group.get());
    if (!stage_->keeps_count()) {
      Work(group.get(), MemoryScope::Need::kNow);
      if (group->error != nullptr) std::rethrow_exception(group->error);
      check(group->size() == 1);
    }
    for (const size_t i : made_of_it[place]) {
      Ticket ticket;
      ticket.id = group->first;
      ticket.owner = group.get();
      const uint64_t part = names.numbers[2 * i + 1];
      check(stage_->keeps_count() ? part == 0 : part < group->parts(0));
      if (stage_->makes_parts()) ticket.id.part = FirstPart(ticket.id) + part;
      take(i, ticket);
    }
  });
}

bool StageReader::BeginElement() {
  RefuseElementsAhead(DecoratedReader::BeginElement());
  return false;
}

// Small elements for a device still go to a worker, so that their copy begins before the consumer
// needs it.
bool StageReader::IsForConsumer() const {
  return stage_->keeps_count() && stage_->place().is_cpu() && reader().grain() > kSmall;
}

void StageReader::CallWorker() {
  if (!is_in_lane() && !IsForConsumer()) ahead_->Submit();
}

void StageReader::Work(Group* group, MemoryScope::Need need) const {
  const MemoryScope scope(account(), need);
  const bool is_short = group->run.tickets.size() == 1 && reader().grain() > kSmall;
  const uint32_t short_works = is_short ? short_works_.fetch_add(1, std::memory_order_relaxed) : 0;
  const LoadTimer timer(counters(), !is_short                        ? 1
                                    : short_works % kTimedOneIn == 0 ? kTimedOneIn
                                                                     : 0);
  try {
    group->WorkOn(reader(), *stage_, origin().empty() ? "a reader" : origin());
  } catch (...) {
    // A holder of an element's ticket may still load it.
    if (CancelScope::WasLeft() || (MemoryScope::MayGiveUp() && MemoryScope::WasRefused())) {
      group->ForgetWork();
      group->state.store(State::kDeferred, std::memory_order_release);
      return;
    }
    group->error = std::current_exception();
  }
  group->run.Clear();
  group->state.store(State::kReady, std::memory_order_release);
}

StageReader::State StageReader::Wait(const Group& group) const {
  const State before = group.state.load(std::memory_order_acquire);
  if (before != State::kWorking) return before;
  const WaitTimer timer(counters());
  const double begin = Now();
  // A thread that helps waits for this group only, and not once the pass is over.
  const auto is_there = [&] { return group.state.load() != State::kWorking || end_.load(); };
  const auto help = [&] {
    const HelpScope scope(is_there);
    return ahead_->Step();
  };
  for (Backoff backoff;;) {
    const State now = group.state.load(std::memory_order_acquire);
    if (now != State::kWorking) return now;
    if (help_choice_.Helps(Now() - begin) && help()) continue;
    backoff.Pause();
    CheckWait();
  }
}

void StageReader::WorkIfDeferred(Group* group) const {
  if (Wait(*group) != State::kDeferred) return;
  const WaitTimer timer(counters());
  Work(group, MemoryScope::Need::kNow);
  if (Wait(*group) != State::kDeferred) return;
  // The caller is loading ahead of need. It will call again, or leaves that to others.
  CheckWait();
  MemoryScope::ThrowRefused();
}

void StageReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    auto* const group = tickets[i].object<Group>();
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
    const bool may_give_up = MemoryScope::MayGiveUp();
    // Rows that have nothing yet take the element's own memory.
    if (!may_give_up && MemoryLimit::is_set() && rows->untouched()) SetNeeded(element.tensors);
    rows->Append(element.tensors);
    if (may_give_up || CancelScope::MayLeave()) continue;  // the element may be loaded again
    for (LoDTensor& tensor : element.tensors) tensor.Clear();
  }
}

void StageReader::Stop() {
  end_.store(true);
  ahead_->Cancel(TicketsStay::OnThisThread() ? Job::Leave::kWaits : Job::Leave::kAll);
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
  help_choice_.Restart();
  ahead_allowed_.store(false);
  DecoratedReader::Rewind(pass);
  end_.store(false);
}

}  // namespace millhopper
