// SPDX-License-Identifier: Apache-2.0
// The stream of lanes: chains of readers that share out the data, one stripe of each in turn.
#ifndef MILLHOPPER_READERS_LANES_LANES_READER_H_
#define MILLHOPPER_READERS_LANES_LANES_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/reader/reader.h"
#include "readers/decorate/shard_reader.h"

namespace millhopper {

using Lanes = std::vector<std::unique_ptr<ReaderBase>>;

// The lanes of one of `ranks` processes that share them; with kPad and kDrop all have equally many
// elements (EvenLane). Throws kInvalidArgument, with numbers that would do, unless these can.
LaneSet LanesOfRank(LaneSet lanes, size_t rank, size_t ranks, ShardEven even = ShardEven::kNone);

// Yields `stripe` elements of lane 0, of lane 1, ... and begins again with lane 0. A lane that has
// ended is passed over; an error of a lane comes in its place in this order. So the stream depends
// on the lanes alone, whichever threads run them.
//
// One of several ranks (processes that train together) has every so many lanes. If each takes its
// share of a batch, the batches of all ranks at one step have the same elements for any number of
// them.
//
// A lane is a whole chain over its own part of the data. One thread at a time runs it, and the
// names of its elements tell the lane: lane v of V has the samples whose remainder by V is v. A
// reader that needs nothing but its own lane is made once for each lane (TakeLanes); other readers
// stand on the stream.
class LanesReader final : public ReaderBase {
 public:
  // `stripe` is for lanes of which nobody has chosen it. A position of such lanes may have another
  // one, which then holds to the end of its pass. Throws kInvalidArgument for no lane, and for more
  // than kMaxLanes.
  explicit LanesReader(LaneSet lanes, size_t stripe = 1);

  size_t lanes() const { return lanes_.size(); }
  // How many lanes all ranks have together.
  size_t all_lanes() const { return lanes_.size() * ranks_; }
  size_t ranks() const { return ranks_; }
  // Of the pass.
  size_t stripe() const { return stripe_; }

  std::optional<LaneSet> TakeLanes() override;
  LaneShape lane_shape() const override;
  void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const override;
  ChainStats Stats() const override;
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override;
  Place place() const override;
  size_t ElementsReady() const override;
  void BeginPass() override;
  bool BeginElement() override;
  void ExpectWindow() override;
  std::vector<ReaderBase*> Below() const override;
  std::vector<SlotSpec> FoundSlots() const override;
  // The sum of the lanes: a source that they share counts its elements in the first of them.
  std::optional<uint64_t> PassLength() const override;
  // Which lane loads an element makes no difference.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override {
    lanes_[0]->RecordKeys(tickets, n, keys);
  }
  // The numbers are the lanes of the elements.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

  // ---- For a reader that has its lanes run by several threads: a round is one stripe of each
  // lane. Each lane: one thread at a time, and none while Plan or Save of this reader is called.
  // ----

  // Whether all lanes are at the beginning of a round, and of a stripe of what they have planned.
  bool IsBetweenRounds() const;
  ReaderBase& lane(size_t lane) const { return *lanes_[lane]; }
  // How many whole stripes of the lane are planned and not yet handed out.
  size_t RoundsPlanned(size_t lane) const { return states_[lane]->rounds; }
  // Plans `rounds` more stripes of the lane; false if the lane ends or fails before, which Plan
  // meets in its place later. Throws what can be repeated: a refusal of memory, and kCancelled
  // where the thread has left its work.
  bool PlanRounds(size_t lane, size_t rounds);
  // The tickets of the stripe that is loaded next, which is planned, and the run that keeps them.
  const Ticket* NextStripe(size_t lane, Ref<TicketRun>* run) const;
  // That stripe is loaded. If this will be saved, *names gets the names that the lane gives it.
  void NoteLoaded(size_t lane, ElementNames* names);
  // Adds the names of the lane's stripes that are loaded and not handed out, which only the caller
  // of NoteLoaded has. For Save.
  using AddLoaded = std::function<void(size_t lane, ElementNames* names)>;
  void set_add_loaded(AddLoaded add_loaded) { add_loaded_ = std::move(add_loaded); }
  // Adds names that a lane has given to those of elements of this reader.
  void AddNames(size_t lane, const ElementNames& more, ElementNames* names) const;
  // Forgets the first stripe of the lane, which was loaded and handed out.
  void DropRound(size_t lane);

 private:
  // Tickets of a lane that were planned together.
  struct Stretch {
    Ref<TicketRun> run;    // until all are loaded
    size_t loaded = 0;     // how many are loaded, or handed out by Plan,
    size_t delivered = 0;  // and how many are handed out

    size_t size() const { return run ? run->tickets.size() : loaded; }
  };
  struct alignas(128) LaneState {
    std::vector<Stretch> stretches;  // of which something is not yet handed out
    size_t rounds = 0;               // whole stripes that are not yet handed out
    bool ended = false;              // the lane has nothing beyond these

    void NoteRounds(size_t stripe);
  };

  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override;
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  size_t LaneOf(const Ticket& ticket) const {
    return static_cast<size_t>(ticket.id.sample % all_lanes()) / ranks_;
  }
  // Where a rank that had `lanes` lanes goes on in a round, counted in elements, once it has given
  // back to the lanes what readers above held.
  static uint64_t PlaceInRound(const ReaderState& state, const std::vector<ElementNames>& held,
                               uint64_t lanes, uint64_t stripe);
  // Adds up to n elements of the lane whose turn it is; returns how many.
  size_t PlanLane(size_t n, TicketRun* run);
  void NextLane();

  std::shared_ptr<LaneSource> source_;  // of the lanes; may be null
  Lanes lanes_;                         // none once they are taken
  const size_t chosen_stripe_;          // 0: nobody has chosen it
  const size_t own_stripe_;             // of passes that no position begins
  size_t stripe_;
  const size_t rank_, ranks_;
  const bool even_, shared_;
  // Apart from each other in memory, as they are of different threads.
  std::vector<std::unique_ptr<LaneState>> states_;
  AddLoaded add_loaded_;  // may be null
  size_t next_lane_ = 0;  // whose turn it is,
  size_t taken_ = 0;      // and how many elements of its stripe were handed out
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_LANES_READER_H_
