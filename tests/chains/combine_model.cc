// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/combine_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millhopper {
namespace {

using Wide = __int128;
using Weights = std::vector<int64_t>;

// The largest weight becomes 2^48 to 2^49.
std::vector<Wide> Scaled(const Weights& weights) {
  int bits = 0;
  while (*std::max_element(weights.begin(), weights.end()) >> (bits + 1) > 0) ++bits;
  std::vector<Wide> scaled;
  for (const int64_t weight : weights) scaled.push_back(static_cast<Wide>(weight) << (48 - bits));
  return scaled;
}

Wide Sum(const std::vector<Wide>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), Wide{0});
}

// Whose turn is next, where elements are counted. With the share w / sum of all turns, turn j of a
// reader lies between turn floor(j * sum / w), which is the first that it may be, and turn
// ceil((j + 1) * sum / w), before which it must be. Of those that may be next, the one that must be
// first is; the key decides between equals. Part p of P begins p * m mod P steps later, where m is
// the number from 0.618 * P on that has no divisor in common with P, and P steps are so many turns
// as lie between two of the rarest reader, or a multiple of them from 16 on, 4096 at most.
class Turns {
 public:
  Turns(const Weights& weights, const RandomKey& key, uint64_t pass, size_t part, size_t parts)
      : weights_(Scaled(weights)),
        sum_(Sum(weights_)),
        taken_(weights.size()),
        key_(key),
        pass_(pass) {
    Wide rarest = sum_;
    for (const Wide weight : weights_) rarest = weight > 0 ? std::min(rarest, weight) : rarest;
    Wide steps = 0;
    while (steps < 16) steps += sum_ / rarest;
    size_t factor = static_cast<size_t>(std::lround(0.6180339887498949 * double(parts)));
    while (std::gcd(factor, parts) > 1) ++factor;
    const auto places = static_cast<Wide>(part * factor % parts);
    for (Wide i = std::min<Wide>(steps, 4096) * places / static_cast<Wide>(parts); i > 0; --i)
      Next();
  }

  size_t Next() {
    std::vector<size_t> first;
    Wide earliest = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      if (weights_[k] == 0 || taken_[k] * sum_ / weights_[k] > turn_) continue;
      const Wide before = ((taken_[k] + 1) * sum_ + weights_[k] - 1) / weights_[k];
      if (!first.empty() && before > earliest) continue;
      if (!first.empty() && before < earliest) first.clear();
      first.push_back(k);
      earliest = before;
    }
    const auto number = static_cast<uint64_t>(turn_);
    const uint64_t chosen = first.size() == 1 ? 0 : key_.Below(first.size(), pass_, number);
    ++turn_;
    ++taken_[first[chosen]];
    return first[chosen];
  }

 private:
  const std::vector<Wide> weights_;
  const Wide sum_;
  std::vector<Wide> taken_;
  const RandomKey key_;
  const uint64_t pass_;
  Wide turn_ = 0;
};

// The same where lengths count: that of the reader that lacks most.
class Lengths {
 public:
  Lengths(const Weights& weights, const RandomKey& key, uint64_t pass)
      : weights_(Scaled(weights)), lengths_(weights.size()) {
    Wide place = key.Below(static_cast<uint64_t>(Sum(weights_)), pass, 0);
    while (place >= weights_[first_]) place -= weights_[first_++];
  }

  size_t Next() const {
    const Wide all = Sum(lengths_);
    if (all == 0) return first_;
    const auto missing = [&](size_t k) { return weights_[k] * all - Sum(weights_) * lengths_[k]; };
    size_t next = weights_.size();
    for (size_t k = 0; k < weights_.size(); ++k) {
      if (weights_[k] == 0) continue;
      if (next == weights_.size() || missing(k) > missing(next)) next = k;
    }
    return next;
  }
  void Add(size_t k, size_t length) { lengths_[k] += length; }

 private:
  const std::vector<Wide> weights_;
  std::vector<Wide> lengths_;
  size_t first_ = 0;
};

size_t LengthOf(const ElementValue& value, const MixRules& rules) {
  size_t length = 0;
  if (rules.by == "slot") {
    length = static_cast<size_t>(value[rules.slot].dims[0]);
  } else {
    for (const SlotValue& slot : value) length += slot.bytes.size();
  }
  return std::max<size_t>(length, 1);
}

struct Part {
  ExpectedStream stream;
  size_t next = 0;
  uint64_t repeats = 0;
  bool ended = false;  // at least once
  bool gone = false;   // the others go on without it
};

}  // namespace

ExpectedStream Concatenated(size_t readers, const PassOf& pass_of, uint64_t pass) {
  ExpectedStream out;
  for (size_t k = 0; k < readers && out.error.empty(); ++k) {
    const ExpectedStream part = pass_of(k, pass);
    out.elements.insert(out.elements.end(), part.elements.begin(), part.elements.end());
    out.error = part.error;
  }
  return out;
}

ExpectedStream Zipped(size_t readers, const PassOf& pass_of, uint64_t pass, bool check_alignment) {
  std::vector<ExpectedStream> parts;
  for (size_t k = 0; k < readers; ++k) parts.push_back(pass_of(k, pass));
  ExpectedStream out;
  for (size_t i = 0;; ++i) {
    ExpectedElement joined;
    for (const ExpectedStream& part : parts) {
      if (i < part.elements.size()) {
        const ExpectedElement& element = part.elements[i];
        joined.value.insert(joined.value.end(), element.value.begin(), element.value.end());
        if (joined.error.empty()) joined.error = element.error;
        continue;
      }
      out.error = part.error;
      for (const ExpectedStream& other : parts) {
        if (!out.error.empty() || !check_alignment) break;
        out.error = i < other.elements.size() ? "the readers are not aligned" : other.error;
      }
      return out;
    }
    out.elements.push_back(joined);
  }
}

namespace {

// What is known while a pass is mixed.
class Mix {
 public:
  Mix(const MixRules& rules, const PassOf& pass_of) : rules_(rules), pass_of_(pass_of) {
    for (size_t k = 0; k < rules.weights[0].size(); ++k) {
      parts_.emplace_back();
      parts_[k].stream = pass_of(k, rules.pass);
    }
  }

  ExpectedStream All() {
    while (Begin()) {
      do {
        if (IsNextStep()) break;
        const size_t rank = RankOf(out_.elements.size());
        const size_t k = rules_.by == "records" ? turns_[rank].Next() : lengths_[rank].Next();
        const After after = Meet(k);
        if (after == After::kEnd) return out_;
        if (after == After::kBegin) break;
        const ExpectedElement& next = parts_[k].stream.elements[parts_[k].next++];
        if (rules_.by != "records") {
          out_.error = next.error;  // it is loaded before it is its turn
          if (!out_.error.empty()) return out_;
          lengths_[rank].Add(k, LengthOf(next.value, rules_));
        }
        out_.elements.push_back(next);
      } while (true);
    }
    return out_;
  }

 private:
  enum class After { kGoOn, kBegin, kEnd };

  size_t RankOf(size_t element) const {
    if (rules_.run != MixRules::kAnyRun) return element / rules_.run % rules_.ranks;
    return rules_.key.OfPart(rules_.ranks).Below(rules_.ranks, rules_.pass, element);
  }

  bool IsNextStep() const {
    const size_t of_all = out_.elements.size() * rules_.lanes + rules_.lane;
    return step_ + 1 < rules_.steps.size() &&
           of_all >= static_cast<size_t>(rules_.steps[step_ + 1]);
  }

  // Begins turns for readers that are left; false if there are none.
  bool Begin() {
    while (IsNextStep()) ++step_;
    for (;; ++step_) {
      if (step_ == rules_.steps.size()) return false;
      Weights weights = rules_.weights[step_];
      for (size_t k = 0; k < weights.size(); ++k) weights[k] *= parts_[k].gone ? 0 : 1;
      if (*std::max_element(weights.begin(), weights.end()) == 0) continue;
      turns_.clear();
      lengths_.clear();
      for (size_t rank = 0; rank < rules_.ranks; ++rank) {
        const RandomKey key = rules_.ranks > 1 ? rules_.key.OfPart(rank) : rules_.key;
        const bool of_ranks = rules_.ranks > 1;
        turns_.emplace_back(weights, key, rules_.pass, of_ranks ? rank : rules_.lane,
                            of_ranks ? rules_.ranks : rules_.lanes);
        lengths_.emplace_back(weights, key, rules_.pass);
      }
      return true;
    }
  }

  bool IsEverNeeded(size_t k) const {
    for (size_t i = step_; i < rules_.steps.size(); ++i) {
      if (rules_.weights[i][k] > 0) return true;
    }
    return false;
  }

  // It is the turn of reader k.
  After Meet(size_t k) {
    Part& part = parts_[k];
    while (part.next == part.stream.elements.size()) {
      out_.error = part.stream.error;
      if (!out_.error.empty() || rules_.when_exhausted == "stop") return After::kEnd;
      part.ended = true;
      bool all_ended = true;
      for (size_t i = 0; i < parts_.size(); ++i) {
        all_ended = all_ended && (parts_[i].ended || !IsEverNeeded(i));
      }
      const bool repeats = rules_.when_exhausted == "repeat";
      if (repeats && all_ended) return After::kEnd;
      if (!repeats || part.next == 0) {
        part.gone = true;
        return After::kBegin;
      }
      part.next = 0;
      part.stream = pass_of_(k, rules_.pass + (++part.repeats << 32));
    }
    return After::kGoOn;
  }

  const MixRules& rules_;
  const PassOf& pass_of_;
  std::vector<Part> parts_;
  size_t step_ = 0;
  std::vector<Turns> turns_;      // of each rank
  std::vector<Lengths> lengths_;  // the same
  ExpectedStream out_;
};

}  // namespace

ExpectedStream Mixed(const MixRules& rules, const PassOf& pass_of) {
  return Mix(rules, pass_of).All();
}

}  // namespace millhopper
