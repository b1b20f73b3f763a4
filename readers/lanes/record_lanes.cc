// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/record_lanes.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

// How many records of each lane are planned together, so that the lock is taken once for them.
constexpr size_t kDealtAtOnce = 16;

// The source of the lanes, which plans nothing itself. Take is called by lanes, on any thread; all
// else is called while no lane runs.
class RecordDealer final : public ReaderBase {
 public:
  RecordDealer(std::unique_ptr<ReaderBase> source, size_t lanes)
      : ReaderBase(source->slots(), source->depth(), source->readers() + 1),
        source_(std::move(source)),
        lanes_(lanes) {}

  ReaderBase& source() const { return *source_; }
  size_t lanes() const { return lanes_.size(); }
  // Nobody runs this lane any more.
  void Leave(size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane] = Lane();
    lanes_[lane].left = true;
  }
  // Adds up to n of the lane's next records to the run; returns how many, 0 at the end of the pass.
  // Throws an error of the source in its place.
  size_t Take(size_t lane, size_t n, TicketRun* run) EXCLUDES(mutex_) {
    const LockOrStop lock(&mutex_);
    Lane& own = lanes_[lane];
    while (own.blocks.empty()) {
      if (end_ && error_ != nullptr && lane == failed_) std::rethrow_exception(error_);
      if (end_) return 0;
      Deal();
    }
    const Ref<TicketRun>& block = own.blocks.front();
    const size_t taken = std::min(n, block->tickets.size() - own.next);
    const Ticket* const first = block->tickets.data() + own.next;
    run->Keep(block.get());
    run->tickets.insert(run->tickets.end(), first, first + taken);
    own.next += taken;
    if (own.next == block->tickets.size()) {
      own.blocks.pop_front();
      own.next = 0;
    }
    return taken;
  }
  // Of how many records, those of all lanes, the lane was dealt its own.
  uint64_t Had(size_t lane) const {
    mutex_.AssertHeld();  // by LockPlanning
    return std::max(dealt_, lanes_[lane].had);
  }
  // The names of what waits for a lane.
  ElementNames Waiting(size_t lane) const {
    mutex_.AssertHeld();  // by LockPlanning
    ElementNames names;
    size_t first = lanes_[lane].next;
    for (const Ref<TicketRun>& block : lanes_[lane].blocks) {
      source_->NameElements(&block->tickets[first], block->tickets.size() - first, &names);
      first = 0;
    }
    return names;
  }
  void DealAgain(const ElementNames& names, uint64_t had, size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane].had = had;
    if (names.count == 0) return;
    lanes_[lane].blocks.push_back(Pool<TicketRun>::Take());
    source_->PlanRunAgain(names, lanes_[lane].blocks.back().get());
  }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    source_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return source_->row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return source_->FoundSlots(); }
  std::vector<ReaderBase*> Below() const override { return {source_.get()}; }
  // Readers below have locks of their own, which are taken after this one in Take, too.
  void LockPlanning() override ACQUIRE(mutex_) { mutex_.Lock(); }
  void UnlockPlanning() override RELEASE(mutex_) { mutex_.Unlock(); }
  // The rank that has dealt least knows all records that some lane has not had.
  void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const override {
    std::vector<ReaderState> least;
    for (SavedRank& rank : *ranks) {
      std::vector<ReaderState> states;
      states.reserve(static_cast<size_t>(readers()));
      for (int i = 0; i < readers(); ++i) states.push_back(rank.cursor.Next());
      if (least.empty() || states[0].Get("dealt") < least[0].Get("dealt")) least.swap(states);
    }
    for (ReaderState& state : least) own->Add(std::move(state));
  }

 private:
  struct Lane {
    std::deque<Ref<TicketRun>> blocks;  // records that wait for it, each block planned together
    size_t next = 0;                    // in the first block
    uint64_t last_planned = 0;          // which planned_ the last block is of
    bool left = false;                  // whether nobody runs it
    uint64_t had = 0;                   // of the first so many records it has had its own
  };

  void PlanNext(size_t, TicketRun*) override {
    Throw(ErrorCode::kInternal, "the source of lanes is read itself");
  }
  void Rewind(uint64_t pass) override {
    const MutexLock lock(&mutex_);
    for (Lane& lane : lanes_) {
      const bool left = lane.left;
      lane = Lane();
      lane.left = left;
    }
    planned_ = Pool<TicketRun>::Take();
    next_ = 0;
    end_ = false;
    error_ = nullptr;
    dealt_ = 0;
    source_->Restart(pass);
  }
  void SaveState(ReaderState* state) const override {
    mutex_.AssertHeld();  // by LockPlanning
    state->Set("dealt", dealt_);
    const size_t left = planned_->tickets.size() - next_;
    if (left == 0) return;
    ElementNames names;
    source_->NameElements(&planned_->tickets[next_], left, &names);
    state->SetElements("planned", std::move(names));
  }
  void RestoreState(const ReaderState& state) override {
    const MutexLock lock(&mutex_);
    dealt_ = state.Get("dealt");
    source_->PlanRunAgain(state.Elements("planned"), planned_.get());
  }

  // Plans records, and gives each to its lane.
  void Deal() REQUIRES(mutex_) {
    try {
      if (next_ == planned_->tickets.size()) {
        planned_ = Pool<TicketRun>::Take();
        ++planned_number_;
        next_ = 0;
        end_ = source_->Plan(kDealtAtOnce * lanes_.size(), planned_.get()) == 0;
      }
      // One ticket after another, because there may be no memory for the next one.
      for (; next_ < planned_->tickets.size(); ++next_) {
        const Ticket& ticket = planned_->tickets[next_];
        Require(ticket.id.sample == dealt_, Name(), " has sample ", ticket.id.sample,
                " where it should have ", dealt_,
                ": lanes stand on a source of records, below a reader that orders them otherwise, "
                "leaves some out or joins them");
        Lane& lane = lanes_[dealt_ % lanes_.size()];
        if (!lane.left && dealt_ >= lane.had) {
          // A new block, since one that is added to for ever keeps all that it ever held.
          if (lane.blocks.empty() || lane.last_planned != planned_number_) {
            Ref<TicketRun> block = Pool<TicketRun>::Take();
            block->Keep(planned_.get());
            block->tickets.push_back(ticket);
            lane.blocks.push_back(std::move(block));
            lane.last_planned = planned_number_;
          } else {
            lane.blocks.back()->tickets.push_back(ticket);
          }
        }
        ++dealt_;
      }
    } catch (...) {
      if (MayBeRepeated()) throw;
      error_ = std::current_exception();
      end_ = true;
      // Where other ranks run the lane, the next one of this rank has the error, too.
      failed_ = dealt_ % lanes_.size();
      while (lanes_[failed_].left) failed_ = failed_ + 1 == lanes_.size() ? 0 : failed_ + 1;
    }
  }
  std::string Name() const { return origin().empty() ? "the reader" : origin(); }

  const std::unique_ptr<ReaderBase> source_;
  mutable Mutex mutex_;
  std::vector<Lane> lanes_;                // each guarded by mutex_, not their number
  uint64_t dealt_ GUARDED_BY(mutex_) = 0;  // records; the next one is for this lane
  Ref<TicketRun> planned_ GUARDED_BY(mutex_) = Pool<TicketRun>::Take();
  uint64_t planned_number_ GUARDED_BY(mutex_) = 0;
  size_t next_ GUARDED_BY(mutex_) = 0;   // in planned_: what is dealt next
  bool end_ GUARDED_BY(mutex_) = false;  // of the source, or its error
  std::exception_ptr error_ GUARDED_BY(mutex_);
  size_t failed_ GUARDED_BY(mutex_) = 0;  // the lane that has the error
};

class RecordLane final : public ReaderBase {
 public:
  RecordLane(std::shared_ptr<RecordDealer> dealer, size_t lane)
      : ReaderBase(dealer->slots(), dealer->depth()), dealer_(std::move(dealer)), lane_(lane) {}
  ~RecordLane() override { dealer_->Leave(lane_); }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    dealer_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return dealer_->row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return dealer_->FoundSlots(); }
  Place place() const override { return dealer_->source().place(); }
  // Records that are ready may be those of other lanes.
  size_t ElementsReady() const override {
    return dealer_->source().ElementsReady() == kAnyNumber ? kAnyNumber : 0;
  }
  void ExpectWindow() override { dealer_->source().ExpectWindow(); }
  std::optional<uint64_t> PassLength() const override {
    const std::optional<uint64_t> all = dealer_->source().PassLength();
    if (!all) return std::nullopt;
    return *all / dealer_->lanes() + (lane_ < *all % dealer_->lanes() ? 1 : 0);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    dealer_->source().NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    dealer_->source().PlanAgain(names, take);
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override { dealer_->Take(lane_, n, run); }
  void Rewind(uint64_t) override {}
  void SaveState(ReaderState* state) const override {
    state->Setting("lanes", dealer_->lanes());
    state->Set("had", dealer_->Had(lane_));
    ElementNames waiting = dealer_->Waiting(lane_);
    if (waiting.count > 0) state->SetElements("waiting", std::move(waiting));
  }
  void RestoreState(const ReaderState& state) override {
    dealer_->DealAgain(state.Elements("waiting"), state.Get("had"), lane_);
  }

  const std::shared_ptr<RecordDealer> dealer_;
  const size_t lane_;
};

}  // namespace

LaneSet MakeRecordLanes(std::unique_ptr<ReaderBase> source, size_t lanes) {
  Require(lanes >= 1 && lanes <= kMaxLanes, lanes, " lanes; there must be 1 to ", kMaxLanes);
  const auto dealer = std::make_shared<RecordDealer>(std::move(source), lanes);
  LaneSet set;
  set.source = dealer;
  set.lanes.reserve(lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    set.lanes.push_back(std::make_unique<RecordLane>(dealer, lane));
  }
  return set;
}

}  // namespace millhopper
