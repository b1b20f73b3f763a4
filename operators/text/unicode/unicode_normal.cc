// SPDX-License-Identifier: Apache-2.0
// Source: Unicode Standard Annex 15, and chapter 3.12 of the standard for the syllables of Hangul.
#include "operators/text/unicode/unicode_normal.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

constexpr uint32_t kHangul = 0xac00, kHangulEnd = 0xd7a4, kLead = 0x1100, kVowel = 0x1161,
                   kTrail = 0x11a7, kLeads = 19, kVowels = 21, kTrails = 28;
// Above it all characters are their own normal forms, and have the combining class 0.
constexpr uint32_t kTableEnd = 0x30000;

// What is known of a code point.
enum Trait : uint8_t {
  kCanonical = 1,   // has a canonical decomposition
  kCompatible = 2,  // has a compatible one
  kSingle = 4,      // has a canonical one that is not composed again
  kMark = 8,        // has a combining class
  kSecond = 16,     // is composed with a character before it
};

struct Tables {
  std::vector<uint8_t> traits;                          // by code point
  std::vector<uint8_t> classes;                         // combining classes, by code point
  std::unordered_map<uint32_t, uint32_t> places;        // in kDecompositions, by code point
  std::unordered_map<uint64_t, uint32_t> compositions;  // by first << 32 | second
};

Tables MakeTables() {
  Tables tables;
  tables.traits.resize(kTableEnd);
  for (size_t i = 0; i < kCombiningRunCount && kCombiningRuns[i] >> 8 < kTableEnd; ++i) {
    const uint32_t next = i + 1 < kCombiningRunCount ? kCombiningRuns[i + 1] >> 8 : kTableEnd;
    tables.classes.resize(std::min(next, kTableEnd), static_cast<uint8_t>(kCombiningRuns[i] & 255));
  }
  for (uint32_t point = 0; point < kTableEnd; ++point) {
    if (tables.classes[point] != 0) tables.traits[point] = kMark;
  }
  for (uint32_t i = 0; i < kDecompositionsSize;) {
    const uint32_t point = kDecompositions[i] >> 8;
    const uint32_t count = kDecompositions[i] >> 2 & 63;
    const bool composes = (kDecompositions[i] & 2) != 0;
    const bool compatible = (kDecompositions[i] & 1) != 0;
    tables.places.emplace(point, i);
    tables.traits[point] |= compatible ? kCompatible : kCanonical | kCompatible;
    if (!compatible && !composes) tables.traits[point] |= kSingle;
    if (composes) {
      const uint32_t second = kDecompositions[i + 2];
      tables.compositions.emplace(uint64_t{kDecompositions[i + 1]} << 32 | second, point);
      tables.traits[second] |= kSecond;
    }
    i += 1 + count;
  }
  for (uint32_t point = kHangul; point < kHangulEnd; ++point) {
    tables.traits[point] = kCanonical | kCompatible;
  }
  for (uint32_t i = 0; i < kVowels; ++i) tables.traits[kVowel + i] |= kSecond;
  for (uint32_t i = 1; i < kTrails; ++i) tables.traits[kTrail + i] |= kSecond;
  return tables;
}

const Tables& AllTables() {
  static const auto* const tables = new Tables(MakeTables());
  return *tables;
}

uint32_t ClassOfPoint(const Tables& tables, uint32_t point) {
  return point < kTableEnd ? tables.classes[point] : 0;
}

void Decompose(const Tables& tables, bool compatible, uint32_t point, PooledVector<uint32_t>* out) {
  const uint32_t traits = point < kTableEnd ? tables.traits[point] : 0;
  if ((traits & (compatible ? kCompatible : kCanonical)) == 0) {
    out->push_back(point);
    return;
  }
  if (point >= kHangul && point < kHangulEnd) {
    const uint32_t index = point - kHangul;
    out->push_back(kLead + index / (kVowels * kTrails));
    out->push_back(kVowel + index % (kVowels * kTrails) / kTrails);
    if (index % kTrails != 0) out->push_back(kTrail + index % kTrails);
    return;
  }
  const uint32_t* const entry = kDecompositions + tables.places.at(point);
  const uint32_t count = *entry >> 2 & 63;
  for (uint32_t i = 1; i <= count; ++i) Decompose(tables, compatible, entry[i], out);
}

// Marks that follow one another, by their combining class.
void Reorder(const Tables& tables, PooledVector<uint32_t>* points) {
  const auto lower = [&tables](uint32_t left, uint32_t right) {
    return ClassOfPoint(tables, left) < ClassOfPoint(tables, right);
  };
  for (auto begin = points->begin(); begin != points->end();) {
    if (ClassOfPoint(tables, *begin) == 0) {
      ++begin;
      continue;
    }
    auto end = begin + 1;
    while (end != points->end() && ClassOfPoint(tables, *end) != 0) ++end;
    std::stable_sort(begin, end, lower);
    begin = end;
  }
}

// What two characters are composed to, or 0.
uint32_t Composed(const Tables& tables, uint32_t first, uint32_t second) {
  if (first >= kLead && first < kLead + kLeads && second >= kVowel && second < kVowel + kVowels) {
    return kHangul + ((first - kLead) * kVowels + second - kVowel) * kTrails;
  }
  if (first >= kHangul && first < kHangulEnd && (first - kHangul) % kTrails == 0 &&
      second > kTrail && second < kTrail + kTrails) {
    return first + second - kTrail;
  }
  if (second >= kTableEnd || (tables.traits[second] & kSecond) == 0) return 0;
  const auto found = tables.compositions.find(uint64_t{first} << 32 | second);
  return found == tables.compositions.end() ? 0 : found->second;
}

void Compose(const Tables& tables, PooledVector<uint32_t>* points) {
  size_t size = 0;
  size_t starter = SIZE_MAX;  // the last character of class 0
  uint32_t last_class = 0;    // of the character that stands last, after the starter
  for (const uint32_t point : *points) {
    const uint32_t cls = ClassOfPoint(tables, point);
    // Nothing may stand between that has the same class, or a higher one.
    const bool is_next = starter != SIZE_MAX && starter + 1 == size;
    if (starter != SIZE_MAX && (is_next || last_class < cls)) {
      const uint32_t composed = Composed(tables, (*points)[starter], point);
      if (composed != 0) {
        (*points)[starter] = composed;
        continue;
      }
    }
    if (cls == 0) starter = size;
    last_class = cls;
    (*points)[size++] = point;
  }
  points->resize(size);
}

}  // namespace

bool IsCertainlyNormal(NormalForm form, const uint8_t* text, size_t size) {
  const uint8_t* const end = text + size;
  const uint8_t* here = text;
  while (here != end && *here < 0x80) ++here;
  if (here == end) return true;
  const Tables& tables = AllTables();
  const uint8_t others = form == NormalForm::kNfd    ? kMark | kCanonical
                         : form == NormalForm::kNfkd ? kMark | kCanonical | kCompatible
                         : form == NormalForm::kNfc  ? kMark | kSecond | kSingle
                                                     : kMark | kSecond | kSingle | kCompatible;
  while (here != end) {
    const uint32_t point = CodePointAt(here);
    if (point < kTableEnd && (tables.traits[point] & others) != 0) return false;
    here += Utf8Length(*here);
  }
  return true;
}

void AppendPoint(uint32_t point, TextBytes* out) {
  std::array<uint8_t, 4> bytes;
  const size_t size = WriteUtf8(point, bytes.data());
  out->insert(out->end(), bytes.begin(), bytes.begin() + size);
}

void AppendNormal(NormalForm form, const uint8_t* text, size_t size, TextBytes* out) {
  const Tables& tables = AllTables();
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  PooledVector<uint32_t> points;
  points.reserve(size);
  for (const uint8_t* here = text; here != text + size; here += Utf8Length(*here)) {
    Decompose(tables, compatible, CodePointAt(here), &points);
  }
  Reorder(tables, &points);
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) Compose(tables, &points);
  for (const uint32_t point : points) AppendPoint(point, out);
}

void AppendLower(uint32_t point, TextBytes* out) {
  if (point < 0x80) {
    out->push_back(static_cast<uint8_t>(point >= 'A' && point <= 'Z' ? point + 0x20 : point));
    return;
  }
  if (point == 0x130) {  // I with a dot: the only one that becomes two characters
    AppendPoint('i', out);
    AppendPoint(0x307, out);
    return;
  }
  const LowerCase* const end = kLowerCases + kLowerCaseCount;
  const LowerCase* const found =
      std::upper_bound(kLowerCases, end, point,
                       [](uint32_t one, const LowerCase& range) { return one < range.first; });
  if (found != kLowerCases) {
    const LowerCase& range = found[-1];
    if (point <= range.last && (point - range.first) % range.step == 0) {
      point = static_cast<uint32_t>(static_cast<int32_t>(point) + range.shift);
    }
  }
  AppendPoint(point, out);
}

}  // namespace millhopper
