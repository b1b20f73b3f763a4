// SPDX-License-Identifier: Apache-2.0
// cross: what several columns have in a row becomes a number below a limit.
// Source: tf.feature_column.crossed_column; keras.layers.HashedCrossing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/support/null_rows.h"
#include "operators/support/sequences.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

using Integers = Types<int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;

constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

// uint8 in sequences is text; what is not is numbers.
bool IsText(const TensorSpec& x) { return x.dtype == DataType::kUint8 && x.lod_level != 0; }

void Infer(InferContext& context) {
  const auto& masked = context.Attr<std::vector<int32_t>>("masked");
  Require(masked.size() == context.InCount("Valid"), "attribute 'masked' has ", masked.size(),
          " numbers of columns for ", context.InCount("Valid"), " inputs 'Valid'");
  const TensorSpec& first = context.In("X");
  TensorSpec out;
  if (IsText(first)) {
    out = RowForEachSequence(first, DataType::kInt64);
  } else if (first.dtype) {
    out.dims = first.dims && !first.dims->empty() ? Dims{(*first.dims)[0]} : Dims{-1};
    out.lod_level = first.lod_level;
  }
  out.dtype = DataType::kInt64;
  context.SetOut("Out", out);
}

OpSchema Schema() {
  return OpSchema(
             "Crosses columns: all that they have in a row becomes one number, by a hash, so that "
             "a model learns of combinations. Different ones may get one number. It is XXH64 with "
             "seed 0, modulo buckets, of the columns' values in order: an integer is an int64; a "
             "text its number of bytes, an int64, and these; an integer that there is not is the "
             "least int64; all little-endian.")
      .Inputs("X",
              "columns with equally many rows: integers [n] or [n, 1], or texts, uint8 [bytes] "
              "that the last level of detail divides")
      .OneOrMore()
      .Inputs("Valid", "bool, one for each row of a column of integers: false where there is none")
      .Output("Out",
              "int64 [n], with the levels of detail of the first column, if it is text but the "
              "last")
      .Attr(AttributeSchema("buckets", int64_t{}, "the numbers are below it").Required().AtLeast(1))
      .Attr({"masked", std::vector<int32_t>(),
             "the numbers, from 0, of the columns that the inputs Valid tell of, in their order"})
      .Infer(Infer);
}

void AppendInteger(int64_t value, std::string* key) {
  for (int shift = 0; shift < 64; shift += 8) {
    key->push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
  }
}

class Column {
 public:
  Column(OpContext& context, size_t number)
      : x_(context.In("X", number)),
        nulls_(context, x_, context.Out("Out"), MaskOf(context, number)) {
    if (IsText(SpecOf(x_))) {
      texts_.emplace(x_);
      return;
    }
    const Dims& dims = x_.dims();
    const bool found = VisitType(Integers(), x_.dtype(), [this](auto tag) {
      value_ = [](const LoDTensor& x, size_t row) {
        return static_cast<int64_t>(x.data<typename decltype(tag)::type>()[row]);
      };
    });
    if (!found || !x_.on_host() || dims.empty() || x_.numel() != dims[0]) {
      ThrowUnfit(context, "X",
                 "columns that are crossed are texts or integers [n] (bucketize makes integers of "
                 "other numbers)",
                 number);
    }
  }

  size_t rows() const { return texts_ ? texts_->size() : static_cast<size_t>(x_.numel()); }
  // Appends what is in a row to the key of the row.
  void AppendTo(std::string* key, size_t row) const {
    if (!texts_) return AppendInteger(nulls_.Has(row) ? kNull : value_(x_, row), key);
    const std::string_view text = TextOf(x_, *texts_, row);
    AppendInteger(static_cast<int64_t>(text.size()), key);
    key->append(text);
  }
  void SetLevels(LoDTensor* out) const {
    if (texts_) {
      SetOuterLevels(x_, out);
    } else {
      CopyLod(x_, out);
    }
  }

 private:
  // Which of the inputs Valid tells of a column; their number if none does.
  static size_t MaskOf(const OpContext& context, size_t column) {
    const auto& masked = context.Attr<std::vector<int32_t>>("masked");
    const auto found = std::find(masked.begin(), masked.end(), static_cast<int32_t>(column));
    return static_cast<size_t>(found - masked.begin());
  }

  const LoDTensor x_;  // shares the values, since Out may be X
  const NullRows nulls_;
  std::optional<Sequences> texts_;
  int64_t (*value_)(const LoDTensor& x, size_t row) = nullptr;
};

void Run(OpContext& context) {
  const auto buckets = static_cast<uint64_t>(context.Attr<int64_t>("buckets"));
  std::vector<std::unique_ptr<const Column>> columns;
  for (size_t i = 0; i < context.InCount("X"); ++i) {
    columns.push_back(std::make_unique<const Column>(context, i));
    const size_t rows = columns.front()->rows();
    Require(columns.back()->rows() == rows, "column ", i, " has ", columns.back()->rows(),
            " rows, and column 0 has ", rows, "; columns that are crossed have equally many");
  }
  const size_t rows = columns.front()->rows();
  LoDTensor* const out = context.Out("Out");
  auto* const numbers = out->Allocate<int64_t>({static_cast<int64_t>(rows)});
  std::string key;
  for (size_t row = 0; row < rows; ++row) {
    key.clear();
    for (const auto& column : columns) column->AppendTo(&key, row);
    numbers[row] = static_cast<int64_t>(HashBucket(key, buckets));
  }
  columns.front()->SetLevels(out);
}

REGISTER_OPERATOR(cross, Schema, Run);

}  // namespace
}  // namespace millhopper
