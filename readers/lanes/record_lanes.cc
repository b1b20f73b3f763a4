// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/record_lanes.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/buffer.h"
#include "framework/reader/lane_dealer.h"

namespace millhopper {
namespace {

// How many records of each lane are planned together, so that the lock is taken once for them.
constexpr size_t kDealtAtOnce = 16;

// Tickets of one lane among those that were planned together: every `step`-th from `next` on.
struct Share {
  Ref<TicketRun> run;
  size_t next;
  size_t step;

  size_t size() const { return (run->tickets.size() - next + step - 1) / step; }
  const Ticket& operator[](size_t i) const { return run->tickets[next + i * step]; }
};

class RecordDealer final : public LaneDealer<Share> {
 public:
  RecordDealer(std::unique_ptr<ReaderBase> source, size_t lanes)
      : LaneDealer(std::move(source), lanes) {}

  void MakeEqual() override {}
  // Adds up to n of the lane's next records to the run. Throws an error of the source in its place.
  void Take(size_t lane, size_t n, TicketRun* run) EXCLUDES(mutex_) {
    const LockOrStop lock(&mutex_);
    std::deque<Share>* const own = Wanted(lane);
    if (own == nullptr) return;
    Share& share = own->front();
    const size_t taken = std::min(n, share.size());
    run->Keep(share.run.get());
    AppendEach(
        taken, [&share](size_t i) { return share[i]; }, &run->tickets);
    share.next += taken * share.step;
    if (share.next >= share.run->tickets.size()) own->pop_front();
  }

 private:
  bool Deal() override REQUIRES(mutex_) {
    const Ref<TicketRun> run = Pool<TicketRun>::Take();
    if (source().Plan(kDealtAtOnce * lanes(), run.get()) == 0) return false;
    const uint64_t first = dealt_;
    size_t n = 0;
    while (n < run->tickets.size() && run->tickets[n].id.sample == first + n) ++n;
    const bool are_numbered = n == run->tickets.size();
    const uint64_t sample = are_numbered ? 0 : run->tickets[n].id.sample;
    run->tickets.resize(n);
    dealt_ += n;
    for (size_t v = 0; v < lanes(); ++v) {
      const std::optional<uint64_t> unit = FirstUnit(v, first);
      if (unit && *unit < dealt_) shares(v).push_back({run, *unit - first, lanes()});
    }
    Require(are_numbered, origin(), " has sample ", sample, " where it should have ", dealt_,
            ": lanes stand on a source of records, below a reader that orders them otherwise, "
            "leaves some out or joins them");
    return true;
  }
};

class RecordLane final : public DealtLane<RecordDealer> {
 public:
  RecordLane(const std::shared_ptr<RecordDealer>& dealer, size_t lane)
      : DealtLane(dealer, lane, dealer->source().depth() + 1, dealer->source().readers() + 1) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    source().Load(tickets, n, rows);
  }
  // Records that are ready may be those of other lanes.
  size_t ElementsReady() const override {
    return source().ElementsReady() == kAnyNumber ? kAnyNumber : 0;
  }
  std::optional<uint64_t> PassLength() const override { return EqualLength(); }

 private:
  void PlanNext(size_t n, TicketRun* run) override { dealer().Take(lane(), n, run); }
  void Rewind(uint64_t) override {}
  void SaveState(ReaderState* state) const override {
    state->Setting("lanes", dealer().lanes());
    state->Set("had", dealer().Had(lane()));
    std::vector<Ticket> waiting;
    for (const Share& share : dealer().Waiting(lane())) {
      for (size_t i = 0; i < share.size(); ++i) waiting.push_back(share[i]);
    }
    if (waiting.empty()) return;
    ElementNames names;
    source().NameElements(waiting.data(), waiting.size(), &names);
    state->SetElements("waiting", std::move(names));
  }
  void RestoreState(const ReaderState& state) override {
    std::deque<Share> shares;
    const ElementNames& names = state.Elements("waiting");
    if (names.count > 0) {
      const Ref<TicketRun> run = Pool<TicketRun>::Take();
      source().PlanRunAgain(names, run.get());
      shares.push_back({run, 0, 1});
    }
    dealer().Return(lane(), state.Get("had"), std::move(shares));
  }
};

}  // namespace

LaneSet MakeRecordLanes(std::unique_ptr<ReaderBase> source, size_t lanes) {
  return LanesOf<RecordLane>(std::make_shared<RecordDealer>(std::move(source), lanes));
}

}  // namespace millhopper
