// SPDX-License-Identifier: Apache-2.0
#include "operators/text/unicode/char_set.h"

#include <algorithm>
#include <utility>

namespace millhopper {
namespace {

// Fewer runs are found as fast without an index.
constexpr size_t kFewRuns = 16;

// Whether two names are one but for case, spaces, '-' and '_'.
bool IsCalled(std::string_view name, std::string_view known) {
  const auto skip = [](std::string_view text, size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '-' || text[at] == '_')) ++at;
    return at;
  };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  size_t i = skip(name, 0);
  size_t k = skip(known, 0);
  while (i < name.size() && k < known.size() && lower(name[i]) == lower(known[k])) {
    i = skip(name, i + 1);
    k = skip(known, k + 1);
  }
  return i == name.size() && k == known.size();
}

}  // namespace

CharSet::CharSet(std::vector<Run> runs) : runs_(std::move(runs)) { Settle(); }

CharSet CharSet::Of(Categories categories) {
  std::vector<Run> runs;
  for (size_t i = 0; i < kCategoryRunCount; ++i) {
    if (!millhopper::Has(categories, static_cast<Category>(kCategoryRuns[i] & 31))) continue;
    const uint32_t next = i + 1 < kCategoryRunCount ? kCategoryRuns[i + 1] >> 5 : kLast + 1;
    runs.push_back({kCategoryRuns[i] >> 5, next - 1});
  }
  return CharSet(std::move(runs));
}

CharSet CharSet::Spaces() {
  CharSet set = Of(kAnySpace);
  set.Add(Of('\t', '\r'));
  return set;
}

bool CharSet::OfScript(std::string_view name, CharSet* set) {
  size_t script = 0;
  while (script < kScriptCount && !IsCalled(name, kScripts[script].name) &&
         !IsCalled(name, kScripts[script].abbreviation)) {
    ++script;
  }
  if (script == kScriptCount) return false;
  std::vector<Run> runs;
  for (size_t i = 0; i < kScriptRunCount; ++i) {
    if ((kScriptRuns[i] & 0xff) != script + 1) continue;
    const uint32_t next = i + 1 < kScriptRunCount ? kScriptRuns[i + 1] >> 8 : kLast + 1;
    runs.push_back({kScriptRuns[i] >> 8, next - 1});
  }
  *set = CharSet(std::move(runs));
  return true;
}

void CharSet::Settle() {
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& left, const Run& right) { return left.first < right.first; });
  size_t size = 0;
  for (const Run& run : runs_) {
    if (size > 0 && run.first <= runs_[size - 1].last + 1) {
      runs_[size - 1].last = std::max(runs_[size - 1].last, run.last);
    } else {
      runs_[size++] = run;
    }
  }
  runs_.resize(size);
  ascii_.fill(false);
  for (const Run& run : runs_) {
    for (uint32_t point = run.first; point <= run.last && point < kAscii; ++point) {
      ascii_[point] = true;
    }
  }
  pages_.clear();
}

void CharSet::Add(const CharSet& other) {
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  Settle();
}

void CharSet::Negate() {
  std::vector<Run> others;
  uint32_t next = 0;
  for (const Run& run : runs_) {
    if (run.first > next) others.push_back({next, run.first - 1});
    next = run.last + 1;
  }
  if (next <= kLast) others.push_back({next, kLast});
  runs_ = std::move(others);
  Settle();
}

// What is in both is what is not in neither.
void CharSet::Intersect(CharSet other) {
  other.Negate();
  Negate();
  Add(other);
  Negate();
}

void CharSet::Index() {
  if (runs_.size() <= kFewRuns) return;
  pages_.clear();
  size_t run = 0;
  for (uint32_t page = 0; page <= kLast >> kPageBits; ++page) {
    while (run < runs_.size() && runs_[run].last < page << kPageBits) ++run;
    pages_.push_back(static_cast<uint32_t>(run));
  }
  pages_.push_back(static_cast<uint32_t>(runs_.size()));
}

bool CharSet::HasBeyondAscii(uint32_t point) const {
  auto from = runs_.begin();
  auto to = runs_.end();
  if (!pages_.empty()) {
    const size_t page = point >> kPageBits;
    from = runs_.begin() + pages_[page];
    // The run that ends on a later page may begin on this one.
    to = runs_.begin() + std::min<size_t>(pages_[page + 1] + size_t{1}, runs_.size());
  }
  const auto run = std::partition_point(
      from, to, [point](const Run& candidate) { return candidate.last < point; });
  return run != to && run->first <= point;
}

}  // namespace millhopper
