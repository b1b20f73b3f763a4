// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/mix_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

// Enough to make the calls cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;
constexpr int kRepeatShift = 32;
// Of all ranks, times readers: beyond it, ranks share one schedule.
constexpr size_t kMostSchedules = size_t{1} << 20;

std::vector<uint64_t> BitsOf(const MixWeights& weights) {
  std::vector<uint64_t> bits(weights.size());
  std::memcpy(bits.data(), weights.data(), weights.size() * sizeof(double));
  return bits;
}

Readers MeasuredIfNeeded(Readers readers, const std::optional<Measure>& measure) {
  if (!measure) return readers;
  for (auto& reader : readers) {
    reader = std::make_unique<MeasuredReader>(std::move(reader), *measure);
  }
  return readers;
}

}  // namespace

MixEnd MixEndOf(const std::string& text) {
  if (text == "stop") return MixEnd::kStop;
  return text == "continue" ? MixEnd::kContinue : MixEnd::kRepeat;
}

MixReader::MixReader(Readers readers, MixOptions options, const RandomKey& key)
    : UnionReader(MeasuredIfNeeded(std::move(readers), options.measure), options.lane.parts),
      options_(std::move(options)),
      key_(key),
      planned_(size()),
      parts_(size()) {
  const std::vector<MixStep>& steps = options_.steps;
  Require(!steps.empty() && steps[0].first == 0, "weights must hold from element 0 on");
  for (size_t i = 0; i < steps.size(); ++i) {
    CheckWeights(steps[i].weights);
    Require(i == 0 || steps[i].first > steps[i - 1].first, "weights hold from element ",
            steps[i].first, " on, after those from element ", steps[i == 0 ? 0 : i - 1].first,
            " on");
  }
  weights_ = steps[0].weights;
}

void MixReader::NameParts(const std::string& origin, const std::string&, const std::string& name) {
  if (!options_.measure) return;
  for (size_t k = 0; k < size(); ++k) reader(k).set_origin(origin, "measured", name);
}

void MixReader::CheckWeights(const MixWeights& weights) const {
  Require(weights.size() == size(), weights.size(), " weights for ", size(), " readers");
  for (size_t k = 0; k < size(); ++k) {
    Require(std::isfinite(weights[k]) && weights[k] >= 0, "weight ", k, " is ", weights[k],
            "; it must be a number of at least 0");
  }
  Require(*std::max_element(weights.begin(), weights.end()) > 0, "all weights are 0");
}

void MixReader::ExpectRanks(size_t ranks, size_t run) {
  // What the readers below yield goes to ranks as this one's turns decide.
  CombinedReader::ExpectRanks(ranks, kAnyRun);
  if (ranks <= expected_.ranks || ranks > kMostSchedules / size()) return;
  expected_ = {ranks, run};
  if (!planned()) ranks_ = expected_;
}

void MixReader::BeginPass() {
  CombinedReader::BeginPass();
  if (!options_.changed_weights || options_.each_element) return;
  MixWeights weights = options_.changed_weights();
  CheckWeights(weights);
  weights_ = std::move(weights);
}

bool MixReader::BeginElement() {
  const bool again = CombinedReader::BeginElement();
  if (!options_.each_element) return again;
  MixWeights weights = options_.changed_weights();
  if (weights == weights_) return true;
  CheckWeights(weights);
  weights_ = std::move(weights);
  ForgetTurns();
  return true;
}

// Where a reader stops or is repeated, the order decides how many elements there are; so it does
// where one has no weight at the end.
std::optional<uint64_t> MixReader::PassLength() const {
  if (options_.end != MixEnd::kContinue || options_.changed_weights) return std::nullopt;
  uint64_t length = 0;
  for (size_t k = 0; k < size(); ++k) {
    if (options_.steps.back().weights[k] == 0) {
      for (const MixStep& step : options_.steps) {
        if (step.weights[k] > 0) return std::nullopt;
      }
      continue;
    }
    const std::optional<uint64_t> one = reader(k).PassLength();
    if (!one || __builtin_add_overflow(length, *one, &length)) return std::nullopt;
  }
  return length;
}

void MixReader::PlanNext(size_t n, TicketRun* run) {
  SettleSlots();
  const size_t first = run->tickets.size();
  const size_t most = std::min(n, kMostPlannedAtOnce);
  for (;;) {
    CheckStop();
    const size_t added = run->tickets.size() - first;
    // A length must be known before the next turn can be dealt out.
    const bool has_turns = Deal(options_.measure ? 1 : most);
    const size_t count = has_turns ? Fill(std::min(most, turns_.size() - next_turn_)) : 0;
    if (count > 0) {
      HandOut(count, run);
      if (options_.measure && added + 1 < most) continue;
      return;
    }
    if (added > 0 || !has_turns) return;
    if (!GoOnAfter(turns_[next_turn_])) return;
  }
}

void MixReader::Schedule() {
  MixWeights weights = weights_;
  for (size_t k = 0; k < size(); ++k) {
    if (parts_[k].left) weights[k] = 0;
  }
  for (size_t rank = 0; rank < ranks_.ranks; ++rank) {
    const RandomKey key = ranks_.ranks == 1 ? key_ : key_.OfPart(rank);
    if (options_.measure) {
      lengths_.emplace_back(weights, key, pass_);
    } else {
      schedules_.emplace_back(weights, key, pass_,
                              ranks_.ranks == 1 ? options_.lane : MixPart{rank, ranks_.ranks});
    }
  }
}

void MixReader::ForgetTurns() {
  schedules_.clear();
  lengths_.clear();
  turns_.clear();
  next_turn_ = 0;
}

bool MixReader::HasTurns() const {
  for (size_t k = 0; k < size(); ++k) {
    if (weights_[k] > 0 && !parts_[k].left) return true;
  }
  return false;
}

bool MixReader::SkipToTurns() {
  while (!HasTurns()) {
    if (step_ + 1 == options_.steps.size()) return false;
    weights_ = options_.steps[++step_].weights;
  }
  return true;
}

uint64_t MixReader::ElementOfAll(uint64_t element) const {
  return element * options_.lane.parts + options_.lane.part;
}

bool MixReader::Deal(size_t n) {
  const std::vector<MixStep>& steps = options_.steps;
  if (next_turn_ == turns_.size()) {
    turns_.clear();
    next_turn_ = 0;
    while (step_ + 1 < steps.size() && ElementOfAll(yielded_) >= steps[step_ + 1].first) {
      weights_ = steps[++step_].weights;
      ForgetTurns();
    }
    if (!SkipToTurns()) return false;
  }
  if (schedules_.empty() && lengths_.empty()) Schedule();
  while (turns_.size() - next_turn_ < n) {
    const uint64_t element = yielded_ + (turns_.size() - next_turn_);
    if (step_ + 1 < steps.size() && ElementOfAll(element) >= steps[step_ + 1].first) break;
    turns_.push_back(TurnOf(element));
  }
  return true;
}

size_t MixReader::RankOf(uint64_t element) const {
  if (ranks_.run == kAnyRun) return key_.OfPart(ranks_.ranks).Below(ranks_.ranks, pass_, element);
  return static_cast<size_t>(element / ranks_.run % ranks_.ranks);
}

size_t MixReader::TurnOf(uint64_t element) {
  const size_t rank = RankOf(element);
  return options_.measure ? lengths_[rank].Next() : schedules_[rank].Next();
}

size_t MixReader::Fill(size_t n) {
  for (Part& part : parts_) part.wanted = 0;
  for (size_t i = 0; i < n; ++i) ++parts_[turns_[next_turn_ + i]].wanted;
  for (size_t k = 0; k < size(); ++k) {
    Part& part = parts_[k];
    if (part.wanted > 0) part.available = planned_[k].Fill(&reader(k), part.wanted);
  }
  for (size_t i = 0; i < n; ++i) {
    Part& part = parts_[turns_[next_turn_ + i]];
    if (part.available == 0) return i;
    --part.available;
  }
  return n;
}

uint64_t MixReader::LengthOfNext() const {
  const size_t k = turns_[next_turn_];
  return static_cast<const MeasuredReader&>(reader(k)).LengthOf(planned_[k][0]);
}

void MixReader::HandOut(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  for (Part& part : parts_) part.handed = 0;
  const uint64_t length = options_.measure ? LengthOfNext() : 0;
  try {
    for (size_t i = 0; i < n; ++i) {
      const size_t k = turns_[next_turn_ + i];
      run->Add(planned_[k][parts_[k].handed++]);
      Rename(k, &run->tickets.back(), 1);
    }
  } catch (...) {
    run->tickets.resize(first);
    throw;
  }
  for (size_t k = 0; k < size(); ++k) {
    parts_[k].taken = parts_[k].taken || parts_[k].handed > 0;
    planned_[k].Drop(parts_[k].handed);
  }
  if (options_.measure) lengths_[RankOf(yielded_)].Add(turns_[next_turn_], length);
  next_turn_ += n;
  yielded_ += n;
}

bool MixReader::GoOnAfter(size_t k) {
  Part& part = parts_[k];
  planned_[k].CheckEnd(&reader(k));
  if (options_.end == MixEnd::kStop) return false;
  part.ended = true;
  if (options_.end == MixEnd::kRepeat) {
    if (AllHaveEnded()) return false;
    if (part.taken) {
      part.taken = false;
      ++part.repeats;
      reader(k).Restart(pass_ + (part.repeats << kRepeatShift));
      return true;
    }
  }
  part.left = true;
  ForgetTurns();
  return SkipToTurns();
}

bool MixReader::WillHaveTurns(size_t k) const {
  if (weights_[k] > 0) return true;
  for (size_t i = step_ + 1; i < options_.steps.size(); ++i) {
    if (options_.steps[i].weights[k] > 0) return true;
  }
  return false;
}

bool MixReader::AllHaveEnded() const {
  for (size_t i = 0; i < size(); ++i) {
    if (WillHaveTurns(i) && !parts_[i].ended) return false;
  }
  return true;
}

// Weights are a setting where they are fixed; else those that hold now are kept.
void MixReader::SaveState(ReaderState* state) const {
  UnionReader::SaveState(state);
  SaveSettings(state);
  state->SetList("weights", BitsOf(weights_));
  std::vector<uint64_t> steps = StepsSoFar(step_);
  if (!steps.empty()) state->SetList("steps", std::move(steps));
  state->Set("pass", pass_);
  state->Set("yielded", yielded_);
  state->Set("step", step_);
  state->Set("ranks", ranks_.ranks);
  state->Set("run", ranks_.run);
  std::vector<uint64_t> repeats;
  for (size_t k = 0; k < size(); ++k) {
    const Part& part = parts_[k];
    repeats.insert(repeats.end(), {part.left, part.ended, part.taken, part.repeats});
    state->SetElements(StrCat("planned_", k), planned_[k].Names(reader(k)));
  }
  state->SetList("readers", std::move(repeats));
  if (schedules_.empty() && lengths_.empty()) return;
  std::vector<uint64_t> schedule;
  const auto add = [&schedule](const std::vector<uint64_t>& numbers) {
    schedule.insert(schedule.end(), numbers.begin(), numbers.end());
  };
  for (const MixSchedule& one : schedules_) add(one.Numbers());
  for (const MixLengths& one : lengths_) add(one.Numbers());
  state->SetList("schedule", std::move(schedule));
  state->SetList("turns", {turns_.begin() + static_cast<std::ptrdiff_t>(next_turn_), turns_.end()});
}

// Only what is not as it was before 0.3 has settings that positions did not have then.
void MixReader::SaveSettings(ReaderState* state) const {
  if (!options_.changed_weights) state->Setting("weights", options_.steps[0].weights);
  if (options_.each_element) state->Setting("weights_of", "element");
  state->Setting("end", options_.end == MixEnd::kStop       ? "stop"
                        : options_.end == MixEnd::kContinue ? "continue"
                                                            : "repeat");
  if (options_.measure) {
    const std::optional<size_t>& slot = options_.measure->slot;
    state->Setting("by", slot ? StrCat("slot ", *slot) : "bytes");
  }
  state->Setting("random_key", key_.Bits(0, 0));
}

void MixReader::RestoreState(const ReaderState& state) {
  UnionReader::RestoreState(state);
  pass_ = state.Get("pass");
  const std::vector<uint64_t>& weights = state.List("weights");
  const std::vector<uint64_t>& numbers = state.List("readers");
  if (weights.size() != size() || numbers.size() != 4 * size()) {
    state.Fail("it is not one of ", size(), " readers");
  }
  for (size_t k = 0; k < size(); ++k) std::memcpy(&weights_[k], &weights[k], sizeof(double));
  CheckWeights(weights_);
  RestoreRanks(state);
  for (size_t k = 0; k < size(); ++k) {
    Part& part = parts_[k];
    part.left = numbers[4 * k] != 0;
    part.ended = numbers[4 * k + 1] != 0;
    part.taken = numbers[4 * k + 2] != 0;
    part.repeats = numbers[4 * k + 3];
    planned_[k].PlanAgain(&reader(k), state.Elements(StrCat("planned_", k)));
  }
  RestoreTurns(state);
  CheckNextStep(state);
}

std::vector<uint64_t> MixReader::StepsSoFar(size_t last) const {
  std::vector<uint64_t> steps;
  for (size_t i = 1; i <= last; ++i) {
    steps.push_back(options_.steps[i].first);
    const std::vector<uint64_t> weights = BitsOf(options_.steps[i].weights);
    steps.insert(steps.end(), weights.begin(), weights.end());
  }
  return steps;
}

// A position from before 0.3 lacks all of these; so do those of passes that began before it.
void MixReader::RestoreRanks(const ReaderState& state) {
  ranks_ = {};
  if (!state.Has("yielded")) return;
  yielded_ = state.Get("yielded", UINT64_MAX / 2 / options_.lane.parts);
  step_ = state.Get("step");
  if (step_ >= options_.steps.size() || state.List("steps") != StepsSoFar(step_)) {
    state.Fail("it has had other steps of weights");
  }
  ranks_.ranks = state.Get("ranks", kMostSchedules / size());
  ranks_.run = state.Get("run");
  if (ranks_.ranks == 0) state.Fail("it is one of no rank");
}

void MixReader::RestoreTurns(const ReaderState& state) {
  const std::vector<uint64_t>& schedule = state.List("schedule");
  if (schedule.empty() || !HasTurns()) return;
  Schedule();
  const size_t each = schedule.size() / ranks_.ranks;
  for (size_t rank = 0; rank < ranks_.ranks; ++rank) {
    const auto first = schedule.begin() + static_cast<std::ptrdiff_t>(rank * each);
    const std::vector<uint64_t> own(first, first + static_cast<std::ptrdiff_t>(each));
    const bool fits =
        each * ranks_.ranks == schedule.size() &&
        (options_.measure ? lengths_[rank].SetNumbers(own) : schedules_[rank].SetNumbers(own));
    if (!fits) state.Fail("nobody's turns are like this");
  }
  for (const uint64_t turn : state.List("turns")) {
    if (turn >= size()) state.Fail("it is the turn of reader ", turn, " of ", size());
    turns_.push_back(turn);
  }
}

// Later steps may be others than when the position was saved, if they come late enough.
void MixReader::CheckNextStep(const ReaderState& state) const {
  if (step_ + 1 == options_.steps.size()) return;
  const uint64_t next = yielded_ + turns_.size();
  const uint64_t first = options_.steps[step_ + 1].first;
  if (next == 0 || ElementOfAll(next - 1) < first) return;
  state.Fail("weights are to hold from element ", first, " on, but those before element ",
             ElementOfAll(next), " are planned");
}

void MixReader::Rewind(uint64_t pass) {
  pass_ = pass;
  ForgetTurns();
  yielded_ = 0;
  ranks_ = expected_;
  step_ = 0;
  if (!options_.changed_weights) weights_ = options_.steps[0].weights;
  for (PlannedElements& elements : planned_) elements.Clear();
  parts_.assign(size(), Part());
  UnionReader::Rewind(pass);
}

}  // namespace millhopper
