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

}  // namespace

MixEnd MixEndOf(const std::string& text) {
  if (text == "stop") return MixEnd::kStop;
  return text == "continue" ? MixEnd::kContinue : MixEnd::kRepeat;
}

MixReader::MixReader(Readers readers, Weights weights, std::function<Weights()> changed_weights,
                     MixEnd end, const RandomKey& key, size_t lanes)
    : UnionReader(std::move(readers), lanes),
      weights_(std::move(weights)),
      changed_weights_(std::move(changed_weights)),
      end_(end),
      key_(key),
      planned_(size()),
      parts_(size()) {
  CheckWeights(weights_);
}

void MixReader::CheckWeights(const Weights& weights) const {
  Require(weights.size() == size(), weights.size(), " weights for ", size(), " readers");
  for (size_t k = 0; k < size(); ++k) {
    Require(std::isfinite(weights[k]) && weights[k] >= 0, "weight ", k, " is ", weights[k],
            "; it must be a number of at least 0");
  }
  Require(*std::max_element(weights.begin(), weights.end()) > 0, "all weights are 0");
}

void MixReader::BeginPass() {
  CombinedReader::BeginPass();
  if (!changed_weights_) return;
  Weights weights = changed_weights_();
  CheckWeights(weights);
  weights_ = std::move(weights);
}

// Where a reader stops or is repeated, the order decides how many elements there are.
std::optional<uint64_t> MixReader::PassLength() const {
  if (end_ != MixEnd::kContinue || changed_weights_) return std::nullopt;
  uint64_t length = 0;
  for (size_t k = 0; k < size(); ++k) {
    if (weights_[k] == 0) continue;
    const std::optional<uint64_t> one = reader(k).PassLength();
    if (!one || __builtin_add_overflow(length, *one, &length)) return std::nullopt;
  }
  return length;
}

void MixReader::PlanNext(size_t n, TicketRun* run) {
  SettleSlots();
  for (;;) {
    CheckStop();
    const size_t turns = std::min(n, kMostPlannedAtOnce);
    Deal(turns);
    const size_t count = Fill(turns);
    if (count > 0) {
      HandOut(count, run);
      return;
    }
    if (!GoOnAfter(turns_[next_turn_])) return;
  }
}

void MixReader::Schedule() {
  Weights weights = weights_;
  for (size_t k = 0; k < size(); ++k) {
    if (parts_[k].left) weights[k] = 0;
  }
  schedule_.emplace(weights, key_, pass_);
}

void MixReader::Deal(size_t n) {
  if (!schedule_) Schedule();
  if (next_turn_ == turns_.size()) {
    turns_.clear();
    next_turn_ = 0;
  }
  while (turns_.size() - next_turn_ < n) turns_.push_back(schedule_->Next());
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

void MixReader::HandOut(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  for (Part& part : parts_) part.handed = 0;
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
  next_turn_ += n;
}

bool MixReader::GoOnAfter(size_t k) {
  Part& part = parts_[k];
  planned_[k].CheckEnd(&reader(k));
  if (end_ == MixEnd::kStop) return false;
  part.ended = true;
  if (end_ == MixEnd::kRepeat) {
    if (AllHaveEnded()) return false;
    if (part.taken) {
      part.taken = false;
      ++part.repeats;
      reader(k).Restart(pass_ + (part.repeats << kRepeatShift));
      return true;
    }
  }
  part.left = true;
  schedule_.reset();
  turns_.clear();
  next_turn_ = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (weights_[i] > 0 && !parts_[i].left) return true;
  }
  return false;
}

bool MixReader::AllHaveEnded() const {
  for (size_t i = 0; i < size(); ++i) {
    if (weights_[i] > 0 && !parts_[i].ended) return false;
  }
  return true;
}

// Weights are a setting where they are fixed; else those of this pass are kept.
void MixReader::SaveState(ReaderState* state) const {
  std::vector<uint64_t> weights;
  for (const double weight : weights_) {
    uint64_t bits;
    std::memcpy(&bits, &weight, sizeof(bits));
    weights.push_back(bits);
  }
  UnionReader::SaveState(state);
  if (!changed_weights_) state->Setting("weights", weights_);
  state->Setting("end", end_ == MixEnd::kStop       ? "stop"
                        : end_ == MixEnd::kContinue ? "continue"
                                                    : "repeat");
  state->Setting("random_key", key_.Bits(0, 0));
  state->SetList("weights", std::move(weights));
  state->Set("pass", pass_);
  std::vector<uint64_t> repeats;
  for (size_t k = 0; k < size(); ++k) {
    const Part& part = parts_[k];
    repeats.insert(repeats.end(), {part.left, part.ended, part.taken, part.repeats});
    state->SetElements(StrCat("planned_", k), planned_[k].Names(reader(k)));
  }
  state->SetList("readers", std::move(repeats));
  if (!schedule_) return;
  state->SetList("schedule", schedule_->Numbers());
  state->SetList("turns", {turns_.begin() + static_cast<std::ptrdiff_t>(next_turn_), turns_.end()});
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
  bool has_turns = false;
  for (size_t k = 0; k < size(); ++k) {
    Part& part = parts_[k];
    part.left = numbers[4 * k] != 0;
    part.ended = numbers[4 * k + 1] != 0;
    part.taken = numbers[4 * k + 2] != 0;
    part.repeats = numbers[4 * k + 3];
    has_turns = has_turns || (weights_[k] > 0 && !part.left);
    planned_[k].PlanAgain(&reader(k), state.Elements(StrCat("planned_", k)));
  }
  if (state.List("schedule").empty() || !has_turns) return;
  Schedule();
  if (!schedule_->SetNumbers(state.List("schedule"))) state.Fail("nobody's turns are like this");
  for (const uint64_t turn : state.List("turns")) {
    if (turn >= size()) state.Fail("it is the turn of reader ", turn, " of ", size());
    turns_.push_back(turn);
  }
}

void MixReader::Rewind(uint64_t pass) {
  pass_ = pass;
  schedule_.reset();
  turns_.clear();
  next_turn_ = 0;
  for (PlannedElements& elements : planned_) elements.Clear();
  parts_.assign(size(), Part());
  UnionReader::Rewind(pass);
}

}  // namespace millhopper
