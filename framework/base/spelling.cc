// SPDX-License-Identifier: Apache-2.0
#include "framework/base/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kLongestWord = 100;  // longer words are not typed by hand
constexpr size_t kLongestEnded = 32;
constexpr size_t kLeastBeginning = 6;       // letters that two words share by intent
constexpr size_t kLeastShortened = 3;       // letters of a word that is a longer one's beginning
constexpr uint64_t kMostSteps = 100000000;  // of comparing words: a fraction of a second

// The steps that the innermost SpellingLimit still allows.
thread_local uint64_t* shared_steps = nullptr;

}  // namespace

WordSearch::WordSearch(std::string word)
    : word_(std::move(word)),
      own_steps_(kMostSteps),
      steps_(shared_steps == nullptr ? &own_steps_ : shared_steps),
      best_(word_.size() > kLongestWord ? 0 : std::max<size_t>(1, word_.size() / 3) + 1) {}

void WordSearch::Try(const std::string& candidate) {
  const auto [shorter, longer] = std::minmax({word_.size(), candidate.size()});
  if (longer - shorter >= best_) return;  // at least this many letters differ
  const size_t distance = Distance(candidate);
  if (*steps_ == 0 || distance >= best_) return;
  best_ = distance;
  found_ = candidate;
}

const std::string& WordSearch::found() const {
  static const std::string nothing;
  return *steps_ == 0 ? nothing : found_;
}

// Edit distance by rows (Wagner and Fischer, 1974), two neighbours swapped being one edit. Stops
// as soon as the result can only be best_ or more.
size_t WordSearch::Distance(const std::string& candidate) {
  row_.resize(candidate.size() + 1);
  above_.resize(row_.size());
  above_that_.resize(row_.size());
  std::iota(row_.begin(), row_.end(), size_t{0});
  size_t least_above = 0;
  for (size_t i = 1; i <= word_.size(); ++i) {
    *steps_ -= std::min<uint64_t>(*steps_, row_.size());
    if (*steps_ == 0) return best_;
    above_that_.swap(above_);
    above_.swap(row_);
    row_[0] = i;
    for (size_t k = 1; k <= candidate.size(); ++k) {
      const size_t replaced = above_[k - 1] + (word_[i - 1] == candidate[k - 1] ? 0 : 1);
      row_[k] = std::min({replaced, above_[k] + 1, row_[k - 1] + 1});
      if (i > 1 && k > 1 && word_[i - 1] == candidate[k - 2] && word_[i - 2] == candidate[k - 1]) {
        row_[k] = std::min(row_[k], above_that_[k - 2] + 1);
      }
    }
    const size_t least = *std::min_element(row_.begin(), row_.end());
    if (std::min(least, least_above) >= best_) return best_;
    least_above = least;
  }
  return row_.back();
}

SpellingLimit::SpellingLimit()
    : steps_(kMostSteps), before_(std::exchange(shared_steps, &steps_)) {}

SpellingLimit::~SpellingLimit() { shared_steps = before_; }

std::string NearestWord(const std::string& word, const std::vector<std::string>& candidates) {
  WordSearch search(word);
  for (const std::string& candidate : candidates) search.Try(candidate);
  if (!search.found().empty()) return search.found();
  if (word.size() > kLongestEnded) return "";
  const auto beginning_with = [&](size_t letters) -> std::string {
    for (const std::string& candidate : candidates) {
      if (candidate.compare(0, letters, word, 0, letters) == 0) return candidate;
    }
    return "";
  };
  // A word that was cut short, "sep" for "separator", or has another ending, "persistent" for
  // "persistable".
  const std::string longer = word.size() < kLeastShortened ? "" : beginning_with(word.size());
  const size_t beginning = word.size() - word.size() / 3;
  return !longer.empty() || beginning < kLeastBeginning ? longer : beginning_with(beginning);
}

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean '" + Escaped(nearest) + "'?";
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  return DidYouMean(NearestWord(word, candidates));
}

}  // namespace millhopper
