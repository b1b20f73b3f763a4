// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader_holder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/base/yielding_mutex.h"
#include "framework/memory/attempt.h"
#include "framework/memory/place.h"
#include "framework/reader/reader.h"

namespace millhopper {
namespace {

// A sum that one thread adds to and others may look at.
template <typename T>
class Counter {
 public:
  void Add(T value) { sum_.store(get() + value, std::memory_order_relaxed); }
  T get() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> sum_{0};
};

// Adds the time of a scope, in which a reader is at work, to a sum and to the reader's own count.
class Stopwatch {
 public:
  Stopwatch(const ReaderBase& reader, Counter<double>* seconds)
      : seconds_(seconds), timer_(reader.counters()) {}
  ~Stopwatch() { seconds_->Add(std::chrono::duration<double>(timer_.Stop()).count()); }

 private:
  Counter<double>* const seconds_;
  WaitTimer timer_;
};

}  // namespace

// A reader and everything that reads it: handles, and the holder itself through its own handle.
struct ReaderHolder::Held : std::enable_shared_from_this<Held> {
  explicit Held(std::unique_ptr<ReaderBase> r) : reader(std::move(r)) {}

  // The readers on top of this one that are read through a holder, their own or one farther up.
  std::vector<std::shared_ptr<Held>> Above() EXCLUDES(mutex) {
    std::vector<std::shared_ptr<Held>> living;
    {
      const MutexLock lock(&mutex);
      for (const std::weak_ptr<Held>& other : above) {
        if (std::shared_ptr<Held> one = other.lock()) living.push_back(std::move(one));
      }
      above.assign(living.begin(), living.end());
    }
    const auto unread = [](const std::shared_ptr<Held>& one) {
      return !one->has_holder && one->Above().empty();
    };
    living.erase(std::remove_if(living.begin(), living.end(), unread), living.end());
    return living;
  }

  ReaderBase& Own() REQUIRES(use);
  // Whether it is read through the holder, as far as can be told: there are no other readers of it,
  // or it was read so before.
  bool IsRead() REQUIRES(use) { return own != nullptr || Above().empty(); }
  // The holder goes away, or takes another reader.
  void Leave() EXCLUDES(use) {
    const MutexLock lock(&use);  // ReInit of a reader below may be at work here
    has_holder = false;
    own.reset();
  }

  // All readers above join one new pass of this reader, whichever of them began the last one.
  void ReInit() {
    std::vector<std::shared_ptr<Held>> readers;
    AddWithAbove(&readers);
    if (readers.size() > 1) {
      for (const std::shared_ptr<Held>& one : readers) one->EndPass();
    }
    for (const std::shared_ptr<Held>& one : readers) one->ReInitOwn();
  }

  // Adds all readers above this one, those on top first, and then this one; none twice.
  void AddWithAbove(std::vector<std::shared_ptr<Held>>* readers) {
    const auto is_this = [this](const std::shared_ptr<Held>& one) { return one.get() == this; };
    if (std::any_of(readers->begin(), readers->end(), is_this)) return;
    for (const std::shared_ptr<Held>& one : Above()) one->AddWithAbove(readers);
    readers->push_back(shared_from_this());
  }

  // The holder's handle begins or joins the next pass. Where readers above are read instead of this
  // one, it has nothing to begin.
  void ReInitOwn() EXCLUDES(use) {
    const bool has_above = !Above().empty();
    const MutexLock lock(&use);
    if (own == nullptr && (!has_holder || has_above)) return;
    Own().ReInit();
    pass_counted = false;
  }

  // Ends the pass for all handles; the first that is restarted begins the next one.
  void EndPass() EXCLUDES(planning) {
    const LockAtOnce lock(&planning);
    ++generation;
    due = true;
  }

  // The reader has files for as long as one of its handles reads.
  void EndIfAllHave() {
    const int all = handles.load();
    if (all > 0 && ended.load() == all) reader->EndReading();
  }

  const std::unique_ptr<ReaderBase> reader;
  YieldingMutex planning;                        // also guards Plan and Restart of the reader
  uint64_t generation GUARDED_BY(planning) = 0;  // how often the reader was restarted
  // Whether a consumer has begun the reader's pass (BeginPass).
  bool begun GUARDED_BY(planning) = false;
  // Whether the next handle that is restarted must restart the reader.
  bool due GUARDED_BY(planning) = false;
  bool shared_out GUARDED_BY(planning) = false;  // it yields one share of its chunks
  bool has_lost_lanes GUARDED_BY(planning) = false;
  std::atomic<int> handles{0};
  std::atomic<int> ended{0};           // of them
  std::atomic<bool> has_holder{true};  // false if only handles of other readers still read it
  Mutex use;                           // held by the thread that reads through the holder
  std::unique_ptr<ReaderBase> own GUARDED_BY(use);  // the holder's handle
  bool pass_counted GUARDED_BY(use) = false;
  Mutex mutex;
  std::vector<std::weak_ptr<Held>> above GUARDED_BY(mutex);
  Counter<uint64_t> passes, elements, records, bytes;
  Counter<double> wait_seconds;
};

class ReaderHolder::Handle final : public ReaderBase {
 public:
  explicit Handle(std::shared_ptr<Held> held)
      : ReaderBase(held->reader.get()), held_(std::move(held)) {
    const LockAtOnce lock(&held_->planning);
    Require(
        !held_->shared_out, origin(),
        " yields the chunks of one shard only, to create_shard_reader; nobody else can read it");
    Require(
        !held_->has_lost_lanes, origin(),
        " has lanes, which the reader on top of it runs; nobody else can read it. Give it lanes: "
        "1, or create another reader of the same data");
    ++held_->handles;
    generation_ = held_->generation;
  }
  ~Handle() override {  // without the mutex: another one may wait with it
    SetEnded(false);
    --held_->handles;
    held_->EndIfAllHave();
  }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    held_->reader->Load(tickets, n, rows);
  }
  void TakeShare(const ChunkShare& share) override {
    const LockAtOnce lock(&held_->planning);
    Require(held_->handles == 1, origin(),
            " is read by others, too, who would get the chunks of one shard only");
    held_->reader->TakeShare(share);
    held_->shared_out = true;
  }
  // Only the first of several consumers begins a pass: when another one comes, threads may be at
  // work ahead for the first.
  void BeginPass() override {
    const LockAtOnce lock(&held_->planning);
    if (generation_ != held_->generation || held_->begun) return;
    held_->reader->BeginPass();
    held_->begun = true;
  }
  bool BeginElement() override {
    const LockAtOnce lock(&held_->planning);
    return held_->reader->BeginElement();
  }
  void ExpectWindow() override {
    const LockAtOnce lock(&held_->planning);
    held_->reader->ExpectWindow();
  }
  void ExpectRanks(size_t ranks, size_t run) override {
    const LockAtOnce lock(&held_->planning);
    held_->reader->ExpectRanks(ranks, run);
  }
  LaneShape lane_shape() const override { return held_->reader->lane_shape(); }
  std::vector<ReaderBase*> Below() const override { return {held_->reader.get()}; }
  void LockPlanning() override ACQUIRE(held_->planning) { held_->planning.LockAtOnce(); }
  void UnlockPlanning() override RELEASE(held_->planning) { held_->planning.Unlock(); }
  const void* planner() const override { return held_.get(); }
  // The only handle has no state: it is in the reader's generation.
  void SaveChain(Position* position, SharedReaders* shared) override {
    const int handles = held_->handles.load();
    if (handles > 1) AddState(position);
    if (handles == 1 || Meet(shared)) held_->reader->SaveChain(position, shared);
  }
  void RestoreChain(PositionCursor* position) override {
    const LockAtOnce lock(&held_->planning);
    if (held_->handles.load() == 1) {
      held_->reader->RestoreChain(position);
      return;
    }
    const ReaderState& state = position->Next();
    if (Meet(position->shared())) {
      held_->generation = state.Get("generation");
      held_->begun = state.Get("begun", 1) == 1;
      held_->due = state.Get("due", 1) == 1;
      held_->reader->RestoreChain(position);
    }
    // If it has not joined, its number is that of any earlier pass.
    generation_ = held_->generation - (state.Get("joined", 1) == 1 ? 0 : 1);
  }
  void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const override {
    Require(held_->handles == 1, origin(),
            " is read by several readers, which resume only on as many ranks as before");
    held_->reader->JoinRanks(ranks, own);
  }
  void GiveBack(const NewCut& cut, SavedRank* saved, Position* own) const override {
    Require(held_->handles == 1, cut.what, ", and ", origin(),
            ", which stands above and is read by several readers, can resume only as it was");
    held_->reader->GiveBack(cut, saved, own);
  }
  // Who asks for keys leaves out elements by them.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override {
    Require(held_->handles == 1, origin(),
            " is read by others, too, who would lack the elements that are left out here; create "
            "another reader of the same data for each part");
    held_->reader->RecordKeys(tickets, n, keys);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    held_->reader->NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    const LockAtOnce lock(&held_->planning);
    held_->reader->PlanAgain(names, take);
  }
  const std::vector<SlotSpec>& row_slots() const override { return held_->reader->row_slots(); }
  // Other handles may continue. Takes no lock, because a thread that works ahead may hold it for
  // long.
  void EndReading() override {
    SetEnded(true);
    held_->EndIfAllHave();
  }
  void LearnSlots() override {
    PlanYielding([this] { held_->reader->LearnSlots(); });
  }
  std::vector<SlotSpec> FoundSlots() const override {
    const LockAtOnce lock(&held_->planning);
    return held_->reader->FoundSlots();
  }
  Place place() const override { return held_->reader->place(); }
  ChainStats Stats() const override { return held_->reader->Stats(); }
  // Another handle may take what is ready now, so a shared reader promises nothing.
  size_t ElementsReady() const override {
    const size_t ready = held_->reader->ElementsReady();
    return ready == kAnyNumber || held_->handles.load() == 1 ? ready : 0;
  }
  // Others may restart a shared reader meanwhile.
  bool HelpToPlan() override { return held_->handles.load() == 1 && held_->reader->HelpToPlan(); }
  std::optional<uint64_t> PassLength() const override {
    return held_->handles.load() > 1 ? std::nullopt : held_->reader->PassLength();
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    PlanYielding([&]() REQUIRES(held_->planning) {
      if (generation_ == held_->generation) held_->reader->Plan(n, run);
    });
  }

  // Calls plan(), which may wait, with the lock. Repeats it if it was left for a thread that needed
  // the lock.
  template <typename Function>
  void PlanYielding(const Function& plan) {
    for (;;) {
      const LockToWork lock(&held_->planning);
      const Yields yields(held_->planning);
      const Attempt attempt([&] {
        held_->planning.AssertHeld();
        plan();
      });
      if (attempt.outcome() == Attempt::Outcome::kLeft && held_->planning.IsWanted()) continue;
      attempt.ThrowUnlessDone();
      return;
    }
  }

  // A reader with one handle gets that handle's pass number. A shared one gets its number of
  // restarts, because its handles may count passes differently.
  void Rewind(uint64_t pass) override {
    const LockAtOnce lock(&held_->planning);
    SetEnded(false);
    const bool first = generation_ == held_->generation;
    if (first) ++held_->generation;
    generation_ = held_->generation;
    if (!first && !held_->due) return;
    held_->due = held_->begun = false;
    std::optional<TicketsStay> stay;
    if (held_->handles > 1) stay.emplace();
    held_->reader->Restart(held_->handles == 1 ? pass : held_->generation);
  }

  void SaveState(ReaderState* state) const override {
    held_->planning.AssertHeld();  // by LockPlanning
    state->Setting("readers", static_cast<uint64_t>(held_->handles.load()));
    state->Set("generation", held_->generation);
    state->Set("begun", held_->begun ? 1 : 0);
    state->Set("due", held_->due ? 1 : 0);
    state->Set("joined", generation_ == held_->generation ? 1 : 0);
  }

  void SetEnded(bool ended) {
    if (ended_.exchange(ended) == ended) return;
    held_->ended += ended ? 1 : -1;
  }

  bool Meet(SharedReaders* shared) const {
    return shared->Meet(held_.get(), static_cast<size_t>(held_->handles.load()), origin());
  }

  const std::shared_ptr<Held> held_;
  uint64_t generation_ = 0;
  std::atomic<bool> ended_{false};  // whether it reads nothing more before it is restarted
};

ReaderBase& ReaderHolder::Held::Own() {
  if (own == nullptr) own = std::make_unique<Handle>(shared_from_this());
  return *own;
}

ReaderHolder::ReaderHolder() = default;
ReaderHolder::ReaderHolder(ReaderHolder&&) noexcept = default;

ReaderHolder::~ReaderHolder() {
  // Readers that stand on the reader may keep it, but it is not read through this holder any more.
  if (has_reader()) held_->Leave();
}

ReaderHolder& ReaderHolder::operator=(ReaderHolder&& other) noexcept {
  held_.swap(other.held_);
  return *this;
}

void ReaderHolder::Reset(std::unique_ptr<ReaderBase> reader,
                         const std::vector<const ReaderHolder*>& below) {
  auto held = std::make_shared<Held>(std::move(reader));
  for (const ReaderHolder* const holder : below) {
    Held& other = holder->held();
    const MutexLock lock(&other.mutex);
    other.above.push_back(held);
  }
  if (has_reader()) held_->Leave();
  held_ = std::move(held);
}

std::unique_ptr<ReaderBase> ReaderHolder::NewHandle() const {
  return std::make_unique<Handle>(held().shared_from_this());
}

std::optional<LaneSet> ReaderHolder::TakeLanes() const {
  Held& held = this->held();
  const LockAtOnce lock(&held.planning);
  if (held.handles > 0) return std::nullopt;
  std::optional<LaneSet> lanes = held.reader->TakeLanes();
  held.has_lost_lanes = held.has_lost_lanes || lanes;
  return lanes;
}

LaneShape ReaderHolder::lane_shape() const {
  Held& held = this->held();
  return held.handles > 0 ? LaneShape() : held.reader->lane_shape();
}

ReaderHolder::Held& ReaderHolder::held() const {
  Require(has_reader(),
          "there is no reader here yet: the startup program that creates it has not "
          "been run");
  return *held_;
}

void ReaderHolder::ReadNext(std::vector<LoDTensor>* out) {
  Held& held = this->held();
  const MutexLock lock(&held.use);
  Stopwatch stopwatch(*held.reader, &held.wait_seconds);
  held.Own().ReadNext(out);
  if (!held.pass_counted) held.passes.Add(1);
  held.pass_counted = true;
  held.elements.Add(1);
  for (const LoDTensor& tensor : *out) held.bytes.Add(tensor.bytes());
  held.records.Add(out->front().instances());
}

bool ReaderHolder::HasNext() {
  const MutexLock lock(&held().use);
  Stopwatch stopwatch(*held().reader, &held().wait_seconds);
  return held().Own().HasNext();
}

void ReaderHolder::ReInit() { held().ReInit(); }

void ReaderHolder::ExpectSave() {
  const MutexLock lock(&held().use);
  held().Own().ExpectSave();
}

Position ReaderHolder::Save() {
  const MutexLock lock(&held().use);
  return held().Own().Save();
}

void ReaderHolder::Restore(const Position& position) {
  const MutexLock lock(&held().use);
  held().Own().Restore(position);
}

// While it lives, no thread reads through these holders.
class ReaderHolder::Unread {
 public:
  explicit Unread(const ReadersByName& readers) {
    for (const auto& entry : readers) held_.insert(&entry.second->held());
    for (Held* const one : held_) one->use.Lock();
  }
  ~Unread() {
    for (Held* const one : held_) one->use.Unlock();
  }
  Unread(const Unread&) = delete;
  Unread& operator=(const Unread&) = delete;

 private:
  std::set<Held*> held_;  // in one order for all callers, so that none waits for another one
};

void ReaderHolder::ExpectSaveOfAll(const ReadersByName& readers) {
  const Unread unread(readers);
  for (const auto& entry : readers) {
    Held& held = entry.second->held();
    held.use.AssertHeld();
    if (!held.IsRead()) continue;
    if (held.own != nullptr) {
      held.own->ExpectSave();
      continue;
    }
    // Handles that come learn it from the reader. One that was made here would stay, and a reader
    // that is put on top later would have to share with it.
    const LockAtOnce lock(&held.planning);
    held.reader->ExpectSave();
  }
}

ReaderHolder::PositionsByName ReaderHolder::SaveAll(const ReadersByName& readers) {
  const Unread unread(readers);
  std::vector<std::string> names;
  std::vector<ReaderBase*> chains;
  for (const auto& [name, holder] : readers) {
    Held& held = holder->held();
    held.use.AssertHeld();
    if (!held.IsRead()) continue;
    names.push_back(name);
    chains.push_back(&held.Own());
  }
  std::vector<Position> positions = ReaderBase::SaveAll(chains);
  PositionsByName named;
  for (size_t i = 0; i < names.size(); ++i) named.emplace(names[i], std::move(positions[i]));
  return named;
}

void ReaderHolder::RestoreAll(const ReadersByName& readers, const PositionsByName& positions) {
  const Unread unread(readers);
  for (const auto& [name, holder] : readers) {
    Held& held = holder->held();
    held.use.AssertHeld();
    Require(positions.count(name) > 0 || !held.IsRead(),
            "these are positions of other readers: there is none of '", Escaped(name), "'");
  }
  std::vector<ReaderBase*> chains;
  std::vector<const Position*> places;
  for (const auto& [name, position] : positions) {
    const auto reader = readers.find(name);
    Require(reader != readers.end(), "these are positions of other readers: there is one of '",
            Escaped(name), "', which is not here");
    Held& held = reader->second->held();
    held.use.AssertHeld();
    chains.push_back(&held.Own());
    places.push_back(&position);
  }
  ReaderBase::RestoreAll(chains, places);
}

std::optional<uint64_t> ReaderHolder::PassLength() const {
  const std::shared_ptr<Held> held = this->held().shared_from_this();  // lives on after a Reset
  const auto is_shared = [&held] {
    const LockOrStop lock(&held->use);
    return held->handles.load() > (held->own == nullptr ? 0 : 1);
  };
  return is_shared() ? std::nullopt : held->reader->PassLength();
}

ReaderStats ReaderHolder::stats() const {
  if (!has_reader()) return {};
  return {held_->passes.get(), held_->elements.get(), held_->records.get(), held_->bytes.get(),
          held_->wait_seconds.get()};
}

ChainStats ReaderHolder::Chain() const { return held().reader->Stats(); }

const std::vector<SlotSpec>& ReaderHolder::slots() const { return held().reader->slots(); }

const std::string& ReaderHolder::origin() const { return held().reader->origin(); }

}  // namespace millhopper
