// SPDX-License-Identifier: Apache-2.0
// Formats of sparse features: a record is a line of tokens with blanks between them.
#ifndef MILLHOPPER_READERS_FORMATS_SPARSE_TEXT_SPARSE_TEXT_H_
#define MILLHOPPER_READERS_FORMATS_SPARSE_TEXT_SPARSE_TEXT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"
#include "readers/index/indexable_format.h"

namespace millhopper {

// The tokens of a line.
class Tokens {
 public:
  explicit Tokens(std::string_view line) : rest_(line) {}

  // Sets *token to the next one; false at the end of the line.
  bool Next(std::string_view* token) {
    const size_t begin = rest_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return false;
    rest_.remove_prefix(begin);
    *token = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(token->size());
    return true;
  }
  // What follows the tokens that were taken.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Calls value(text) for each part of a token between separators.
template <typename Value>
void ForEachPart(std::string_view token, char separator, const Value& value) {
  for (;;) {
    const size_t end = token.find(separator);
    value(token.substr(0, end));
    if (end == std::string_view::npos) return;
    token.remove_prefix(end + 1);
  }
}

// The lines among the first of a file that are records. For guesses.
std::vector<std::string> FirstRecords(const std::string& path);

// What a slot of numbers had in some records.
class SeenNumbers {
 public:
  // One record's values, of which there is one at least.
  void Add(const std::vector<std::string_view>& values);
  size_t records() const { return records_; }
  bool ragged() const { return least_ != most_; }
  size_t values() const { return most_; }
  // The type that holds all of them: int64, uint64 or float64.
  const char* type() const;

 private:
  size_t records_ = 0;
  size_t least_ = 0, most_ = 0;  // values in a record
  bool int64_ = true, uint64_ = true;
};

// A format of such lines; a subclass says what the tokens are. Blank lines are no records, and
// neither are those that begin with '#'.
class SparseTextFormat : public SearchedFormat {
 public:
  SparseTextFormat(const FormatArguments& arguments, std::vector<Field> fields);

  std::string PlaceName(const FileEntry& file, uint64_t offset) const final;
  void Load(const Ticket* tickets, size_t n, Rows* rows) const final;

 protected:
  const std::vector<Field>& fields() const { return fields_; }
  // Appends the record of a line. Throws kDataLoss for one that is wrong. Any thread.
  virtual void LoadLine(std::string_view line, FieldRows* rows) const = 0;
  // Whether a field with missing=skip has no value in the line; false for one that is wrong.
  virtual bool IsLeftOut(std::string_view line) const = 0;

 private:
  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) final;
  std::string Rules() const final { return "sparse text"; }
  bool leaves_out_records() const final { return skips_; }

  const std::vector<Field> fields_;
  const bool skips_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_SPARSE_TEXT_SPARSE_TEXT_H_
