// SPDX-License-Identifier: Apache-2.0
// Fields that are cut from JSON (RFC 8259), parsed by simdjson.
#ifndef MILLHOPPER_READERS_JSON_FIELDS_H_
#define MILLHOPPER_READERS_JSON_FIELDS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/fields.h"

namespace millhopper {

class FieldRows;

// A field is named by a JSON pointer (RFC 6901: "/user/id", "/boxes/0"), or by a key of the
// outermost object. A number, true or false is one value; an array gives the values of a tensor,
// nested as its dims or flat; text is bytes, or what decode=text, hash= and vocab= make of it. null
// is the same as no value. Immutable; any thread.
class JsonParser {
 public:
  explicit JsonParser(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }
  // Appends the records. Throws kDataLoss "field '/user/id': ...".
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;
  // The same for one record that is a part of another: field i gives slots[i] of the rows a value.
  void LoadPart(std::string_view record, const size_t* slots, FieldRows* rows) const;
  // Whether a field with missing=skip has no value in the record. False if the record is no JSON;
  // Load tells.
  bool IsLeftOut(std::string_view record) const;

 private:
  const std::vector<Field> fields_;
  std::vector<size_t> own_slots_;  // 0, 1, 2 ...
};

// Fields that fit records, by the values of their outermost objects.
std::vector<std::string> GuessJsonFields(const std::vector<std::string>& records);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_JSON_FIELDS_H_
