// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/combine_model.h"

#include <algorithm>

namespace millhopper {
namespace {

// Whose turn is next. Turn j of a reader with the share w / sum of all turns lies between turn
// floor(j * sum / w), which is the first that it may be, and turn ceil((j + 1) * sum / w), before
// which it must be. Of those that may be next, the one that must be first is; the key decides
// between equals.
class Turns {
 public:
  Turns(const std::vector<int64_t>& weights, const RandomKey& key, uint64_t pass)
      : weights_(weights), taken_(weights.size()), key_(key), pass_(pass) {
    for (const int64_t weight : weights) sum_ += weight;
  }

  size_t Next() {
    std::vector<size_t> first;
    int64_t earliest = INT64_MAX;
    for (size_t k = 0; k < weights_.size(); ++k) {
      if (weights_[k] == 0 || taken_[k] * sum_ / weights_[k] > turn_) continue;
      const int64_t before = ((taken_[k] + 1) * sum_ + weights_[k] - 1) / weights_[k];
      if (before < earliest) first.clear();
      if (before <= earliest) first.push_back(k);
      earliest = std::min(earliest, before);
    }
    const uint64_t chosen =
        first.size() == 1 ? 0 : key_.Below(first.size(), pass_, static_cast<uint64_t>(turn_));
    ++turn_;
    ++taken_[first[chosen]];
    return first[chosen];
  }

 private:
  const std::vector<int64_t> weights_;
  std::vector<int64_t> taken_;
  const RandomKey key_;
  const uint64_t pass_;
  int64_t sum_ = 0;
  int64_t turn_ = 0;
};

struct Part {
  ExpectedStream stream;
  size_t next = 0;
  uint64_t repeats = 0;
  bool ended = false;  // at least once

  bool at_end() const { return next == stream.elements.size(); }
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

ExpectedStream Mixed(const std::vector<int64_t>& weights, const PassOf& pass_of, uint64_t pass,
                     const RandomKey& key, const std::string& when_exhausted) {
  std::vector<Part> parts(weights.size());
  for (size_t k = 0; k < parts.size(); ++k) parts[k].stream = pass_of(k, pass);
  std::vector<int64_t> left = weights;  // 0 for readers that the others go on without
  ExpectedStream out;
  while (*std::max_element(left.begin(), left.end()) > 0) {
    Turns turns(left, key, pass);
    for (bool gone = false; !gone;) {
      const size_t k = turns.Next();
      Part& part = parts[k];
      while (part.at_end() && !gone) {
        out.error = part.stream.error;
        if (!out.error.empty() || when_exhausted == "stop") return out;
        part.ended = true;
        bool all_ended = true;
        for (size_t i = 0; i < parts.size(); ++i) {
          all_ended = all_ended && (parts[i].ended || weights[i] == 0);
        }
        if (when_exhausted == "repeat" && all_ended) return out;
        if (when_exhausted == "repeat" && part.next > 0) {
          part.next = 0;
          part.stream = pass_of(k, pass + (++part.repeats << 32));
        } else {
          left[k] = 0;
          gone = true;
        }
      }
      if (!gone) out.elements.push_back(part.stream.elements[part.next++]);
    }
  }
  return out;
}

}  // namespace millhopper
