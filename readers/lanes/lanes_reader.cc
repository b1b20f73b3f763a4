// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/lanes_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/attempt.h"
#include "framework/memory/place.h"
#include "framework/reader/lane_dealer.h"
#include "readers/lanes/even_lane.h"

namespace millhopper {
namespace {

const ReaderBase& FirstOf(const Lanes& lanes) {
  Require(!lanes.empty() && lanes.size() <= kMaxLanes, lanes.size(), " lanes; there must be 1 to ",
          kMaxLanes);
  return *lanes[0];
}

// How many states a lane has in a position, without those of a source.
size_t StatesOf(const ReaderBase& lane) {
  size_t states = 1;
  for (const ReaderBase* const below : lane.Below()) states += StatesOf(*below);
  return states;
}

constexpr uint64_t kMaxStripe = INT32_MAX;  // of the attribute

// The stripe of a state.
size_t StripeIn(const ReaderState& state) {
  return static_cast<size_t>(state.GetSetting("stripe", kMaxStripe));
}

// How a state calls the elements that a lane has planned.
std::string LaneName(size_t lane) { return StrCat("lane", lane); }

}  // namespace

LaneSet LanesOfRank(LaneSet lanes, size_t rank, size_t ranks, ShardEven even) {
  const size_t all = lanes.lanes.size();
  Require(!lanes.shared, "lanes are shared by ranks already, of which there are ", lanes.ranks);
  Require(rank < ranks, "rank ", rank, " of ", ranks, " ranks");
  std::string fitting;
  for (size_t n = 1; n <= all; ++n) {
    if (all % n == 0) fitting += StrCat(fitting.empty() ? "" : ", ", n);
  }
  Require(all % ranks == 0, all, " lanes cannot be shared by ", ranks,
          " ranks; the number of ranks can be ", fitting);
  if (even != ShardEven::kNone) {
    Require(lanes.source != nullptr,
            "these lanes have no common source, which could make them even");
    lanes.source->MakeEqual();
  }
  LaneSet own{{},
              lanes.stripe,
              rank,
              ranks,
              std::move(lanes.source),
              lanes.even || even != ShardEven::kNone,
              true};
  for (size_t v = rank; v < all; v += ranks) {
    std::unique_ptr<ReaderBase> lane = std::move(lanes.lanes[v]);
    if (even != ShardEven::kNone)
      lane = std::make_unique<EvenLane>(std::move(lane), own.source, all, even);
    own.lanes.push_back(std::move(lane));
  }
  return own;
}

LanesReader::LanesReader(LaneSet set, size_t stripe)
    : ReaderBase(FirstOf(set.lanes).slots(), FirstOf(set.lanes).depth(),
                 FirstOf(set.lanes).readers()),
      source_(std::move(set.source)),
      lanes_(std::move(set.lanes)),
      chosen_stripe_(set.stripe),
      own_stripe_(set.stripe > 0 ? set.stripe : stripe),
      stripe_(own_stripe_),
      rank_(set.rank),
      ranks_(set.ranks),
      even_(set.even),
      shared_(set.shared) {
  states_.reserve(lanes_.size());
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) {
    lane->RunInLane();
    states_.push_back(std::make_unique<LaneState>());
  }
}

void LanesReader::LaneState::NoteRounds(size_t stripe) {
  size_t left = 0;
  for (const Stretch& stretch : stretches) left += stretch.size() - stretch.delivered;
  rounds = left / stripe;
}

void LanesReader::NameParts(const std::string& origin, const std::string& kind,
                            const std::string& name) {
  if (source_ && source_->origin().empty()) source_->set_origin(origin, kind, name);
  // Lanes that are handed on as they are keep the name of the reader that they were made by.
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) {
    if (lane->origin().empty()) lane->set_origin(origin, kind, name);
  }
}

std::optional<LaneSet> LanesReader::TakeLanes() {
  if (lanes_.empty()) return std::nullopt;
  Require(!planned(), origin(), " has been read already, so that its lanes cannot be decorated");
  states_.clear();
  return LaneSet{std::exchange(lanes_, {}), chosen_stripe_, rank_,  ranks_,
                 std::move(source_),        even_,          shared_};
}

LaneShape LanesReader::lane_shape() const {
  if (lanes_.empty()) return {};
  return {all_lanes(), chosen_stripe_, rank_, ranks_, shared_};
}

ChainStats LanesReader::Stats() const {
  if (lanes_.empty()) return ReaderBase::Stats();
  ChainStats stats = lanes_[0]->Stats();
  for (size_t i = 1; i < lanes_.size(); ++i) stats.AddLane(lanes_[i]->Stats());
  if (source_) source_->AddStatsTo(&stats);
  return stats;
}

const std::vector<SlotSpec>& LanesReader::row_slots() const {
  return lanes_.empty() ? slots() : lanes_[0]->row_slots();
}

std::vector<SlotSpec> LanesReader::FoundSlots() const {
  return lanes_.empty() ? slots() : lanes_[0]->FoundSlots();
}

Place LanesReader::place() const { return lanes_.empty() ? Place() : lanes_[0]->place(); }

size_t LanesReader::ElementsReady() const {
  const bool any = std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) {
    return lane->ElementsReady() == kAnyNumber;
  });
  return any ? kAnyNumber : 0;
}

void LanesReader::BeginPass() {
  if (source_) source_->BeginPass();
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) lane->BeginPass();
}

bool LanesReader::BeginElement() {
  bool below = source_ && source_->BeginElement();
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) below = lane->BeginElement() || below;
  RefuseElementsAhead(below);
  return false;
}

void LanesReader::ExpectWindow() {
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) lane->ExpectWindow();
}

std::vector<ReaderBase*> LanesReader::Below() const {
  std::vector<ReaderBase*> below;
  below.reserve(lanes_.size() + 1);
  if (source_) below.push_back(source_.get());
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) below.push_back(lane.get());
  return below;
}

std::optional<uint64_t> LanesReader::PassLength() const {
  // Of lanes that are not even only the sum of all may be known.
  if (lanes_.empty() || (ranks_ > 1 && !even_)) return std::nullopt;
  uint64_t length = 0;
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) {
    const std::optional<uint64_t> one = lane->PassLength();
    if (!one || __builtin_add_overflow(length, *one, &length)) return std::nullopt;
  }
  return length;
}

void LanesReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t first = 0; first < n;) {
    const size_t lane = LaneOf(tickets[first]);
    size_t end = first + 1;
    while (end < n && LaneOf(tickets[end]) == lane) ++end;
    lanes_[lane]->Load(tickets + first, end - first, rows);
    first = end;
  }
}

bool LanesReader::IsBetweenRounds() const {
  return next_lane_ == 0 && taken_ == 0 &&
         std::all_of(states_.begin(), states_.end(), [this](const auto& state) {
           return state->stretches.empty() || state->stretches[0].delivered % stripe_ == 0;
         });
}

bool LanesReader::PlanRounds(size_t lane, size_t rounds) {
  LaneState& state = *states_[lane];
  if (state.ended) return false;
  // The last stretch lacks a part of a stripe if its planning was interrupted, or saved.
  const bool continues = !state.stretches.empty() && state.stretches.back().size() % stripe_ != 0;
  if (!continues) state.stretches.push_back({Pool<TicketRun>::Take(), 0, 0});
  TicketRun& run = *state.stretches.back().run;
  size_t planned = run.tickets.size() / stripe_;  // stripes that count already
  const size_t wanted = (planned + rounds) * stripe_;
  while (!state.ended && run.tickets.size() < wanted) {
    size_t more = 0;
    const Attempt planning([&] { more = lanes_[lane]->Plan(wanted - run.tickets.size(), &run); });
    if (planning.may_be_repeated() && run.tickets.empty()) state.stretches.pop_back();
    planning.ThrowIfMayBeRepeated();
    state.ended = more == 0;
    const size_t now = run.tickets.size() / stripe_;
    state.rounds += now - std::exchange(planned, now);
  }
  if (run.tickets.empty()) state.stretches.pop_back();
  return !state.ended;
}

const Ticket* LanesReader::NextStripe(size_t lane, Ref<TicketRun>* run) const {
  for (const Stretch& stretch : states_[lane]->stretches) {
    if (stretch.loaded == stretch.size()) continue;
    *run = stretch.run;
    return &stretch.run->tickets[stretch.loaded];
  }
  return nullptr;
}

void LanesReader::NoteLoaded(size_t lane, ElementNames* names) {
  for (Stretch& stretch : states_[lane]->stretches) {
    if (stretch.loaded == stretch.size()) continue;
    if (expects_save()) {
      lanes_[lane]->NameElements(&stretch.run->tickets[stretch.loaded], stripe_, names);
    }
    stretch.loaded += stripe_;
    if (stretch.loaded == stretch.size()) stretch.run = Ref<TicketRun>();
    return;
  }
}

void LanesReader::DropRound(size_t lane) {
  LaneState& state = *states_[lane];
  Stretch& first = state.stretches.front();
  --state.rounds;
  first.delivered += stripe_;
  if (first.delivered == first.size()) state.stretches.erase(state.stretches.begin());
}

void LanesReader::PlanNext(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  // Every lane may have ended, each in its turn.
  for (size_t passed = 0; passed < lanes_.size();) {
    const size_t wanted = first + n - run->tickets.size();
    if (wanted == 0) return;
    const size_t planned = PlanLane(std::min(wanted, stripe_ - taken_), run);
    taken_ += planned;
    passed = planned == 0 ? passed + 1 : 0;
    if (planned == 0 || taken_ == stripe_) NextLane();
  }
}

void LanesReader::NextLane() {
  next_lane_ = next_lane_ + 1 == lanes_.size() ? 0 : next_lane_ + 1;
  taken_ = 0;
}

size_t LanesReader::PlanLane(size_t n, TicketRun* run) {
  LaneState& state = *states_[next_lane_];
  if (state.stretches.empty()) return lanes_[next_lane_]->Plan(n, run);
  Stretch& first = state.stretches.front();
  const Ticket* const tickets = first.run->tickets.data() + first.loaded;
  const size_t taken = std::min(n, first.size() - first.loaded);
  run->Keep(first.run.get());
  run->tickets.insert(run->tickets.end(), tickets, tickets + taken);
  first.loaded = first.delivered += taken;
  if (first.loaded == first.size()) state.stretches.erase(state.stretches.begin());
  state.NoteRounds(stripe_);
  return taken;
}

void LanesReader::Rewind(uint64_t pass) {
  for (const std::unique_ptr<LaneState>& state : states_) *state = LaneState();
  next_lane_ = taken_ = 0;
  // Which of the passes that are one to the consumer are planned already is the threads' affair.
  if (!TicketsStay::OnThisThread()) stripe_ = own_stripe_;
  if (source_) source_->Restart(pass);
  for (const std::unique_ptr<ReaderBase>& lane : lanes_) lane->Restart(pass);
}

void LanesReader::SaveState(ReaderState* state) const {
  state->Setting("lanes", all_lanes());
  state->SetRank(rank_, ranks_);
  if (chosen_stripe_ > 0) {
    state->Setting("stripe", stripe_);
  } else {
    state->GoesOnWith("stripe", stripe_);
  }
  state->Set("next_lane", next_lane_);
  state->Set("taken", taken_);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    ElementNames planned;
    if (add_loaded_) add_loaded_(lane, &planned);
    for (const Stretch& stretch : states_[lane]->stretches) {
      const size_t left = stretch.size() - stretch.loaded;
      if (left == 0) continue;
      lanes_[lane]->NameElements(&stretch.run->tickets[stretch.loaded], left, &planned);
    }
    if (planned.count > 0) state->SetElements(LaneName(lane), std::move(planned));
  }
}

uint64_t LanesReader::PlaceInRound(const ReaderState& state, const std::vector<ElementNames>& held,
                                   uint64_t lanes, uint64_t stripe) {
  const uint64_t round = lanes * stripe;
  uint64_t place = state.Get("next_lane", lanes - 1) * stripe + state.Get("taken", stripe - 1);
  for (const ElementNames& names : held) place += round - names.count % round;
  return place % round;
}

// The place in a round is that of all ranks if each has taken the same whole stripes of it. If not,
// they were at the end of the pass, where some lanes have more left than others.
void LanesReader::JoinRanks(std::vector<SavedRank>* ranks, Position* own) const {
  const size_t saved_ranks = ranks->size();
  const auto check = [&](bool right, const auto&... what) {
    Require(right, "the position of ", origin(), " is wrong: ", what...);
  };
  check(all_lanes() % saved_ranks == 0, "it is of ", saved_ranks, " ranks, but there are ",
        all_lanes(), " lanes");
  std::vector<ElementNames> planned(all_lanes());
  std::optional<ReaderState> joined;
  std::optional<uint64_t> place;
  uint64_t stripe = 0;
  bool have_one_place = true;
  for (size_t r = 0; r < saved_ranks; ++r) {
    SavedRank& rank = (*ranks)[r];
    ReaderState state = rank.cursor.Next();
    check(state.ranks() == saved_ranks && state.rank() == r, "it is of rank ", state.rank(), " of ",
          state.ranks());
    if (r == 0) stripe = StripeIn(state);
    check(StripeIn(state) == stripe, "one rank has stripes of ", stripe, ", another one of ",
          StripeIn(state));
    const uint64_t own_place = PlaceInRound(state, rank.held, all_lanes() / saved_ranks, stripe);
    if (!place) place = own_place;
    have_one_place = have_one_place && place == own_place;
    for (const ElementNames& held : rank.held) {
      check(held.below.size() <= all_lanes() / saved_ranks, "it names elements of ",
            held.below.size(), " lanes");
      for (size_t i = 0; i < held.below.size(); ++i) {
        planned[r + i * saved_ranks].Append(held.below[i]);
      }
    }
    for (size_t i = 0; r + i * saved_ranks < all_lanes(); ++i) {
      planned[r + i * saved_ranks].Append(state.TakeElements(LaneName(i)));
    }
    if (!joined) joined = std::move(state);
  }
  if (!have_one_place || (saved_ranks > 1 && *place % stripe > 0)) place = 0;
  const uint64_t next = *place / stripe * saved_ranks;
  const uint64_t taken = *place % stripe;
  // The first own lane that is not before the next one.
  const uint64_t turn = (next + ranks_ - 1 - rank_) / ranks_;
  joined->Set("next_lane", turn < lanes_.size() ? turn : 0);
  joined->Set("taken", rank_ + turn * ranks_ == next ? taken : 0);
  joined->SetRank(rank_, ranks_);
  joined->SetEnd(false);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    ElementNames& names = planned[rank_ + i * ranks_];
    if (names.count > 0) joined->SetElements(LaneName(i), std::move(names));
  }
  own->Add(*std::move(joined));
  if (source_) source_->JoinRanks(ranks, own);
  std::vector<std::vector<ReaderState>> of_lanes(all_lanes());
  for (size_t v = 0; v < all_lanes(); ++v) {
    for (size_t i = 0; i < StatesOf(*lanes_[0]); ++i) {
      of_lanes[v].push_back((*ranks)[v % saved_ranks].cursor.Next());
    }
  }
  for (size_t v = rank_; v < all_lanes(); v += ranks_) {
    for (ReaderState& state : of_lanes[v]) own->Add(std::move(state));
  }
}

void LanesReader::RestoreState(const ReaderState& state) {
  stripe_ = StripeIn(state);
  next_lane_ = state.Get("next_lane", lanes_.size() - 1);
  taken_ = state.Get("taken", stripe_ - 1);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const ElementNames& names = state.Elements(LaneName(lane));
    if (names.count == 0) continue;
    const Ref<TicketRun> run = Pool<TicketRun>::Take();
    lanes_[lane]->PlanRunAgain(names, run.get());
    states_[lane]->stretches.push_back({run, 0, 0});
    states_[lane]->NoteRounds(stripe_);
  }
}

void LanesReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  for (size_t i = 0; i < n; ++i) {
    ElementNames one;
    const size_t lane = LaneOf(tickets[i]);
    lanes_[lane]->NameElements(&tickets[i], 1, &one);
    AddNames(lane, one, names);
  }
}

void LanesReader::AddNames(size_t lane, const ElementNames& more, ElementNames* names) const {
  if (names->below.empty()) names->below.resize(lanes_.size());
  names->numbers.insert(names->numbers.end(), more.count, lane);
  names->below[lane].Append(more);
  names->count += more.count;
}

void LanesReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  std::vector<std::vector<size_t>> places(lanes_.size());  // of the elements of each lane
  bool right = names.below.size() == lanes_.size() && names.numbers.size() == names.count;
  for (size_t i = 0; right && i < names.count; ++i) {
    right = names.numbers[i] < lanes_.size();
    if (right) places[names.numbers[i]].push_back(i);
  }
  for (size_t lane = 0; right && lane < lanes_.size(); ++lane) {
    right = names.below[lane].count == places[lane].size();
  }
  Require(right, "the position names elements of ", origin(), " that make no sense");
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane]->PlanAgain(names.below[lane], [&](size_t place, const Ticket& ticket) {
      take(places[lane][place], ticket);
    });
  }
}

}  // namespace millhopper
