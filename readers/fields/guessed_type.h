// SPDX-License-Identifier: Apache-2.0
// What values that are texts look like, for the fields that peek and errors propose.
#ifndef MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_
#define MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"

namespace millhopper {

// The type of text.
constexpr char kTextType[] = "str";

// The type of a field, and its options, that gives back the value of every cell of a column:
// "int64[]", "uint64[]" for larger ones, "float64[]" if it keeps all digits, "bool[]" for true and
// false, "bool[] format=yes/no" and the like for these words, what GuessedTimestampType says, and
// "str" if nothing else does, as for "007". For cells without a value "float64[] null=NA
// default=nan", "int64[] missing=mask".
std::string GuessedCellType(const std::vector<std::string>& cells);

// Texts, one after another, as few of them as tell what all are: GuessedCellType of those that are
// kept is that of all, and so is GuessedTimestampType. One thread.
class SeenTexts {
 public:
  void Add(std::string_view text);
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  std::set<std::string, std::less<>> kinds_;
  std::vector<std::string> kept_;  // one of each kind
  std::string last_kind_;          // of the text before, which most are like
  bool is_text_ = false;           // only texts that are empty can be of another kind
};

// A type that is guessed, with its options, for a field that has no value in some records. It
// yields what cannot be mistaken for a value, so that no training uses a label that is none: NaN,
// and for all others a mask beside them; of a timestamp the value is numpy's NaT. "int64[]" becomes
// "int64[] missing=mask".
std::string OrMissing(const std::string& type);

// "int64[] decode=timestamp" with the unit that all such columns have, whatever the format: unit=d
// if all texts are dates alone, otherwise unit=us, and unit=ns only if one has finer digits. With a
// format= of dates if one alone fits; empty if nothing does.
std::string GuessedTimestampType(const std::vector<std::string>& texts);

// A hint for an error about a text that is no value of a field: the option that accepts it, ";
// null=NA after the field says that it is no value", or "".
std::string OptionForText(const Field& field, const std::string& text);

// The entry of a field: its name, in quotes if it needs them, and its type.
std::string EntryFor(const std::string& name, const std::string& type);
// Whether an entry can have this name: not an empty one, nor what is no text.
bool CanBeNamed(const std::string& name);

// Whether it is text or bytes, or a list of such.
bool IsTextType(const std::string& type);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_
