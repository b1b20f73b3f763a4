// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/lane_batch_reader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/reader/reader_counters.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {
namespace {

// A ticket of a round has this index; those of BatchReader have 0.
constexpr uint32_t kIsRound = 1;
// Lanes are so many rounds ahead of the consumer, or more if these have few bytes together: to hand
// over a round costs the same for any size, and what has many bytes does not stay in a cache.
constexpr uint64_t kFewRounds = 2;
constexpr uint64_t kAheadBytes = uint64_t{1} << 20;

// How many rounds a lane makes at a time, if it may be so many ahead.
uint64_t Stretch(uint64_t rounds_ahead) { return std::max<uint64_t>(1, rounds_ahead / 2); }

// A number of the calling thread, from 1.
uint32_t ThisThread() {
  static std::atomic<uint32_t> threads{0};
  static thread_local const uint32_t number = ++threads;
  return number;
}

// Whether elements can be laid along a new axis without a look at each.
bool HaveLengths(const std::vector<SlotSpec>& slots) {
  return std::all_of(slots.begin(), slots.end(), [](const SlotSpec& slot) {
    return slot.known && slot.dims[0] >= 0 && slot.lod_level == 0;
  });
}

}  // namespace

// One batch: a stripe of each lane. Each lane writes its own part; the last of them completes it.
// Where the place of rows is known only after loading, lanes append theirs to the batch as long as
// they come in their order, as those of one thread do; other parts wait until the batch is
// completed.
class LaneBatchReader::Round final : public RefCounted {
 public:
  void Start(size_t lanes) {
    left_ = lanes;
    turn_ = 0;
    complete_ = false;
    parts_.resize(lanes);
  }
  bool is_complete() const { return complete_.load(); }
  RecordId id() const { return parts_[0].id; }
  const std::vector<LoDTensor>& tensors() const { return tensors_; }
  std::vector<LoDTensor>* mutable_tensors() { return &tensors_; }
  uint64_t bytes() const {
    uint64_t bytes = 0;
    for (const LoDTensor& tensor : tensors_) bytes += tensor.bytes();
    return bytes;
  }
  // What the lane calls its elements.
  const ElementNames& names(size_t lane) const { return parts_[lane].names; }

  // Throws the error of the first element that could not be loaded, or joined to those before it.
  void CheckLoaded() const {
    for (const Part& part : parts_) {
      if (part.error != nullptr) std::rethrow_exception(part.error);
    }
  }

  // Loads the next stripe of a lane. Throws what may be repeated (Attempt).
  void Load(LanesReader* stripes, size_t lane, Rows* scratch) {
    Part& part = parts_[lane];
    Ref<TicketRun> run;
    const Ticket* const tickets = stripes->NextStripe(lane, &run);
    const size_t size = stripes->stripe();
    part.id = tickets->id;
    const Attempt loading([&] {
      if (IsPlaced(*stripes)) {
        rows_.MakePart(lane * size, scratch);
        stripes->lane(lane).Load(tickets, size, scratch);
        return CheckOneStepEach(*scratch, size);
      }
      // To load elements again tells which one does not fit those before it.
      part.first = tickets;
      part.run = std::move(run);
      if (turn_ == lane && MayAppend()) return LoadInTurn(*stripes, lane);
      const Ref<ScratchRows> rows = Pool<ScratchRows>::Take();
      rows->rows.Reset(stripes->row_slots());
      LoadPart(*stripes, lane, &rows->rows);
      part.rows = rows;
    });
    loading.ThrowIfMayBeRepeated();
    part.error = loading.error();
    stripes->NoteLoaded(lane, &part.names);
  }
  // A lane has done its part. The last one completes the batch, unless it is refused the memory
  // for that: then whoever wants the batch completes it.
  void FinishPart(const LanesReader& stripes, BatchMode mode) {
    if (--left_ == 0) static_cast<void>(Attempt([&] { Complete(stripes, mode); }));
  }
  bool has_all_parts() const { return left_ == 0; }
  // Makes the batch of its parts, if that is not done yet. Throws what may be repeated (Attempt).
  void Complete(const LanesReader& stripes, BatchMode mode) {
    const MutexLock lock(&mutex_);
    if (complete_) return;
    size_t lane = 0;
    const Attempt joining([&] {
      mutex_.AssertHeld();
      Join(stripes, mode, &lane);
    });
    if (joining.may_be_repeated() && !appends_) {
      rows_.Reset(stripes.row_slots());
      turn_ = 0;
    }
    joining.ThrowIfMayBeRepeated();
    if (!joining.is_done() && parts_[lane].error == nullptr) parts_[lane].error = joining.error();
    for (Part& part : parts_) {
      part.rows = Ref<ScratchRows>();
      part.run = Ref<TicketRun>();
    }
    complete_ = true;
  }

 private:
  struct alignas(128) Part {
    RecordId id;
    ElementNames names;
    std::exception_ptr error;
    Ref<ScratchRows> rows;          // where places in the batch are known only after loading
    const Ticket* first = nullptr;  // of the stripe, which the run keeps
    Ref<TicketRun> run;
  };

  // Whether rows can be appended to the batch itself. What a thread may have to leave is not,
  // because rows cannot be cut back, and those of earlier lanes may not be loaded again. Under a
  // memory limit, which could refuse some, rows that grow are copied each time.
  bool MayAppend() const { return appends_ && !CancelScope::MayLeave(); }

  // Appends the rows of the lane whose turn it is. If it throws, its turn stays, and the batch is
  // the error.
  void LoadInTurn(const LanesReader& stripes, size_t lane) {
    LoadPart(stripes, lane, &rows_);
    // The other lanes will need about as much.
    for (size_t slot = 0; lane == 0 && slot < rows_.size(); ++slot) {
      rows_.ExpectBytes(slot, rows_.bytes(slot) * (parts_.size() - 1));
    }
    turn_ = lane + 1;
  }

  void LoadPart(const LanesReader& stripes, size_t lane, Rows* rows) const {
    stripes.lane(lane).LoadInParallel(parts_[lane].first, stripes.stripe(), rows);
  }

  // Makes room for the batch, if that is not done yet. Whether each lane's place in it is known.
  bool IsPlaced(const LanesReader& stripes) {
    if (has_room_.load(std::memory_order_acquire)) return is_placed_;
    const MutexLock lock(&mutex_);
    if (has_room_) return is_placed_;
    const std::vector<SlotSpec>& slots = stripes.row_slots();
    rows_.Reset(slots);
    is_placed_ = AreOneStep(slots);
    if (is_placed_) rows_.FixInnerDims(slots);
    appends_ = !is_placed_ && !MemoryLimit::is_set();
    if (is_placed_ || appends_) rows_.Expect(parts_.size() * stripes.stripe());
    has_room_.store(true, std::memory_order_release);
    return is_placed_;
  }

  // Puts the parts together. *lane is the one that was looked at last; stops at one that has
  // failed.
  void Join(const LanesReader& stripes, BatchMode mode, size_t* lane) REQUIRES(mutex_) {
    const size_t elements = parts_.size() * stripes.stripe();
    if (is_placed_) {
      rows_.AdvanceParts(elements);
    } else {
      for (size_t slot = 0; slot < rows_.size(); ++slot) {
        size_t bytes = 0;
        for (const Part& part : parts_) bytes += part.rows ? part.rows->rows.bytes(slot) : 0;
        rows_.ExpectBytes(slot, bytes);
      }
      for (; turn_ < parts_.size(); ++turn_) {
        *lane = turn_;
        if (parts_[*lane].error != nullptr) return;
        JoinPart(stripes, *lane);
      }
    }
    for (size_t slot = 0; mode == BatchMode::kStack && slot < rows_.size(); ++slot) {
      rows_.Stack(slot, static_cast<int64_t>(elements), rows_.spec(slot).dims[0]);
    }
    rows_.MoveTo(&tensors_);
  }

  void JoinPart(const LanesReader& stripes, size_t lane) REQUIRES(mutex_) {
    const Part& part = parts_[lane];
    try {
      rows_.Join(part.rows->rows);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      stripes.lane(lane).Load(part.first, 1, &rows_);
      throw;
    }
  }

  void Dispose() override {
    rows_.Release();
    ForgetValues(&tensors_);
    for (Part& part : parts_) {
      part.names.Clear();
      if (part.error != nullptr) part.error = nullptr;
      if (part.rows) part.rows = Ref<ScratchRows>();
      if (part.run) part.run = Ref<TicketRun>();
    }
    has_room_ = false;
    Pool<Round>::Give(this);
  }

  Mutex mutex_;
  std::atomic<bool> has_room_{false};  // set with the mutex, as the next two before it
  bool is_placed_ = false;
  bool appends_ = false;  // whether lanes may append their rows to `rows_` in their turn
  Rows rows_;  // while there is no room for the batch, and while it is completed, with the mutex
  std::vector<Part> parts_;  // of each lane
  // Apart from what every lane reads, and seldom changes.
  alignas(128) std::atomic<size_t> left_{0};  // lanes
  std::atomic<size_t> turn_{0};               // the first lane whose rows are not in `rows_`
  std::atomic<bool> complete_{false};
  std::vector<LoDTensor> tensors_;
};

// Workers of the pool that run lanes, until there is nothing to do.
class LaneBatchReader::Ahead final : public Job {
 public:
  explicit Ahead(LaneBatchReader* reader) : reader_(reader) {}

 private:
  void Work() override {
    uint64_t seen = 0;
    do {
      seen = reader_->taken_;
    } while (!CancelScope::IsWaitOver() &&
             reader_->RunOne(seen + reader_->ahead_rounds_) != Ran::kNothing);
    --reader_->workers_;
    // A consumer that has taken a stretch since then may have called nobody, because this worker
    // was still counted. All of these are sequentially consistent, so one of the two sees the
    // other.
    const uint64_t stretch = Stretch(reader_->ahead_rounds_);
    if (reader_->taken_ / stretch != seen / stretch) reader_->CallWorkers();
  }

  LaneBatchReader* const reader_;  // it cancels this job before it is destroyed
};

// What threads ask of a lane, and what the thread that runs it knows. Apart from other lanes in
// memory.
struct alignas(128) LaneBatchReader::Lane {
  std::atomic<bool> runs{false};
  std::atomic<bool> ended{false};    // it has no whole stripe beyond `planned`
  std::atomic<uint64_t> next{0};     // the round that it loads next
  std::atomic<uint64_t> planned{0};  // rounds of which it has planned its stripe
  // taken_ when there was no memory for more ahead: no worker tries again before it has changed.
  std::atomic<uint64_t> refused_at{kNever};
  std::atomic<int64_t> nanoseconds{0};  // of the threads that have run it
  uint64_t dropped = 0;                 // rounds that it has forgotten
  Rows rows;                            // its place in a batch
};

LaneBatchReader::LaneBatchReader(std::unique_ptr<LanesReader> stripes, int64_t batch_size,
                                 bool discard_leftover, BatchMode mode, int64_t depth)
    : BatchReader(std::move(stripes), batch_size, discard_leftover, mode),
      stripes_(static_cast<LanesReader*>(&reader())),
      depth_(static_cast<uint64_t>(depth)),
      ahead_(new Ahead(this)),
      runners_(stripes_->lanes()),
      ahead_rounds_(std::min(kFewRounds, depth_)) {
  Require(depth >= 1, "depth is ", depth, "; it must be at least 1");
  for (size_t v = 0; v < stripes_->lanes(); ++v) lanes_.push_back(std::make_unique<Lane>());
  stripes_->set_add_loaded([this](size_t v, ElementNames* names) {
    for (uint64_t n = taken_; makes_rounds_ && n < lanes_[v]->next; ++n) {
      names->Append(ring_[n % depth_]->names(v));
    }
  });
}

void LaneBatchReader::NameParts(const std::string& origin, const std::string& kind,
                                const std::string& name) {
  stripes_->set_origin(origin, kind, name);
}

LaneBatchReader::~LaneBatchReader() { ahead_->Cancel(); }

void LaneBatchReader::Begin() {
  begun_ = true;
  makes_rounds_ = stripes_->stripe() * stripes_->lanes() == batch_size() &&
                  stripes_->IsBetweenRounds() && stripes_->ElementsReady() == kAnyNumber &&
                  (mode() == BatchMode::kConcat || HaveLengths(stripes_->slots()));
  if (!makes_rounds_) return;
  ring_.clear();
  for (uint64_t i = 0; i < depth_; ++i) {
    ring_.push_back(Pool<Round>::Take());
    ring_.back()->Start(lanes_.size());
  }
  taken_ = planned_ = 0;
  short_ = kNever;
  has_failed_ = false;
  for (size_t v = 0; v < lanes_.size(); ++v) {
    Lane& lane = *lanes_[v];
    lane.ended = false;
    lane.next = lane.dropped = 0;
    lane.planned = stripes_->RoundsPlanned(v);
    lane.refused_at = kNever;
    runners_[v] = 0;
  }
  RoundsPlanned();  // by a position
}

void LaneBatchReader::PlanNext(size_t n, TicketRun* run) {
  if (!begun_ && !IsBegun()) Begin();
  for (; n > 0 && makes_rounds_; --n) {
    Round* const round = NextRound();
    if (round == nullptr) {
      StopWorkers(Job::Leave::kWaits);  // what lanes have begun is used below
      makes_rounds_ = false;
      ring_.clear();
      break;
    }
    Ticket ticket;
    ticket.id = round->id();
    ticket.owner = round;
    ticket.index = kIsRound;
    Ref<Round> fresh = Pool<Round>::Take();
    fresh->Start(lanes_.size());
    run->Add(ticket);
    HandOut(std::move(fresh), round->bytes());
  }
  if (n > 0) BatchReader::PlanNext(n, run);
}

LaneBatchReader::Round* LaneBatchReader::NextRound() {
  const uint64_t wanted = taken_;
  Round* const round = ring_[wanted % depth_].get();
  const auto is_there = [&] { return round->is_complete() || short_ <= wanted; };
  const auto may_go_on = [&] {
    return is_there() || round->has_all_parts() || has_failed_ || HasWork(wanted + 1);
  };
  if (!is_there()) {
    const WaitTimer timer(counters());
    CallWorkers();
    for (; !is_there(); CheckWait()) {
      CheckFailure();
      if (round->has_all_parts()) {
        const MemoryScope scope(account());
        round->Complete(*stripes_, mode());
        break;
      }
      const Ran ran = RunOne(wanted + 1);
      if (ran == Ran::kNothing) consumer_.TryOrSleep(may_go_on);
      // The caller is ahead of need itself; it will call again.
      if (ran == Ran::kRefused && MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
    }
  }
  return short_ <= wanted ? nullptr : round;
}

void LaneBatchReader::HandOut(Ref<Round> fresh, uint64_t bytes) {
  const uint64_t taken = taken_ + 1;
  ring_[(taken - 1) % depth_] = std::move(fresh);
  taken_ = taken;
  ahead_rounds_ =
      std::clamp(kAheadBytes / std::max<uint64_t>(1, bytes), std::min(kFewRounds, depth_), depth_);
  // Workers that have found nothing to do are worth waking once half of the room is free.
  if (taken % Stretch(ahead_rounds_) == 0) CallWorkers();
}

void LaneBatchReader::CallWorkers() {
  const int most = std::min(ThreadPool::Get().size(), static_cast<int>(lanes_.size()));
  while (workers_.load() < most) {
    ++workers_;
    if (ahead_->Submit()) continue;
    --workers_;
    return;
  }
}

void LaneBatchReader::StopWorkers(Job::Leave leave) {
  ahead_->Cancel(leave);
  workers_ = 0;  // calls that were void have not counted down
  if (!makes_rounds_) return;
  for (size_t v = 0; v < lanes_.size(); ++v) {
    for (; lanes_[v]->dropped < taken_; ++lanes_[v]->dropped) stripes_->DropRound(v);
  }
}

bool LaneBatchReader::HasWork(const Lane& lane, uint64_t horizon) const {
  if (lane.runs) return false;
  const uint64_t taken = taken_;
  if (horizon > taken + 1 && lane.refused_at == taken) return false;
  if (!lane.ended && lane.planned < horizon) return true;
  const uint64_t next = lane.next;
  const uint64_t end = std::min(planned_.load(), short_.load());
  // Ahead of need it has a whole stretch to do, or none.
  const uint64_t stretch = Stretch(ahead_rounds_);
  return next < end && (next <= taken ? next < horizon : next + stretch <= horizon);
}

bool LaneBatchReader::HasWork(uint64_t horizon) const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const auto& lane) { return HasWork(*lane, horizon); });
}

LaneBatchReader::Ran LaneBatchReader::RunOne(uint64_t horizon) {
  const uint32_t self = ThisThread();
  for (const bool own : {true, false}) {
    size_t best = lanes_.size();
    uint64_t least = kNever;
    for (size_t v = 0; v < lanes_.size(); ++v) {
      if ((runners_[v].load(std::memory_order_relaxed) == self) != own) continue;
      if (!HasWork(*lanes_[v], horizon)) continue;
      const uint64_t next = lanes_[v]->next;
      if (next >= least) continue;
      least = next;
      best = v;
    }
    if (best == lanes_.size()) continue;
    Lane& lane = *lanes_[best];
    if (lane.runs.exchange(true)) return Ran::kStep;  // another thread was faster
    if (!own) runners_[best].store(self, std::memory_order_relaxed);
    const uint64_t next = lane.next;
    const uint64_t planned = lane.planned;
    const auto begin = std::chrono::steady_clock::now();
    const bool done = Step(best, &lane);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    lane.nanoseconds.store(lane.nanoseconds.load(std::memory_order_relaxed) + took.count(),
                           std::memory_order_relaxed);
    lane.runs = false;
    // The consumer may wait for what the lane has loaded or planned, or for its end.
    const uint64_t wanted = taken_;
    if (next <= wanted || planned <= wanted || short_ <= wanted || has_failed_) consumer_.Wake();
    return done ? Ran::kStep : Ran::kRefused;
  }
  return Ran::kNothing;
}

bool LaneBatchReader::Step(size_t v, Lane* lane) {
  const uint64_t taken = taken_;
  const uint64_t next = lane->next;
  for (; lane->dropped < std::min(taken, next); ++lane->dropped) stripes_->DropRound(v);
  const bool planned = PlanAhead(v, lane, taken);
  const uint64_t rounds = ahead_rounds_;
  const uint64_t end =
      std::min({next + Stretch(rounds), taken + rounds, RoundsPlanned(), short_.load()});
  uint64_t n = next;
  while (n < end && LoadStripe(v, lane, n, taken)) lane->next = ++n;
  const bool refused = !planned || n < end;
  if (refused) lane->refused_at = taken;
  return n > next || !refused;
}

bool LaneBatchReader::PlanAhead(size_t v, Lane* lane, uint64_t taken) {
  const uint64_t rounds = ahead_rounds_;
  const uint64_t wanted = lane->next + rounds + 1;
  for (uint64_t planned = lane->planned; !lane->ended && planned < wanted;) {
    const bool is_needed = planned <= taken;
    const MemoryScope scope(account(),
                            is_needed ? MemoryScope::Need::kNow : MemoryScope::Need::kAhead);
    bool ended = false;
    const Attempt planning(
        [&] { ended = !stripes_->PlanRounds(v, is_needed ? 1 : Stretch(rounds)); });
    planned = lane->dropped + stripes_->RoundsPlanned(v);
    if (!planning.is_done()) {  // nothing is lost
      lane->planned = planned;
      return KeepErrorOf(planning);
    }
    uint64_t least = short_;
    while (ended && planned < least && !short_.compare_exchange_weak(least, planned)) {
    }
    lane->planned = planned;
    if (ended) lane->ended = true;
  }
  return true;
}

uint64_t LaneBatchReader::RoundsPlanned() {
  uint64_t planned = kNever;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    // A lane that has ended does not keep others from the rounds before its end.
    if (!lane->ended) planned = std::min<uint64_t>(planned, lane->planned);
  }
  uint64_t before = planned_;
  while (before < planned && !planned_.compare_exchange_weak(before, planned)) {
  }
  return planned;
}

bool LaneBatchReader::LoadStripe(size_t v, Lane* lane, uint64_t n, uint64_t taken) {
  const bool ahead = n > taken;
  if (ahead && !MemoryLimit::HasRoomAhead(1)) return false;
  const MemoryScope scope(account(), ahead ? MemoryScope::Need::kAhead : MemoryScope::Need::kNow);
  const Attempt loading([&] {
    Round& round = *ring_[n % depth_];
    round.Load(stripes_, v, &lane->rows);
    round.FinishPart(*stripes_, mode());
  });
  return KeepErrorOf(loading);
}

bool LaneBatchReader::KeepErrorOf(const Attempt& attempt) {
  if (attempt.error() == nullptr) return attempt.is_done();
  const MutexLock lock(&mutex_);
  failure_ = attempt.error();
  has_failed_ = true;
  return false;
}

void LaneBatchReader::CheckFailure() {
  if (!has_failed_) return;
  const MutexLock lock(&mutex_);
  std::rethrow_exception(failure_);
}

void LaneBatchReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    if (tickets[i].index != kIsRound) {
      BatchReader::LoadRows(&tickets[i], 1, rows);
      continue;
    }
    auto* const round = tickets[i].object<Round>();
    round->CheckLoaded();
    GiveOut(round->mutable_tensors(), rows);
  }
}

ChainStats LaneBatchReader::Stats() const {
  ChainStats stats = BatchReader::Stats();
  for (size_t v = 0; v < lanes_.size(); ++v) {
    const double seconds = 1e-9 * static_cast<double>(lanes_[v]->nanoseconds.load());
    stats.lanes.push_back({stripes_->lane(v).counters()->planned(), seconds});
    stats.load_seconds += seconds;
  }
  return stats;
}

void LaneBatchReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  for (size_t i = 0; i < n; ++i) {
    if (tickets[i].index != kIsRound) {
      BatchReader::NameElements(&tickets[i], 1, names);
      continue;
    }
    if (names->below.empty()) names->below.resize(1);
    const auto* const round = tickets[i].object<Round>();
    for (size_t v = 0; v < lanes_.size(); ++v) {
      stripes_->AddNames(v, round->names(v), &names->below[0]);
    }
    names->numbers.push_back(batch_size());
    ++names->count;
  }
}

void LaneBatchReader::Rewind(uint64_t pass) {
  StopWorkers(TicketsStay::OnThisThread() ? Job::Leave::kWaits : Job::Leave::kAll);
  ring_.clear();
  begun_ = makes_rounds_ = false;
  BatchReader::Rewind(pass);
}

// On any number of ranks, each with its share, the batch is the same.
void LaneBatchReader::SaveState(ReaderState* state) const {
  BatchReader::SaveState(state);
  state->CutsBy("batch_size", whole_batch());
}

// Ranks that share lanes take whole stripes, so that at each step they have the next elements of
// the stream of all lanes.
void LaneBatchReader::RestoreState(const ReaderState& state) {
  const size_t stripe = stripes_->stripe();
  Require(stripes_->ranks() == 1 || batch_size() % stripe == 0, origin(), ": batches of ",
          whole_batch(), " cannot be shared by ", stripes_->ranks(), " ranks in stripes of ",
          stripe, ", which the position has; to the end of its pass give a multiple of ",
          stripe * stripes_->ranks());
  BatchReader::RestoreState(state);
}

void LaneBatchReader::LockPlanning() { StopWorkers(Job::Leave::kWaits); }

void LaneBatchReader::UnlockPlanning() {
  if (makes_rounds_) CallWorkers();
}

}  // namespace millhopper
