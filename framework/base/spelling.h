// SPDX-License-Identifier: Apache-2.0
// Finds the nearest known word to a misspelt one, for error texts.
#ifndef MILLHOPPER_FRAMEWORK_BASE_SPELLING_H_
#define MILLHOPPER_FRAMEWORK_BASE_SPELLING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// Searches candidates, given one by one, for the word that was meant. It takes a bounded time, and
// finds nothing if that is not enough.
class WordSearch {
 public:
  explicit WordSearch(std::string word);
  void Try(const std::string& candidate);
  // The first of the candidates that are nearest, if near enough, or "".
  const std::string& found() const;

 private:
  size_t Distance(const std::string& candidate);

  const std::string word_;
  uint64_t own_steps_;
  uint64_t* const steps_;  // left, of this search or of all that a SpellingLimit is for
  size_t best_;            // a candidate must be nearer than this
  std::string found_;
  std::vector<size_t> row_, above_, above_that_;
};

// While one lives, all searches of this thread together take no longer than one may: for checks of
// a whole file, which may have any number of misspelt names.
class SpellingLimit {
 public:
  SpellingLimit();
  ~SpellingLimit();
  SpellingLimit(const SpellingLimit&) = delete;
  SpellingLimit& operator=(const SpellingLimit&) = delete;

 private:
  uint64_t steps_;
  uint64_t* const before_;
};

// What a WordSearch finds among these, or else the first that begins with the word, or with two
// thirds of it.
std::string NearestWord(const std::string& word, const std::vector<std::string>& candidates);
// "; did you mean 'buffer_size'?" or "", if nothing was found.
std::string DidYouMean(const std::string& nearest);
std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_SPELLING_H_
