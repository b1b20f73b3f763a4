// SPDX-License-Identifier: Apache-2.0
// Deals out turns by weight.
#ifndef MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_
#define MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/base/random.h"

namespace millhopper {

// Deals out turns so that after any number N of them each participant has had its weight's share of
// N, rounded down or up. The order is a function of the weights, the key and the pass alone.
//
// Turn j (from 0) of a participant with share s of all weights must lie in [floor(j / s),
// ceil((j + 1) / s)); exactly this keeps its count within 1 of its share. Among the turns that may
// be taken, the one that must be taken first is; the key decides between equals. All turns meet
// their bounds because the shares add up to 1.
//
// Source: Baruah, Cohen, Plaxton and Varvel, "Proportionate progress: a notion of fairness in
// resource allocation", 1996 (the windows, and that they can be met); that the earliest deadline
// first meets them on one resource is Liu and Layland's, 1973.
class MixSchedule {
 public:
  // Weights are finite and not negative, one of them at least is more than 0; only their ratios
  // matter. They are taken as multiples of 2^-48 of the largest, or nearly, so that the arithmetic
  // is exact. A participant with weight 0 has no turn.
  MixSchedule(const std::vector<double>& weights, const RandomKey& key, uint64_t pass);

  // How many turns have been dealt out.
  uint64_t turn() const { return turn_; }
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

  void SetDeadline(Participant* participant) const;

  const RandomKey key_;
  const uint64_t pass_;
  uint64_t sum_ = 0;  // of all weights
  std::vector<Participant> participants_;
  uint64_t turn_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_MIX_SCHEDULE_H_
