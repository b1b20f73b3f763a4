// SPDX-License-Identifier: Apache-2.0
// Fields that are cut from JSON.
#ifndef MILLHOPPER_READERS_FIELDS_JSON_FIELDS_H_
#define MILLHOPPER_READERS_FIELDS_JSON_FIELDS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/fields/fields.h"
#include "readers/fields/json_text.h"

namespace millhopper {

class FieldRows;

// A field is named by a JSON pointer (RFC 6901: "/user/id", "/boxes/0", "" for the record itself),
// or by a key of the outermost object. A number, true or false is one value; an array gives the
// values of a tensor, nested as its dims or flat, and a value that is no array a sequence of one;
// text is str, or what decode=text, hash= and vocab= make of it. null is the same as no value, and
// in an array of floats with missing=default it is NaN, or what default= says. str decode=json is
// any value, null too, as it is written. A field with numbers=exact takes no number for true or
// false, nor the other way round, and no value for a sequence of one. If an object has a key twice,
// the last one counts, as in Python. Immutable; any thread.
class JsonParser {
 public:
  // `infer` is what errors about values say of inference: "" of records whose values have no part
  // in it.
  explicit JsonParser(std::vector<Field> fields, Others others, const char* infer = kInferAll);
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;

  const std::vector<Field>& fields() const { return fields_; }
  // Appends the records. Throws kDataLoss "field '/user/id': ... (at byte 17 of the JSON)", or "the
  // record is no JSON: ...".
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;
  // The same for one record that is a part of another: field i gives slots[i] of the rows a value.
  void LoadPart(std::string_view record, const size_t* slots, FieldRows* rows) const;
  // Whether a field with missing=skip has no value in the record. False if the record is wrong;
  // Load tells.
  bool IsLeftOut(std::string_view record) const;

 private:
  // A step on the way to the values of fields; the first one is the record.
  struct Step {
    // Whether this is the step of a key that is written so, without escapes. False if in doubt.
    bool IsWritten(std::string_view written) const { return !has_backslash && key == written; }

    std::string key;
    std::string pointer;         // to here; "" of the record
    bool is_field = false;       // whether the value is that of a field
    bool has_backslash = false;  // in the key
    std::vector<size_t> next;    // the steps from here, in the order of the fields
    std::map<std::string, size_t, std::less<>> by_key;  // places in `next`
    std::unordered_map<size_t, size_t> by_item;         // those whose keys are numbers of items
  };

  // What is found in a record.
  struct Found {
    std::vector<const char*> values;  // where the value of each step begins, null if there is none
    // What no field names first, and the step that it is in, null if there is none: a member, or,
    // without a key, a value in the place of an object.
    const Step* other_in = nullptr;
    std::string_view other_key;
    const char* other = nullptr;
  };

  static Found& FoundOfThread();
  void AddField(const std::string& name);
  void Find(const JsonText& text, Found* found) const;
  const char* FindWithin(const JsonText& text, const Step& step, const char* value,
                         Found* found) const;
  const char* FindAt(const JsonText& text, size_t step, const char* value, Found* found) const;
  void Forget(size_t step, std::vector<const char*>* values) const;
  // Notes what no field names. Returns where the value ends.
  const char* PassOver(const JsonText& text, const Step& step, std::string_view key,
                       const char* value, Found* found) const;
  [[noreturn]] static void RefuseOther(const JsonText& text, const Found& found);

  const std::vector<Field> fields_;
  const Others others_;
  const char* const infer_;
  std::vector<Step> steps_;
  std::vector<size_t> field_steps_;  // the step that is the value, by field
  std::vector<size_t> own_slots_;    // 0, 1, 2 ...
};

// Fields that fit records: of each key of objects, also in objects within them. What no type of
// field is by itself, such as lists of objects, is JSON as text. Where records are no objects, the
// slot `json` is the record itself.
class JsonFieldsOfRecords final : public FieldsOfRecords {
 public:
  JsonFieldsOfRecords();
  ~JsonFieldsOfRecords() override;
  // Throws kDataLoss for what is no JSON.
  void Add(const std::vector<std::string_view>& values) override;
  FittingFields Fields() const override;

 private:
  struct Seen;
  // The fields of what is in none of the values that these pointers name, which are JSON as text.
  FittingFields FieldsBeside(const std::set<std::string>& any) const;

  std::unique_ptr<Seen> seen_;
};

// The same of some records.
FittingFields GuessJsonFields(const std::vector<std::string>& records);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_JSON_FIELDS_H_
