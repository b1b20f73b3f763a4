// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/mix_schedule.h"

#include <algorithm>
#include <cmath>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr int kBits = 48;  // so that the sum of kMaxReadersInChain weights fits 64 bits

}  // namespace

MixSchedule::MixSchedule(const std::vector<double>& weights, const RandomKey& key, uint64_t pass)
    : key_(key), pass_(pass) {
  const int exponent = std::ilogb(*std::max_element(weights.begin(), weights.end()));
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const auto weight =
        static_cast<uint64_t>(std::llround(std::ldexp(weights[i], kBits - exponent)));
    participants_.push_back({i, std::max<uint64_t>(weight, 1), 0, 0, 0});
    sum_ += participants_.back().weight;
  }
  for (Participant& participant : participants_) SetDeadline(&participant);
}

void MixSchedule::SetDeadline(Participant* participant) const {
  const uint64_t rest = participant->rest + sum_ % participant->weight;
  participant->deadline = participant->release + sum_ / participant->weight +
                          (rest + participant->weight - 1) / participant->weight;
}

std::vector<uint64_t> MixSchedule::Numbers() const {
  std::vector<uint64_t> numbers{turn_};
  for (const Participant& participant : participants_) {
    numbers.push_back(participant.release);
    numbers.push_back(participant.rest);
  }
  return numbers;
}

bool MixSchedule::SetNumbers(const std::vector<uint64_t>& numbers) {
  if (numbers.size() != 1 + 2 * participants_.size()) return false;
  turn_ = numbers[0];
  bool anybodys = false;  // turn
  for (size_t i = 0; i < participants_.size(); ++i) {
    Participant& participant = participants_[i];
    participant.release = numbers[1 + 2 * i];
    participant.rest = numbers[2 + 2 * i];
    if (participant.rest >= participant.weight) return false;
    // No participant's next turn is farther away than the distance between two of its turns.
    const uint64_t farthest = sum_ / participant.weight + 1;
    if (participant.release > turn_ && participant.release - turn_ > farthest) return false;
    anybodys = anybodys || participant.release <= turn_;
    SetDeadline(&participant);
  }
  return anybodys;
}

size_t MixSchedule::Next() {
  uint64_t earliest = UINT64_MAX;
  uint64_t equals = 0;
  for (const Participant& participant : participants_) {
    if (participant.release > turn_ || participant.deadline > earliest) continue;
    equals = participant.deadline == earliest ? equals + 1 : 1;
    earliest = participant.deadline;
  }
  if (equals == 0) Throw(ErrorCode::kInternal, "nobody's turn in a mix");
  uint64_t chosen = equals == 1 ? 0 : key_.Below(equals, pass_, turn_);
  auto next = participants_.begin();
  while (next->release > turn_ || next->deadline != earliest || chosen-- > 0) ++next;
  next->release += sum_ / next->weight;
  next->rest += sum_ % next->weight;
  if (next->rest >= next->weight) {
    next->rest -= next->weight;
    ++next->release;
  }
  SetDeadline(&*next);
  ++turn_;
  return next->index;
}

}  // namespace millhopper
