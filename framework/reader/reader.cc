// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/base/thread_pool.h"
#include "framework/memory/attempt.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {

// While it lives, no other thread plans in these chains. Readers come before those below them,
// whichever chain they are in: a thread that plans takes the locks of its chain in this order, too.
class ReaderBase::PlanningLock {
 public:
  explicit PlanningLock(const std::vector<ReaderBase*>& chains) {
    for (ReaderBase* const chain : chains) Add(chain);
    for (size_t i = readers_.size(); i-- > 0;) readers_[i]->LockPlanning();
  }
  ~PlanningLock() {
    for (ReaderBase* const reader : readers_) {
      try {
        reader->UnlockPlanning();
      } catch (...) {  // no thread works ahead for a while
      }
    }
  }
  PlanningLock(const PlanningLock&) = delete;
  PlanningLock& operator=(const PlanningLock&) = delete;

 private:
  void Add(ReaderBase* reader) {
    if (!planners_.insert(reader->planner()).second) return;
    for (ReaderBase* const below : reader->Below()) Add(below);
    readers_.push_back(reader);
  }

  std::set<const void*> planners_;
  std::vector<ReaderBase*> readers_;  // each after those below it
};

ReaderBase::ReaderBase(std::vector<SlotSpec> slots, int depth, int readers)
    : slots_(std::move(slots)),
      depth_(depth),
      readers_(readers),
      counters_(std::make_shared<ReaderCounters>()),
      account_(new MemoryAccount) {
  if (depth_ > kMaxReaderDepth) {
    Throw(ErrorCode::kResourceLimit, depth_, " readers would stand on one another; the limit is ",
          kMaxReaderDepth);
  }
  if (readers_ > kMaxReadersInChain) {
    Throw(ErrorCode::kResourceLimit, "a chain of ", readers_, " readers; the limit is ",
          kMaxReadersInChain);
  }
  CheckSlots(slots_);
}

ReaderBase::ReaderBase(const ReaderBase* reader)
    : slots_(reader->slots_),
      depth_(reader->depth_),
      readers_(reader->readers_),
      is_handle_(true),
      origin_(reader->origin_),
      kind_(kSharedReader),
      name_(reader->name_),
      counters_(reader->counters_),
      account_(reader->account_),
      expects_save_(reader->expects_save_) {}

ReaderBase::~ReaderBase() = default;

Place ReaderBase::place() const { return Place(); }

void ReaderBase::set_origin(std::string origin, std::string kind, std::string name) {
  account_->set_name(origin);
  NameParts(origin, kind, name);
  origin_ = std::move(origin);
  kind_ = std::move(kind);
  name_ = std::move(name);
}

ChainStats ReaderBase::Stats() const {
  ChainStats stats;
  stats.kind = kind_;
  stats.name = name_;
  // In this order, since other threads may plan and load meanwhile: what is loaded was planned.
  stats.elements = counters_->loaded();
  stats.planned = counters_->planned();
  stats.bytes_read = counters_->bytes_read();
  stats.load_seconds = counters_->load_seconds();
  stats.wait_seconds = counters_->wait_seconds();
  // In a forked child another thread may have held a lock that this takes.
  if (process_.IsThis()) stats.in_store = InStore();
  stats.memory_bytes = account_->all_bytes();
  for (const ReaderBase* const below : Below()) stats.below.push_back(below->Stats());
  return stats;
}

std::vector<Dims> ReaderBase::shapes() const {
  std::vector<Dims> shapes;
  for (const SlotSpec& slot : slots_) shapes.push_back(slot.dims);
  return shapes;
}

Dims ReaderBase::shape(size_t slot) const {
  Require(slot < slots_.size(), "slot ", slot, " of a reader with ", slots_.size(), " slots");
  return slots_[slot].dims;
}

void ReaderBase::set_slots(std::vector<SlotSpec> slots) {
  Require(!planned_, "the slots of a reader can be set only before it is first read");
  CheckSlots(slots);
  Require(slots.size() == slots_.size(), "a reader of ", slots_.size(), " slots cannot have ",
          slots.size());
  slots_ = std::move(slots);
}

bool ReaderBase::HasNext() {
  CheckProcess();
  if (!ahead_.tickets.empty()) return true;
  if (first_) MemoryLimit::ResetPeak();
  if ((!begun_ || begins_elements_) && error_ == nullptr) {
    try {
      if (!begun_) BeginPass();
      begun_ = true;
      begins_elements_ = begins_elements_ && BeginElement();
    } catch (...) {
      KeepError(std::current_exception(), "while beginning a pass of ");
    }
  }
  return Plan(1, &ahead_) == 1;
}

void ReaderBase::ReadNext(std::vector<LoDTensor>* out) {
  if (!HasNext()) throw EndOfData("There is no next data. The pass is over");
  const MemoryScope scope(account_);
  try {
    rows_.Reset(row_slots());
    LoadInParallel(ahead_.tickets.data(), 1, &rows_);
    rows_.MoveTo(out);
  } catch (...) {
    NameFailed();
    ahead_.Clear();
    rows_.Release();
    KeepError(std::current_exception(), "while loading what is read from ");
    std::rethrow_exception(error_);
  }
  ahead_.Clear();
  ++read_;
  if (!std::exchange(first_, false) || !MemoryLimit::is_set()) return;
  try {
    CheckRoomBeside(*out);
  } catch (...) {
    KeepError(std::current_exception(), "while reading from ");
    out->clear();
    dropped_ = true;
    std::rethrow_exception(error_);
  }
}

void ReaderBase::KeepError(std::exception_ptr thrown, const char* step) {
  error_ = std::move(thrown);
  try {
    EndReading();
    const Error error = KeptError(error_);
    if (error.out_of_memory() == nullptr || !error.context().empty()) return;
    error_ = std::make_exception_ptr(error.WithContext(step + Name()));
  } catch (const std::bad_alloc&) {
    NoteOutOfMemory(step, origin_);
  }
}

// The consumer will hold one element while the next is loaded, and the next will probably take as
// much memory as the first. If that is too much, the consumer learns it now instead of later in the
// pass.
void ReaderBase::CheckRoomBeside(const std::vector<LoDTensor>& first) {
  size_t needed = MemoryLimit::peak();
  for (const LoDTensor& tensor : first) {
    needed += tensor.buffer()->capacity();
    for (const LodLevel& level : tensor.lod()) needed += level.capacity() * sizeof(uint64_t);
  }
  if (MemoryLimit::IsPossible(needed) || ElementsReady() != kAnyNumber) return;
  bool more = false;
  try {
    more = HasNext();
  } catch (const Error& error) {
    if (error.interrupts()) throw;  // any other error belongs to the second element
  }
  if (more) MemoryLimit::CheckPossible(needed);
}

size_t ReaderBase::Plan(size_t n, TicketRun* run) {
  CheckProcess();
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (end_) return 0;
  planned_ = true;
  const size_t before = run->tickets.size();
  const TicketsStay stay;
  const Attempt planning([&] { PlanNext(n, run); });
  const size_t added = run->tickets.size() - before;
  if (planning.error() != nullptr) KeepError(planning.error(), "while planning what is read from ");
  if (added == 0) {
    planning.ThrowIfMayBeRepeated();
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  end_ = added == 0;
  if (end_) EndReading();
  if (!is_handle_) counters_->AddPlanned(added);
  return added;
}

void ReaderBase::Restart(uint64_t pass) {
  CheckProcess();
  ahead_.Clear();
  error_ = nullptr;
  failed_ = ElementNames();
  dropped_ = false;
  end_ = false;
  begun_ = false;
  first_ = true;
  read_ = 0;
  try {
    Rewind(pass);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void ReaderBase::ExpectSave() {
  CheckProcess();
  if (expects_save_) return;
  Require(!planned_, Name(), " has been read already; ExpectSave must be called before that");
  try {
    const PlanningLock lock({this});
    Position none;
    SharedReaders shared;
    SaveChain(&none, &shared);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    return;  // nothing is kept for a Save that will throw this
  }
  expects_save_ = true;
  for (ReaderBase* const below : Below()) below->ExpectSave();
}

void ReaderBase::NameFailed() {
  if (!expects_save_) return;
  try {
    NameElements(ahead_.tickets.data(), 1, &failed_);
  } catch (...) {  // the chain cannot be saved, and Save will say why
  }
}

Position ReaderBase::Save() { return std::move(SaveAll({this}).front()); }

void ReaderBase::Restore(const Position& position) { RestoreAll({this}, {&position}); }

std::vector<Position> ReaderBase::SaveAll(const std::vector<ReaderBase*>& chains) {
  for (const ReaderBase* const chain : chains) {
    chain->CheckProcess();
    Require(!chain->dropped_, chain->Name(),
            " has dropped an element for which the memory limit leaves no room, so that nobody can "
            "continue from there");
  }
  const PlanningLock lock(chains);
  SharedReaders shared;
  std::vector<Position> positions(chains.size());
  for (size_t i = 0; i < chains.size(); ++i) chains[i]->SavePosition(&positions[i], &shared);
  shared.CheckAllMet();
  return positions;
}

void ReaderBase::RestoreAll(const std::vector<ReaderBase*>& chains,
                            const std::vector<const Position*>& positions) {
  for (const ReaderBase* const chain : chains) {
    chain->CheckProcess();
    Require(!chain->planned_, chain->Name(),
            " has been read already; Restore must be called before that");
  }
  const std::vector<Position> now = SaveAll(chains);
  std::vector<Position> own;
  own.reserve(chains.size());
  for (size_t i = 0; i < chains.size(); ++i) {
    own.push_back(chains[i]->OfThisChain(*positions.at(i), now[i]));
  }
  for (ReaderBase* const chain : chains) chain->ExpectSave();
  SharedReaders shared;
  for (size_t i = 0; i < chains.size(); ++i) chains[i]->RestorePosition(own[i], &shared);
}

Position ReaderBase::OfThisChain(const Position& saved, const Position& now) const {
  Position own = OfThisRank(saved, now);
  own.CheckSameChain(now);
  const std::optional<NewCut> cut = own.LastNewCut(now);
  if (!cut) return own;
  SharedReaders none;
  SavedRank held = {PositionCursor(own, &none), {}};
  if (own.ahead_.count > 0) held.held.push_back(own.ahead_);
  Position cut_anew = own;
  cut_anew.ahead_ = ElementNames();
  cut_anew.readers_.clear();
  GiveBack(*cut, &held, &cut_anew);
  while (!held.cursor.IsAtEnd()) cut_anew.Add(held.cursor.Next());
  return cut_anew;
}

Position ReaderBase::OfThisRank(const Position& saved, const Position& now) const {
  const uint64_t ranks = now.OfRank().ranks_;
  if (saved.ranks_.empty() && (ranks == 1 || saved.OfRank().ranks_ > 1)) return saved;
  if (saved.ranks_.size() == ranks) return saved.ranks_[now.OfRank().rank_];
  std::vector<Position> all = saved.ranks_;
  if (all.empty()) all.push_back(saved);
  SharedReaders none;
  std::vector<SavedRank> each;
  for (const Position& one : all) {
    each.push_back({PositionCursor(one, &none), {}});
    if (one.ahead_.count > 0) each.back().held.push_back(one.ahead_);
  }
  Position own;
  own.order_version_ = all[0].order_version_;
  own.pass_ = all[0].pass_;
  own.end_ = true;
  for (const Position& one : all) {
    own.read_ = std::max(own.read_, one.read_);
    own.begun_ = own.begun_ || one.begun_;
    own.end_ = own.end_ && one.end_;
  }
  JoinRanks(&each, &own);
  for (const SavedRank& rank : each) {
    Require(rank.cursor.IsAtEnd(), "the position was saved by a chain of more readers than this");
  }
  return own;
}

void ReaderBase::JoinRanks(std::vector<SavedRank>* ranks, Position* own) const {
  const std::vector<ReaderBase*> below = Below();
  const auto check = [&](bool right, const auto&... why) {
    Require(right, Name(), ": the position was saved on another number of ranks, and ", why...);
  };
  check(HoldsOnlyElements() && below.size() == 1,
        "this reader can resume only on as many as before");
  ReaderState joined;
  for (SavedRank& rank : *ranks) {
    ReaderState state = rank.cursor.Next();
    for (ElementNames& names : rank.held) names = NamesBelow(std::move(names));
    for (auto& elements : state.elements_) rank.held.push_back(std::move(elements.second));
    state.elements_.clear();
    state.lists_.clear();
    if (&rank == &ranks->front()) joined = state;
    check(joined.numbers_ == state.numbers_, "the ranks are not at one place");
    joined.end_ = false;  // what it held comes again
  }
  own->Add(std::move(joined));
  below[0]->JoinRanks(ranks, own);
}

void ReaderBase::GiveBack(const NewCut& cut, SavedRank* saved, Position* own) const {
  ReaderState state = saved->cursor.Next();
  state.end_ = false;  // what was held comes again
  if (saved->cursor.place() == cut.place) {
    TakeBack(saved, &state);
    own->Add(std::move(state));
    return;
  }
  const std::vector<ReaderBase*> below = Below();
  Require(HoldsOnlyElements() && below.size() == 1, cut.what, ", and ", Name(),
          ", which stands above, can resume only as it was");
  for (ElementNames& names : saved->held) names = NamesBelow(std::move(names));
  for (auto& elements : state.elements_) saved->held.push_back(std::move(elements.second));
  state.elements_.clear();
  state.lists_.clear();
  own->Add(std::move(state));
  below[0]->GiveBack(cut, saved, own);
}

void ReaderBase::TakeBack(SavedRank*, ReaderState*) const {
  Throw(ErrorCode::kInternal, Name(), " has said that it cuts, but takes nothing back");
}

void ReaderBase::SavePosition(Position* position, SharedReaders* shared) {
  SaveChain(position, shared);
  position->order_version_ = kOrderVersion;
  position->pass_ = passes_;
  position->read_ = read_;
  position->begun_ = begun_;
  position->end_ = end_;
  position->ahead_ = failed_;
  if (!ahead_.tickets.empty()) NameElements(ahead_.tickets.data(), 1, &position->ahead_);
}

void ReaderBase::RestorePosition(const Position& position, SharedReaders* shared) {
  PositionCursor cursor(position, shared);
  RestoreChain(&cursor);
  PlanRunAgain(position.ahead_, &ahead_);
  Require(ahead_.tickets.size() <= 1, "the position names ", ahead_.tickets.size(),
          " elements as the next one");
  passes_ = position.pass_;
  read_ = position.read_;
  begun_ = position.begun_;
  end_ = position.end_;
  planned_ = true;
  if (end_) EndReading();
}

void ReaderBase::SaveChain(Position* position, SharedReaders* shared) {
  AddState(position);
  for (ReaderBase* const below : Below()) below->SaveChain(position, shared);
}

void ReaderBase::AddState(Position* position) {
  ReaderState state;
  state.kind_ = Escaped(kind_);  // what is stored is UTF-8
  state.name_ = Escaped(name_);
  state.end_ = end_;
  if (Below().empty()) {
    std::vector<std::string> slots;
    slots.reserve(slots_.size());
    for (const SlotSpec& slot : slots_) slots.push_back(ToString(slot));
    state.Setting("slots", slots);
  }
  SaveState(&state);
  for (auto& setting : state.settings_) setting.second = Escaped(setting.second);
  position->readers_.push_back(std::move(state));
}

void ReaderBase::RestoreChain(PositionCursor* position) {
  const ReaderState& state = position->Next();
  for (ReaderBase* const below : Below()) below->RestoreChain(position);
  const MemoryScope scope(account());
  RestoreState(state);
  end_ = state.end_;
  planned_ = true;
  if (end_) EndReading();
}

void ReaderBase::SaveState(ReaderState*) const {
  Throw(ErrorCode::kInvalidArgument, Name(),
        " cannot say where it stands, so that its chain cannot be saved");
}

void ReaderBase::RestoreState(const ReaderState&) {
  Throw(ErrorCode::kInternal, Name(), " has said where it stands, but cannot go there");
}

// Of a source whose records have no other place than their number in a pass.
void ReaderBase::RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const {
  for (size_t i = 0; i < n; ++i) keys[i] = MixBits(tickets[i].id.sample);
}

void ReaderBase::RefuseElementsAhead(bool below) const {
  Require(!below, Name(),
          " works ahead of the loop, so that threads would decide from which element on changed "
          "weights hold; put it below create_mix_reader, or let weights be read at each pass");
}

void ReaderBase::RefuseRecordKeys() const {
  Throw(ErrorCode::kInvalidArgument, "an element of ", Name(),
        " consists of several records, which may belong to different parts; divide the records "
        "below it");
}

void ReaderBase::NameElements(const Ticket*, size_t, ElementNames*) const {
  Throw(ErrorCode::kInvalidArgument, Name(),
        " cannot name the elements that other readers hold, so that its chain cannot be saved");
}

void ReaderBase::PlanAgain(const ElementNames& names, const TakeElement&) {
  if (names.count == 0) return;
  Throw(ErrorCode::kInternal, Name(), " has named elements, but cannot plan them again");
}

void ReaderBase::PlanRunAgain(const ElementNames& names, TicketRun* run) {
  const size_t first = run->tickets.size();
  PlanAgain(names, [&](size_t place, const Ticket& ticket) {
    if (ticket.owner != nullptr) run->Keep(ticket.owner);
    if (place >= run->tickets.size() - first) run->tickets.resize(first + place + 1);
    run->tickets[first + place] = ticket;
  });
}

std::optional<LaneSet> ReaderBase::TakeLanes() { return std::nullopt; }

void ReaderBase::RunInLane() {
  in_lane_ = true;
  for (ReaderBase* const below : Below()) below->RunInLane();
}

void ReaderBase::TakeShare(const ChunkShare&) {
  Throw(
      ErrorCode::kInvalidArgument, Name(),
      " is no reader of files, so it has no chunks to share; use by: \"record\", or put the shard "
      "reader directly on the reader of the files");
}

void ReaderBase::EndReading() {
  for (ReaderBase* const below : Below()) below->EndReading();
}

void ReaderBase::LearnSlots() {
  for (ReaderBase* const below : Below()) below->LearnSlots();
}

std::vector<SlotSpec> ReaderBase::FoundSlots() const {
  std::vector<SlotSpec> found = slots_;
  const std::vector<SlotSpec>& rows = row_slots();
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].known) found[i] = rows[i];
  }
  return found;
}

void ReaderBase::CheckProcess() const {
  if (__builtin_expect(process_.IsThis(), 1)) return;
  OwnProcess::Refuse(Name());
}

std::string ReaderBase::ReadingRecord(uint64_t sample) const {
  return StrCat("while reading record ", sample, " of ", Name());
}

std::string ReaderBase::Name() const { return origin_.empty() ? "a reader" : origin_; }

Place DecoratedReader::place() const { return reader_->place(); }

// A reader that yields the elements of the reader below also has its slots.
std::vector<SlotSpec> DecoratedReader::FoundSlots() const {
  return &row_slots() == &reader_->row_slots() ? reader_->FoundSlots() : ReaderBase::FoundSlots();
}

DecoratedReader::DecoratedReader(std::unique_ptr<ReaderBase> reader)
    : ReaderBase(reader->slots(), reader->depth() + 1, reader->readers() + 1),
      reader_(std::move(reader)) {}

DecoratedReader::DecoratedReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots)
    : ReaderBase(std::move(slots), reader->depth() + 1, reader->readers() + 1),
      reader_(std::move(reader)) {}

}  // namespace millhopper
