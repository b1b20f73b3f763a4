// SPDX-License-Identifier: Apache-2.0
// Where parsers put the values of the fields of several records.
#ifndef MILLHOPPER_READERS_FIELDS_FIELD_ROWS_H_
#define MILLHOPPER_READERS_FIELDS_FIELD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/rows.h"
#include "readers/fields/fields.h"

namespace millhopper {

// For each record, the slot of each field gets its values once: by Take, by one or more calls of
// Pass, by AppendBytes or by AppendDefault. The slots come in any order. Masks say that there is a
// value, unless it is AppendDefault that is called, or the caller writes to NextMask. One thread.
class FieldRows {
 public:
  // For n records. The fields, those of all slots in order, must outlive this.
  FieldRows(const std::vector<Field>& fields, size_t n, Rows* rows);

  // The place of the record's `count` values. Throws kDataLoss "it has 3 values, 10 are declared".
  char* Take(size_t slot, size_t count);
  // The place of the record's next value, and of those after it, in a slot that is no sequence.
  // Values count once they have been passed.
  char* NextPlace(size_t slot) const { return places_[slot]; }
  void Pass(size_t slot, size_t values) { places_[slot] += values * fields_[slot].value_bytes(); }
  // What a slot of bytes gets: the one value that it takes, or all of a list. Throws kDataLoss "it
  // has 2 values, bytes takes one", and what CheckText throws.
  void AppendBytes(size_t slot, const std::vector<std::string_view>& values);
  void AppendBytes(size_t slot, std::string_view value);
  // Throws kDataLoss unless a value of bytes is what the field declares: text must be UTF-8.
  void CheckText(size_t slot, std::string_view value) const;
  // The place of the record's values in a slot of lists of lists, or of lists of bytes, by the
  // offsets of each level of detail, the last of them those of steps. Bytes must have been checked.
  char* TakeNested(size_t slot, const std::vector<std::vector<uint64_t>>& levels);
  // What stands for values that are missing. Throws what ThrowMissing of the field throws, with
  // `problem`, unless the field says missing=default.
  void AppendDefault(size_t slot, const char* problem);
  // The same for a field that says so.
  void AppendDefault(size_t slot);
  // Where the mask of the field says, 1 or 0, whether the next record has a value, and those after
  // it have; null if the field has none. The next record is the one whose last value has not been
  // passed yet.
  char* NextMask(size_t slot) const;

 private:
  struct Mask {
    char* begin = nullptr;        // of the first record; null if the field has none
    const char* first = nullptr;  // value, in a slot that is no sequence
    size_t records = 0;           // so far, in one that is
  };

  void CountSequence(size_t slot) {
    if (!masks_.empty()) ++masks_[slot].records;
  }

  const std::vector<Field>& fields_;
  Rows* const rows_;
  std::vector<char*>& places_;  // of the next record, in slots that are no sequences
  std::vector<Mask> masks_;     // by field; empty if no field has one
};

// Calls function() and adds the name of the field to its error.
template <typename Function>
void ForField(const Field& field, const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    throw error.WithMessage(StrCat("field '", Escaped(field.name), "': ", error.message()));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_FIELD_ROWS_H_
