// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/chosen_fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"

namespace millhopper {
namespace {

constexpr char kAll[] = "*";

// What stands before the number at the end of a name, and the number.
struct Numbered {
  std::string stem, digits;
};

Numbered NumberedName(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789") + 1;  // 0 if there is nothing else
  return {name.substr(0, end), name.substr(end)};
}

}  // namespace

std::vector<std::string> NamesInRange(const std::string& range) {
  constexpr size_t kMostDigits = 9;
  for (size_t dash = range.find('-'); dash != std::string::npos; dash = range.find('-', dash + 1)) {
    const Numbered first = NumberedName(range.substr(0, dash));
    const Numbered last = NumberedName(range.substr(dash + 1));
    if (first.stem != last.stem || first.digits.empty() || last.digits.empty() ||
        std::max(first.digits.size(), last.digits.size()) > kMostDigits) {
      continue;
    }
    const int begin = std::stoi(first.digits), end = std::stoi(last.digits);
    Require(begin <= end, "the range '", Escaped(range), "' ends before it begins");
    if (static_cast<size_t>(end - begin) >= kMaxSlots) {
      Throw(ErrorCode::kResourceLimit, "the range '", Escaped(range), "' has ", end - begin + 1,
            " names; the limit is ", kMaxSlots);
    }
    std::vector<std::string> names;
    for (int number = begin; number <= end; ++number) {
      std::string digits = std::to_string(number);
      digits.insert(0, first.digits.size() - std::min(first.digits.size(), digits.size()), '0');
      names.push_back(first.stem + digits);
    }
    return names;
  }
  return {};
}

namespace {

// What an entry is chosen by. A record of JSON that is no object has no name but that of its slot.
const std::string& ChosenBy(const EntryHead& head) {
  return head.name.empty() ? head.slot : head.name;
}

// What was found in the files, by names.
class Columns {
 public:
  explicit Columns(const FittingFields& found) : found_(found) {
    for (const std::string& entry : found.entries) {
      const EntryHead head = HeadOf(entry);
      names_.push_back(ChosenBy(head));
      entries_.emplace(names_.back(), entry);
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  bool Has(const std::string& name) const { return entries_.count(name) > 0; }
  const std::string& EntryOf(const std::string& name) const { return entries_.at(name); }

  // The columns that a name or a range stands for.
  std::vector<std::string> Named(const std::string& name) const {
    if (Has(name)) return {name};
    CheckReadable(name);
    std::vector<std::string> names = NamesInRange(name);
    if (names.empty()) Missing(name, "");
    for (const std::string& one : names) {
      CheckReadable(one);
      if (!Has(one)) Missing(one, StrCat(", of '", Escaped(name), "'"));
    }
    return names;
  }

  // Throws what cannot be read, unless it is among `excluded`.
  void CheckAllReadable(const std::set<std::string>& excluded) const {
    constexpr size_t kMostTold = 100;
    std::string what;
    size_t count = 0;
    for (const std::string& problem : found_.left_out) {
      if (excluded.count(NameIn(problem)) > 0) continue;
      if (++count <= kMostTold) what += StrCat(what.empty() ? "" : "; ", problem);
    }
    if (what.empty()) return;
    if (count > kMostTold) what += StrCat("; and ", count - kMostTold, " more");
    std::string rest;
    for (const std::string& entry : found_.entries) {
      rest += StrCat(rest.empty() ? "" : ", ", QuotedEntry(entry));
    }
    Throw(ErrorCode::kInvalidArgument, "not all that is in it can be read: ", what,
          rest.empty() ? "" : StrCat("; the rest is read with fields: [", rest, "]"));
  }

  bool IsLeftOut(const std::string& name) const {
    return std::any_of(found_.left_out.begin(), found_.left_out.end(),
                       [&](const std::string& problem) { return NameIn(problem) == name; });
  }

 private:
  // The name in "'name': the problem".
  static std::string NameIn(const std::string& problem) {
    return problem.substr(1, problem.find("': ") - 1);
  }

  void CheckReadable(const std::string& name) const {
    for (const std::string& problem : found_.left_out) {
      Require(NameIn(problem) != name, "it cannot be read: ", problem);
    }
  }

  [[noreturn]] void Missing(const std::string& name, const std::string& range) const {
    const std::string meant = DidYouMean(name, names_);
    Throw(ErrorCode::kInvalidArgument, "there is no '", Escaped(name), "'", range, meant,
          "; there are ", Listed(names_),
          meant.empty() ? ", and a type is such as int64[], float32[] or str" : "");
  }

  const FittingFields& found_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> entries_;
};

// Throws if a column of booleans has the name of the mask of another: whoever looks for masks would
// take it for one.
void RefuseNamesOfMasks(const std::vector<std::string>& entries) {
  std::set<std::string> slots;
  for (const std::string& entry : entries) slots.insert(HeadOf(entry).slot);
  for (const std::string& entry : entries) {
    const EntryHead head = HeadOf(entry);
    const size_t stem = head.slot.size() - std::min(head.slot.size(), kMaskEnd.size());
    if (head.type != "bool[]" || head.slot.substr(stem) != kMaskEnd) continue;
    const std::string other = head.slot.substr(0, stem);
    Require(slots.count(other) == 0, "'", Escaped(head.slot), "' has the name of the mask of '",
            Escaped(other), "', by which filter, statistics and write know where that has no value",
            "; ", AdviceToRename(head.name));
  }
}

}  // namespace

bool AreChosenByName(const std::vector<std::string>& entries) {
  return entries.empty() || std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
           return HeadOf(entry).type.empty();
         });
}

std::vector<std::string> ChooseFields(const std::vector<std::string>& entries,
                                      const std::vector<std::string>& exclude,
                                      const FittingFields& found) {
  const Columns columns(found);
  std::set<std::string> named, excluded;
  for (const std::string& name : exclude) {
    if (columns.IsLeftOut(name)) {
      excluded.insert(name);
      continue;
    }
    for (std::string& one : columns.Named(name)) excluded.insert(std::move(one));
  }
  std::vector<std::pair<EntryHead, std::vector<std::string>>> parts;  // and the columns of each
  for (const std::string& entry : entries.empty() ? std::vector<std::string>{kAll} : entries) {
    EntryHead head = HeadOf(entry);
    std::vector<std::string> names;
    if (head.type.empty() && head.name != kAll) {
      names = columns.Named(head.name);
      Require(names.size() == 1 || head.slot == head.name, "'", Escaped(entry),
              "' gives several columns one name; with a type they are its values, in csv and tsv: ",
              QuotedEntry(StrCat(entry, " float32[", names.size(), "]")));
    } else if (!head.type.empty()) {
      named.insert(ChosenBy(head));
      if (!columns.Has(ChosenBy(head))) {
        for (std::string& one : NamesInRange(ChosenBy(head))) named.insert(std::move(one));
      }
    }
    named.insert(names.begin(), names.end());
    parts.emplace_back(std::move(head), std::move(names));
  }
  std::vector<std::string> chosen;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [head, names] = parts[i];
    if (!head.type.empty()) {
      chosen.push_back(entries[i]);
    } else if (head.name != kAll) {
      for (const std::string& name : names) {
        const std::string& entry = columns.EntryOf(name);
        const bool renamed = head.slot != head.name;
        const size_t begin = HeadOf(entry).name.empty() ? entry.find('"') : 0;
        chosen.push_back(renamed ? StrCat(NameInEntry(head.slot), " = ", entry.substr(begin))
                                 : entry);
      }
    } else {
      columns.CheckAllReadable(excluded);
      for (const std::string& name : columns.names()) {
        if (named.count(name) + excluded.count(name) == 0) chosen.push_back(columns.EntryOf(name));
      }
    }
  }
  if (!found.holds_masks) RefuseNamesOfMasks(chosen);
  return chosen;
}

}  // namespace millhopper
