// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Example and SequenceExample (tensorflow/core/example/example.proto and
// feature.proto), read from their bytes straight into rows, without a message object.
#ifndef MILLHOPPER_READERS_FORMATS_TFRECORD_EXAMPLE_H_
#define MILLHOPPER_READERS_FORMATS_TFRECORD_EXAMPLE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/fields/fields.h"

namespace millhopper {

class FieldRows;

// Field names are those of features. A feature list gives the values of all its features, one
// after another. If a record has a name twice, the last one counts, as in Protocol Buffers. A
// feature without a value, whatever list it has, is the same as none; of a sequence and of
// bytes[-1] that is a sequence of none, unless there is a default. With Others::kError a record
// must have nothing that the slots do not tell: neither another feature, nor steps of other lengths
// than the field has. Immutable; any thread.
class ExampleParser {
 public:
  ExampleParser(std::vector<Field> fields, Others others);

  const std::vector<Field>& fields() const { return fields_; }
  // Appends the records. Throws kDataLoss "feature 'label' has 2 values, 1 is declared".
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;
  // Whether a field with missing=skip has no value in the record. False if the record is damaged;
  // Load tells.
  bool IsLeftOut(std::string_view record) const;

 private:
  struct Found;
  // Finds the feature of each field.
  void Find(std::string_view record, std::vector<Found>* found) const;
  void FindAmong(std::string_view features, bool lists, size_t* next,
                 std::vector<Found>* found) const;
  void LoadFeature(size_t slot, const Found& found, std::string_view record, FieldRows* rows) const;

  const std::vector<Field> fields_;
  const Others others_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

// Fields that fit the features of records, sorted by name.
class ExampleFieldsOfRecords final : public FieldsOfRecords {
 public:
  ExampleFieldsOfRecords();
  ~ExampleFieldsOfRecords() override;
  // Throws kDataLoss for what is neither an Example nor a SequenceExample.
  void Add(const std::vector<std::string_view>& values) override;
  FittingFields Fields() const override;

 private:
  struct Seen;
  std::unique_ptr<Seen> seen_;
};

// The same of some records. No entries if the first record is
// neither an Example nor a SequenceExample; another that is none, and those after it, are not
// looked at.
FittingFields GuessExampleFields(const std::vector<std::string_view>& records);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_TFRECORD_EXAMPLE_H_
