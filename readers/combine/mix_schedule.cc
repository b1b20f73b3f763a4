// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/mix_schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr int kBits = 48;  // so that the sum of kMaxReadersInChain weights fits 64 bits
// The turns over which parts are spread.
constexpr uint64_t kShortestStretch = 16;
constexpr uint64_t kLongestStretch = 4096;

// The weights as multiples of 2^-48 of the largest, or nearly; those that are not 0 are 1 at least.
std::vector<uint64_t> WholeWeights(const std::vector<double>& weights) {
  const int exponent = std::ilogb(*std::max_element(weights.begin(), weights.end()));
  std::vector<uint64_t> whole;
  whole.reserve(weights.size());
  for (const double weight : weights) {
    const auto number = static_cast<uint64_t>(std::llround(std::ldexp(weight, kBits - exponent)));
    whole.push_back(weight == 0 ? 0 : std::max<uint64_t>(number, 1));
  }
  return whole;
}

// A number that has no divisor in common with `parts`, near their golden section: its multiples
// spread parts that follow one another, and those of every so many.
size_t Spread(size_t parts) {
  auto number = static_cast<size_t>(std::llround(0.6180339887498949 * static_cast<double>(parts)));
  while (std::gcd(number, parts) != 1) ++number;
  return number;
}

}  // namespace

MixSchedule::MixSchedule(const std::vector<double>& weights, const RandomKey& key, uint64_t pass,
                         MixPart part)
    : key_(key), pass_(pass) {
  const std::vector<uint64_t> whole = WholeWeights(weights);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] == 0) continue;
    participants_.push_back({i, whole[i], 0, 0, 0});
    sum_ += whole[i];
  }
  for (Participant& participant : participants_) SetDeadline(&participant);
  if (part.part > 0) Begin(part);
}

void MixSchedule::Begin(MixPart part) {
  uint64_t rarest = sum_;
  for (const Participant& participant : participants_) {
    rarest = std::min(rarest, participant.weight);
  }
  const uint64_t between = sum_ / rarest;  // turns of the rarest participant
  const uint64_t stretch =
      std::min(between * ((kShortestStretch + between - 1) / between), kLongestStretch);
  const uint64_t place = part.part * Spread(part.parts) % part.parts;
  for (uint64_t turns = place * stretch / part.parts; turns > 0; --turns) Next();
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

MixLengths::MixLengths(const std::vector<double>& weights, const RandomKey& key, uint64_t pass)
    : weights_(WholeWeights(weights)),
      sum_(std::accumulate(weights_.begin(), weights_.end(), uint64_t{0})),
      lengths_(weights_.size()),
      first_(key.Below(sum_, pass, 0)) {}

bool MixLengths::SetNumbers(const std::vector<uint64_t>& numbers) {
  if (numbers.size() != lengths_.size()) return false;
  uint64_t all = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (weights_[i] == 0 && numbers[i] > 0) return false;
    if (__builtin_add_overflow(all, numbers[i], &all) || all > kMostLength) return false;
  }
  lengths_ = numbers;
  all_ = all;
  return true;
}

size_t MixLengths::Next() const {
  if (all_ == 0) {
    uint64_t place = first_;
    size_t drawn = 0;
    while (place >= weights_[drawn]) place -= weights_[drawn++];
    return drawn;
  }
  size_t next = weights_.size();
  __int128 most = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    const __int128 missing =
        static_cast<__int128>(weights_[i]) * all_ - static_cast<__int128>(sum_) * lengths_[i];
    if (next < weights_.size() && missing <= most) continue;
    next = i;
    most = missing;
  }
  return next;
}

void MixLengths::Add(size_t index, uint64_t length) {
  if (length > kMostLength - all_) {
    Throw(ErrorCode::kResourceLimit, "the elements of a mix are longer than ", kMostLength,
          " together");
  }
  lengths_[index] += length;
  all_ += length;
}

}  // namespace millhopper
