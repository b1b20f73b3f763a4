// SPDX-License-Identifier: Apache-2.0
// Source: Unicode Standard Annex 29, whose rules are named here (GB3 ...).
#include "operators/text/unicode/graphemes.h"

#include <algorithm>
#include <vector>

#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

// In the order of tools/dev/unicode_classes.py.
enum class Joins : uint8_t {
  kNothing,
  kControl,
  kExtend,        // joins what is before
  kExtendWithin,  // the same, and lets consonants around it join (InCB=Extend)
  kLinker,        // the same, and is what makes them join
  kZeroWidthJoiner,
  kConsonant,
  kPictograph,
  kPrepend,
  kSpacingMark,
  kRegional,  // two of them are a flag
  kLead,      // letters of Hangul
  kVowel,
  kTrail,
  kSyllable,  // of Hangul, with a trailing letter or without
  kReturn,
  kLineFeed,
};

// Above it a search is made.
constexpr uint32_t kTableEnd = 0x20000;

Joins FindJoins(uint32_t point) {
  const uint32_t* const after =
      std::upper_bound(kGraphemeRuns, kGraphemeRuns + kGraphemeRunCount, point << 5 | 31);
  return static_cast<Joins>(after[-1] & 31);
}

std::vector<Joins> MakeTable() {
  std::vector<Joins> table;
  table.reserve(kTableEnd);
  for (uint32_t point = 0; point < kTableEnd; ++point) table.push_back(FindJoins(point));
  return table;
}

Joins JoinsOf(uint32_t point) {
  static const auto* const table = new std::vector<Joins>(MakeTable());
  return point < kTableEnd ? (*table)[point] : FindJoins(point);
}

// Whether a syllable ends in a vowel, after which vowels may follow.
bool EndsInVowel(uint32_t syllable) { return (syllable - 0xac00) % 28 == 0; }

// What is known of a cluster up to a character of it.
class Cluster {
 public:
  explicit Cluster(uint32_t first) { Add(first, JoinsOf(first)); }

  // Adds the next character; false if it begins another cluster.
  bool Take(uint32_t point) {
    const Joins joins = JoinsOf(point);
    if (!Has(joins)) return false;
    Add(point, joins);
    return true;
  }

 private:
  bool Has(Joins next) const {
    if (last_ == Joins::kReturn) return next == Joins::kLineFeed;              // GB3
    if (IsControl(last_) || IsControl(next)) return false;                     // GB4, GB5
    if (JoinsHangul(next) || IsExtend(next)) return true;                      // GB6 to GB9
    if (next == Joins::kSpacingMark || last_ == Joins::kPrepend) return true;  // GB9a, GB9b
    if (next == Joins::kConsonant) return links_;                              // GB9c
    if (next == Joins::kPictograph) return joins_pictograph_;                  // GB11
    return next == Joins::kRegional && last_ == Joins::kRegional && odd_;      // GB12, GB13
  }

  static bool IsControl(Joins joins) {
    return joins == Joins::kControl || joins == Joins::kReturn || joins == Joins::kLineFeed;
  }
  static bool IsExtend(Joins joins) {
    return joins >= Joins::kExtend && joins <= Joins::kZeroWidthJoiner;
  }
  bool JoinsHangul(Joins next) const {
    const bool vowel = last_ == Joins::kVowel || (last_ == Joins::kSyllable && ends_in_vowel_);
    const bool trail = last_ == Joins::kTrail || (last_ == Joins::kSyllable && !ends_in_vowel_);
    if (last_ == Joins::kLead) {
      return next == Joins::kLead || next == Joins::kVowel || next == Joins::kSyllable;
    }
    return (vowel && next == Joins::kVowel) || ((vowel || trail) && next == Joins::kTrail);
  }

  void Add(uint32_t point, Joins joins) {
    ends_in_vowel_ = joins == Joins::kSyllable && EndsInVowel(point);
    odd_ = joins == Joins::kRegional && !odd_;
    joins_pictograph_ = joins == Joins::kZeroWidthJoiner && after_pictograph_;
    after_pictograph_ =
        joins == Joins::kPictograph || (after_pictograph_ && IsExtend(joins) && !joins_pictograph_);
    const bool within = joins == Joins::kExtendWithin || joins == Joins::kLinker ||
                        joins == Joins::kZeroWidthJoiner;
    after_consonant_ = joins == Joins::kConsonant || (after_consonant_ && within);
    links_ = after_consonant_ && joins != Joins::kConsonant && (links_ || joins == Joins::kLinker);
    last_ = joins;
  }

  Joins last_ = Joins::kNothing;
  bool ends_in_vowel_ = false;
  bool odd_ = false;               // an odd number of regional ones stands last
  bool after_pictograph_ = false;  // a pictograph, and what extends it, stand last
  bool joins_pictograph_ = false;  // after them a joiner
  bool after_consonant_ = false;   // a consonant, and what may stand within, stand last
  bool links_ = false;             // with a linker among it
};

}  // namespace

const uint8_t* EndOfGrapheme(const uint8_t* here, const uint8_t* end) {
  const uint8_t* next = here + Utf8Length(*here);
  // Letters, digits and signs of ASCII join nothing.
  if (next == end || (*here >= ' ' && *here < 0x7f && *next < 0x80)) return next;
  Cluster cluster(CodePointAt(here));
  while (next != end && cluster.Take(CodePointAt(next))) next += Utf8Length(*next);
  return next;
}

}  // namespace millhopper
