// SPDX-License-Identifier: Apache-2.0
// Writes elements as tables with a header, csv and tsv. A number or a text is a cell, a tensor of
// several values a column for each, called image.0, image.1 and so on. Where a mask says that there
// is no value, and where a float is no number, the cell is empty.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/output/file_writer.h"

namespace millhopper {
namespace {

// A float that is no number is an empty cell, as other writers have it. It is a word beside a mask,
// by which a cell is empty or not, and where it is all of a line.
constexpr NumberWords kCellWords = {"", "inf"}, kCellWordsWithNan = {"nan", "inf"};

// How a table is written.
struct Table {
  const char* format;
  char delimiter;
  bool quotes;
};
constexpr Table kCsv = {"csv", ',', true};
constexpr Table kTsv = {"tsv", '\t', false};

size_t ColumnsOf(const OutputSlot& slot) {
  return slot.is_text() ? 1 : static_cast<size_t>(Product(Dims(slot.inner())));
}

// Appends a text as a cell. Throws kInvalidArgument, with what it is, for one that a table without
// quotes cannot hold.
void AppendCell(const Table& table, std::string_view text, const std::string& what,
                std::string* out) {
  const char special[] = {table.delimiter, '\n', '\r', table.quotes ? '"' : '\n', '\0'};
  if (text.find_first_of(special) == std::string_view::npos) {
    *out += text;
    return;
  }
  Require(table.quotes, what,
          ": tsv has no quotes, so no text in it has a tab or an end of line; csv holds it");
  *out += '"';
  for (const char c : text) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

class TableWriter final : public BufferedWriter {
 public:
  TableWriter(const std::string& path, const OutputRules& rules, const Table& table,
              const std::vector<OutputSlot>& slots, const std::string& header)
      : BufferedWriter(path, rules), table_(table), slots_(slots) {
    Begin(header);
  }

 private:
  void Append(const std::vector<LoDTensor>& element, std::string* out) override {
    const size_t begin = out->size();
    for (const OutputSlot& slot : slots_) {
      CheckRecord(slot, element);
      if (&slot != slots_.data()) *out += table_.delimiter;
      AppendSlot(slot, element, out);
    }
    // An empty line is no row.
    if (out->size() == begin) {
      Require(table_.quotes, "slot '", Escaped(slots_[0].name),
              "': tsv has no quotes, and an empty line is no row of it; csv holds it");
      *out += "\"\"";
    }
    *out += '\n';
  }

  void AppendSlot(const OutputSlot& slot, const std::vector<LoDTensor>& element,
                  std::string* out) const {
    const LoDTensor& tensor = element[slot.number];
    const size_t columns = ColumnsOf(slot);
    if (!slot.HasValue(element)) {
      out->append(columns > 0 ? columns - 1 : 0, table_.delimiter);
      return;
    }
    if (slot.is_text()) {
      const std::string_view text = TextOf(tensor);
      CheckIsText(table_.format, slot, text);
      Require(
          !slot.mask || !text.empty(), "slot '", Escaped(slot.name),
          "': an empty text, which a table does not tell from no value; jsonl, recordio, parquet "
          "and arrow do");
      return AppendCell(table_, text, StrCat("slot '", Escaped(slot.name), "'"), out);
    }
    const bool needs_word = slot.mask || (!table_.quotes && slots_.size() == 1 && columns == 1);
    const NumberWords& words = needs_word ? kCellWordsWithNan : kCellWords;
    const auto* at = static_cast<const char*>(tensor.raw_data());
    for (size_t i = 0; i < columns; ++i, at += SizeOf(tensor.dtype())) {
      if (i > 0) *out += table_.delimiter;
      AppendNumberText(tensor.dtype(), at, words, out);
    }
  }

  const Table table_;
  const std::vector<OutputSlot>& slots_;  // the format's
};

class TableOutput final : public OutputFormat {
 public:
  TableOutput(const Table& table, const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsNulls)), table_(table) {
    for (const OutputSlot& slot : this->slots()) {
      RefuseBatches(table.format, slot);
      if (!slot.is_text() && slot.spec.lod_level > 0) {
        RefuseSlot(
            table.format, slot,
            "a cell is one number or one text; jsonl, recordio, parquet and arrow hold lists");
      }
      const size_t columns = ColumnsOf(slot);
      if (columns != 1 && slot.mask) {
        RefuseSlot(
            table.format, slot,
            "it has several columns, and nulls; jsonl, recordio, parquet and arrow hold them");
      }
      if (columns == 0) RefuseSlot(table.format, slot, "it has no values");
      fields_.push_back(AddColumns(slot, columns));
    }
    header_ += '\n';
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<TableWriter>(path, rules, table_, slots(), header_);
  }
  std::vector<std::string> Fields() const override { return fields_; }
  bool WritesNanAsNull(const OutputSlot&) const override { return true; }
  AttributeMap Attributes() const override {
    AttributeMap attributes;
    // Fields that are numbers of columns do not say that there is a header.
    const bool named = std::any_of(slots().begin(), slots().end(), [](const OutputSlot& slot) {
      return ColumnsOf(slot) == 1 && slot.name[0] != '#';
    });
    if (!named) attributes.Set("header", std::string("yes"));
    return attributes;
  }

 private:
  // Adds the names of the columns of a slot. Returns the field that reads them.
  std::string AddColumns(const OutputSlot& slot, size_t columns) {
    for (size_t i = 0; i < columns; ++i) {
      const std::string name = columns == 1 ? slot.name : StrCat(slot.name, ".", i);
      if (!columns_.insert(name).second) {
        RefuseSlot(table_.format, slot,
                   StrCat("two columns would be called '", Escaped(name), "'"));
      }
      if (count_ + i > 0) header_ += table_.delimiter;
      AppendCell(table_, name, StrCat("the name of slot '", Escaped(slot.name), "'"), &header_);
    }
    const size_t first = count_;
    count_ += columns;
    if (columns == 1) return FieldOf(slot, slot.name);
    return FieldOf(slot, StrCat("#", first, "-#", count_ - 1));
  }

  const Table table_;
  std::string header_;
  std::set<std::string> columns_;  // their names
  size_t count_ = 0;               // of columns
  std::vector<std::string> fields_;
};

WriterSchema Schema() {
  return WriterSchema("numbers, texts in UTF-8, tensors of one size; nulls").Compresses();
}

std::unique_ptr<OutputFormat> MakeCsv(const NamedSlots& slots) {
  return std::make_unique<TableOutput>(kCsv, slots);
}

std::unique_ptr<OutputFormat> MakeTsv(const NamedSlots& slots) {
  return std::make_unique<TableOutput>(kTsv, slots);
}

REGISTER_FILE_WRITER(csv, Schema, MakeCsv);
REGISTER_FILE_WRITER(tsv, Schema, MakeTsv);

}  // namespace
}  // namespace millhopper
