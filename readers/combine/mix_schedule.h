// SPDX-License-Identifier: Apache-2.0
// Deals out turns by weight.
#ifndef MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_
#define MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/base/random.h"

namespace millhopper {

// One of several streams of turns that are dealt out side by side, such as those of lanes or ranks.
struct MixPart {
  size_t part = 0;
  size_t parts = 1;
};

// Deals out turns so that after any number N of them each participant has had its weight's share of
// N, rounded down or up. The order is a function of the weights, the key, the pass and the part
// alone.
//
// Turn j (from 0) of a participant with share s of all weights must lie in [floor(j / s),
// ceil((j + 1) / s)); exactly this keeps its count within 1 of its share. Among the turns that may
// be taken, the one that must be taken first is; the key decides between equals. All turns meet
// their bounds because the shares add up to 1.
//
// Of several parts, each begins at another turn, spread over those between two turns of the rarest
// participant, so that not all parts come to it at once. Then counts are within 2 of the shares
// from the beginning, as over any stretch.
//
// Source: Baruah, Cohen, Plaxton and Varvel, "Proportionate progress: a notion of fairness in
// resource allocation", 1996 (the windows, and that they can be met); that the earliest deadline
// first meets them on one resource is Liu and Layland's, 1973.
class MixSchedule {
 public:
  // Weights are finite and not negative, one of them at least is more than 0; only their ratios
  // matter. They are taken as multiples of 2^-48 of the largest, or nearly, so that the arithmetic
  // is exact. A participant with weight 0 has no turn.
  MixSchedule(const std::vector<double>& weights, const RandomKey& key, uint64_t pass,
              MixPart part = {});

  // What Next changes, as numbers, and back. False if the numbers cannot be of this schedule.
  std::vector<uint64_t> Numbers() const;
  bool SetNumbers(const std::vector<uint64_t>& numbers);
  // The participant whose turn is next.
  size_t Next();

 private:
  struct Participant {
    size_t index;
    uint64_t weight;
    uint64_t release;   // the first turn, of all, that may be its next one
    uint64_t rest;      // of the division that `release` is the quotient of
    uint64_t deadline;  // the turn, of all, before which its next one must come
  };

  // Goes to the turn at which this part begins.
  void Begin(MixPart part);
  void SetDeadline(Participant* participant) const;

  const RandomKey key_;
  const uint64_t pass_;
  uint64_t sum_ = 0;  // of all weights
  std::vector<Participant> participants_;
  uint64_t turn_ = 0;
};

// Says whose turn is next where shares are of lengths, such as bytes, and not of turns: that of the
// participant whose share of all lengths so far is farthest below its weight's. So each is within
// about the length of its longest element of its share. The first turn is drawn by the weights.
class MixLengths {
 public:
  // Weights as MixSchedule takes them.
  MixLengths(const std::vector<double>& weights, const RandomKey& key, uint64_t pass);

  // The participant whose turn is next, until Add.
  size_t Next() const;
  // Its element was so long. Throws kResourceLimit, and changes nothing, beyond kMostLength.
  void Add(size_t index, uint64_t length);
  // What Add changes, as numbers, and back. False if the numbers cannot be of these weights.
  const std::vector<uint64_t>& Numbers() const { return lengths_; }
  bool SetNumbers(const std::vector<uint64_t>& numbers);

 private:
  static constexpr uint64_t kMostLength = uint64_t{1} << 60;  // so that products fit 127 bits

  const std::vector<uint64_t> weights_;
  const uint64_t sum_;  // of all weights
  std::vector<uint64_t> lengths_;
  uint64_t all_ = 0;  // of all lengths
  const uint64_t first_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_
