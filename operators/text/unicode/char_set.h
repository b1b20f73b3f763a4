// SPDX-License-Identifier: Apache-2.0
// Sets of characters, as regular expressions have them.
#ifndef MILLHOPPER_OPERATORS_TEXT_UNICODE_CHAR_SET_H_
#define MILLHOPPER_OPERATORS_TEXT_UNICODE_CHAR_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/text/unicode/unicode_classes.h"

namespace millhopper {

// A set of code points. Changed by one thread; then any thread may look.
class CharSet {
 public:
  // From the first to the last.
  struct Run {
    uint32_t first, last;
    bool operator==(const Run& other) const { return first == other.first && last == other.last; }
  };

  CharSet() = default;
  // Runs in any order, which may overlap.
  explicit CharSet(std::vector<Run> runs);
  static CharSet Of(uint32_t first, uint32_t last) { return CharSet({{first, last}}); }
  // The characters of these general categories.
  static CharSet Of(Categories categories);
  // \s.
  static CharSet Spaces();
  // Those of a script of Unicode 16.0, such as Han or Latn; its name in any notation: case, spaces,
  // '-' and '_' do not count. False if there is none of the name.
  static bool OfScript(std::string_view name, CharSet* set);

  void Add(const CharSet& other);
  // Keeps what is in both.
  void Intersect(CharSet other);
  void Negate();
  // Makes Has fast for many runs. It is for a set that no longer changes.
  void Index();

  bool Has(uint32_t point) const { return point < kAscii ? ascii_[point] : HasBeyondAscii(point); }
  bool HasBeyondAscii(uint32_t point) const;
  // In ascending order, with a gap between each two.
  const std::vector<Run>& runs() const { return runs_; }
  bool operator==(const CharSet& other) const { return runs_ == other.runs_; }

 private:
  static constexpr uint32_t kAscii = 0x80;
  static constexpr uint32_t kPageBits = 8;
  static constexpr uint32_t kLast = 0x10ffff;

  // Sorts and joins the runs.
  void Settle();

  std::vector<Run> runs_;
  std::array<bool, kAscii> ascii_{};
  std::vector<uint32_t> pages_;  // of each page the first run that ends in it or after; or none
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_UNICODE_CHAR_SET_H_
