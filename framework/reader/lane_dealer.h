// SPDX-License-Identifier: Apache-2.0
// What deals out the data of one reader to lanes, and lanes that stand on it (readers/lanes).
#ifndef MILLHOPPER_FRAMEWORK_READER_LANE_DEALER_H_
#define MILLHOPPER_FRAMEWORK_READER_LANE_DEALER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/attempt.h"
#include "framework/memory/place.h"
#include "framework/reader/reader.h"

namespace millhopper {

// The source of lanes (LaneSet::source), which plans nothing itself.
class LaneSource : public ReaderBase {
 public:
  // How many elements all lanes, those of other ranks too, have together in this pass, if that is
  // known before they are read. Any thread.
  virtual std::optional<uint64_t> Total() const = 0;
  // From now on, where Total is known, the first Total() % V of V lanes have one element more than
  // the others, and otherwise all have equally many. Called before the first Plan.
  virtual void MakeEqual() = 0;
  // Adds to the statistics of lanes what this has read and holds.
  virtual void AddStatsTo(ChainStats* lanes) const { lanes->AddSource(Stats()); }

 protected:
  using ReaderBase::ReaderBase;
};

// Goes through the data once, whichever lane asks first, and numbers what it deals, its units: unit
// u is for lane u modulo their number. Lanes of other ranks get nothing. An error of the source is
// met by the lane whose turn it is, or by the next one that is run here; no lane has units beyond
// it.
//
// A Share is what a lane gets at a time, of one or more units.
template <typename Share>
class LaneDealer : public LaneSource {
 public:
  size_t lanes() const { return lanes_.size(); }
  ReaderBase& source() const { return *source_; }
  // The length of a lane, if lanes are equal to within one element and have so many together.
  uint64_t LengthOf(size_t lane, uint64_t total) const {
    return total / lanes_.size() + (lane < total % lanes_.size() ? 1 : 0);
  }
  // Nobody runs this lane any more.
  void Leave(size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane].left = true;
    lanes_[lane].shares.clear();
  }

  // ---- While a position is saved (LockPlanning) or restored, when no lane runs. ----

  // Of how many units, those of all lanes, the lane has been dealt its own.
  uint64_t Had(size_t lane) const {
    mutex_.AssertHeld();
    return std::max(dealt_, lanes_[lane].had);
  }
  // What the lane has been dealt, and has not asked for yet.
  const std::deque<Share>& Waiting(size_t lane) const {
    mutex_.AssertHeld();
    return lanes_[lane].shares;
  }
  // Deals to the lane again what it had. It gets no units before number `had`; they are dealt once
  // more if other lanes come from ranks that were not as far.
  void Return(size_t lane, uint64_t had, std::deque<Share> shares) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane].had = had;
    lanes_[lane].shares = std::move(shares);
  }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    source_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return source_->row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return source_->FoundSlots(); }
  void LearnSlots() override EXCLUDES(mutex_) {
    const LockOrStop lock(&mutex_);
    source_->LearnSlots();
  }
  Place place() const override { return source_->place(); }
  std::vector<ReaderBase*> Below() const override { return {source_.get()}; }
  std::optional<uint64_t> Total() const override EXCLUDES(total_mutex_) {
    const MutexLock lock(&total_mutex_);
    if (!is_total_known_) total_ = source_->PassLength();
    is_total_known_ = true;
    return total_;
  }
  void BeginPass() override { source_->BeginPass(); }
  bool BeginElement() override { return source_->BeginElement(); }
  void ExpectWindow() override { source_->ExpectWindow(); }
  // Readers below have locks of their own, which are taken after this one while it deals, too.
  void LockPlanning() override ACQUIRE(mutex_) { mutex_.Lock(); }
  void UnlockPlanning() override RELEASE(mutex_) { mutex_.Unlock(); }
  // The rank that has dealt least knows all units that some lane has not had.
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

 protected:
  // Throws kInvalidArgument for no lane, and for more than kMaxLanes.
  LaneDealer(std::unique_ptr<ReaderBase> source, size_t lanes)
      : LaneSource(source->slots(), source->depth(), source->readers() + 1),
        source_(std::move(source)),
        lanes_(lanes) {
    Require(lanes >= 1 && lanes <= kMaxLanes, lanes, " lanes; there must be 1 to ", kMaxLanes);
  }

  // Deals the next units: adds to dealt_, and gives each lane its own. Returns whether there may be
  // more. Throws an error of the source in its place, and what may be repeated (Attempt), after
  // which it is called again.
  virtual bool Deal() REQUIRES(mutex_) = 0;

  // What waits for a lane, at least one share; null at the end of the pass. Throws an error of the
  // source in its place.
  std::deque<Share>* Wanted(size_t lane) REQUIRES(mutex_) {
    Lane& own = lanes_[lane];
    while (own.shares.empty()) {
      if (end_ && error_ != nullptr && lane == failed_) std::rethrow_exception(error_);
      if (end_) return nullptr;
      const Attempt dealing([&] {
        mutex_.AssertHeld();
        end_ = !Deal();
      });
      dealing.ThrowIfMayBeRepeated();
      if (dealing.is_done()) continue;
      error_ = dealing.error();
      end_ = true;
      failed_ = dealt_ % lanes_.size();
      while (lanes_[failed_].left) failed_ = failed_ + 1 == lanes_.size() ? 0 : failed_ + 1;
    }
    return &own.shares;
  }
  // The number of the lane's first unit from number `unit` on that it is to have; nothing if nobody
  // runs it.
  std::optional<uint64_t> FirstUnit(size_t lane, uint64_t unit) const REQUIRES(mutex_) {
    if (lanes_[lane].left) return std::nullopt;
    const uint64_t first = std::max(unit, lanes_[lane].had);
    return first + (lane + lanes_.size() - first % lanes_.size()) % lanes_.size();
  }
  std::deque<Share>& shares(size_t lane) REQUIRES(mutex_) { return lanes_[lane].shares; }
  // Whether the lane is to have its own of unit number `unit`.
  bool Gets(size_t lane, uint64_t unit) const REQUIRES(mutex_) {
    return !lanes_[lane].left && unit >= lanes_[lane].had;
  }
  void Rewind(uint64_t pass) override {
    {
      const MutexLock lock(&total_mutex_);
      is_total_known_ = false;  // files may be others in this pass
    }
    const MutexLock lock(&mutex_);
    for (Lane& lane : lanes_) lane = Lane{{}, lane.left, 0};
    dealt_ = 0;
    end_ = false;
    error_ = nullptr;
    source_->Restart(pass);
  }

  void SaveState(ReaderState* state) const override {
    mutex_.AssertHeld();  // by LockPlanning
    state->Set("dealt", dealt_);
  }
  void RestoreState(const ReaderState& state) override {
    const MutexLock lock(&mutex_);
    dealt_ = state.Get("dealt");
  }

  mutable Mutex mutex_;
  uint64_t dealt_ GUARDED_BY(mutex_) = 0;  // units

 private:
  struct Lane {
    std::deque<Share> shares;  // that wait for it
    bool left = false;         // whether nobody runs it
    uint64_t had = 0;          // of the first so many units it has had its own
  };

  void PlanNext(size_t, TicketRun*) override {
    Throw(ErrorCode::kInternal, "the source of lanes is read itself");
  }

  const std::unique_ptr<ReaderBase> source_;
  std::vector<Lane> lanes_;              // each guarded by mutex_, not their number
  bool end_ GUARDED_BY(mutex_) = false;  // of the source, or its error
  std::exception_ptr error_ GUARDED_BY(mutex_);
  size_t failed_ GUARDED_BY(mutex_) = 0;  // the lane that has the error
  mutable Mutex total_mutex_;
  mutable bool is_total_known_ GUARDED_BY(total_mutex_) = false;
  mutable std::optional<uint64_t> total_ GUARDED_BY(total_mutex_);
};

// A lane of what a Dealer, a class on LaneDealer, deals. It names, loads and plans again as the
// source does.
template <typename Dealer>
class DealtLane : public ReaderBase {
 public:
  ~DealtLane() override { dealer_->Leave(lane_); }

  const std::vector<SlotSpec>& row_slots() const override { return source().row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return source().FoundSlots(); }
  void LearnSlots() override { dealer_->LearnSlots(); }
  Place place() const override { return source().place(); }
  void ExpectWindow() override { source().ExpectWindow(); }
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override {
    source().RecordKeys(tickets, n, keys);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    source().NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    source().PlanAgain(names, take);
  }

 protected:
  // `readers` is the number of readers that statistics show, and `depth` their height.
  DealtLane(std::shared_ptr<Dealer> dealer, size_t lane, int depth, int readers)
      : ReaderBase(dealer->slots(), depth, readers), dealer_(std::move(dealer)), lane_(lane) {}

  Dealer& dealer() const { return *dealer_; }
  // How many elements the lane has, if lanes are equal to within one and the total is known.
  std::optional<uint64_t> EqualLength() const {
    const std::optional<uint64_t> total = dealer_->Total();
    return total ? std::optional<uint64_t>(dealer_->LengthOf(lane_, *total)) : std::nullopt;
  }
  ReaderBase& source() const { return dealer_->source(); }
  size_t lane() const { return lane_; }

 private:
  const std::shared_ptr<Dealer> dealer_;
  const size_t lane_;
};

// All lanes of a dealer.
template <typename Lane, typename Dealer>
LaneSet LanesOf(std::shared_ptr<Dealer> dealer) {
  LaneSet set;
  for (size_t lane = 0; lane < dealer->lanes(); ++lane) {
    set.lanes.push_back(std::make_unique<Lane>(dealer, lane));
  }
  set.source = std::move(dealer);
  return set;
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_LANE_DEALER_H_
