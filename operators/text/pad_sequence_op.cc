// SPDX-License-Identifier: Apache-2.0
// pad_sequence: sequences of several lengths become rows of one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "operators/support/sequences.h"
#include "readers/support/pad_value.h"

namespace millhopper {
namespace {

constexpr int64_t kLongest = -1;

// Dims of Out for rows with the dims of X: [sequences, length, ...].
Dims Padded(const Dims& x, int64_t sequences, int64_t length) {
  Dims dims = {sequences, length};
  for (size_t i = 1; i < x.size(); ++i) dims.push_back(x[i]);
  return dims;
}

void Infer(InferContext& context) {
  const TensorSpec& x = context.In("X");
  const auto length = context.Attr<int64_t>("length");
  TensorSpec rows = RowForEachSequence(x, DataType::kInt64);
  context.SetOut("Length", rows);
  if (x.dtype) PadValue(context.Attr<double>("value"), *x.dtype);
  if (x.dims) {
    if (x.dims->empty()) context.ThrowUnfit("X", "it has no rows");
    // Without levels of detail the only sequence is the longest one.
    const bool is_one = x.lod_level && *x.lod_level == 0;
    const int64_t known = length == kLongest && is_one ? (*x.dims)[0] : length;
    rows.dims = Padded(*x.dims, (*rows.dims)[0], known);
  } else {
    rows.dims.reset();
  }
  rows.dtype = x.dtype;
  context.SetOut("Out", rows);
}

OpSchema Schema() {
  return OpSchema("Sequences become rows of one length: a value is put after the shorter ones.")
      .Input("X",
             "[rows, ...] of any type: sequences, which its last level of detail divides, or one "
             "sequence without levels")
      .Output("Out",
              "[sequences, length, ...] of the type of X, with the levels of detail of X but the "
              "last")
      .OptionalOutput("Length", "int64 [sequences]: how many rows of each are not padding")
      .Attr(
          AttributeSchema("length", kLongest, "the length; -1 is that of the longest sequence of X")
              .AtLeast(kLongest))
      .Attr({"value", 0.0, "what padding is; an integer type must be able to hold it"})
      .Attr(
          {"truncate", false,
           "true: of longer sequences the first `length` rows are kept; false: a longer one is an "
           "error"})
      .Infer(Infer);
}

void Run(OpContext& context) {
  LoDTensor* const out = context.Out("Out");
  LoDTensor* const lengths = IsWanted(context, "Length") ? context.Out("Length") : nullptr;
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(!x.dims().empty() && x.on_host(), context, "X", "[rows, ...] on the cpu is needed");
  const Sequences sequences(x);
  const auto given = context.Attr<int64_t>("length");
  const uint64_t length = given == kLongest ? sequences.longest() : static_cast<uint64_t>(given);
  const auto truncate = context.Attr<bool>("truncate");
  const PadValue padding(context.Attr<double>("value"), x.dtype());
  for (size_t i = 0; i < sequences.size() && !truncate; ++i) {
    if (sequences.length(i) <= length) continue;
    Throw(ErrorCode::kDataLoss, "sequence ", i, " has ", sequences.length(i),
          " rows, more than the attribute 'length', ", length,
          "; truncate it first, or set the attribute 'truncate'");
  }
  const auto count = static_cast<int64_t>(sequences.size());
  out->Allocate(x.dtype(), Padded(x.dims(), count, static_cast<int64_t>(length)));
  if (out->bytes() > 0) {
    const size_t value = SizeOf(x.dtype());
    const size_t row = out->bytes() / sequences.size() / length;
    const auto* const from = static_cast<const char*>(x.raw_data());
    auto* to = static_cast<char*>(out->mutable_raw_data());
    for (size_t i = 0; i < sequences.size(); ++i, to += length * row) {
      const size_t kept = std::min(sequences.length(i), length);
      if (kept > 0) std::memcpy(to, from + sequences.begin(i) * row, kept * row);
      padding.Fill(to + kept * row, (length - kept) * (row / value));
    }
  }
  SetOuterLevels(x, out);
  if (lengths == nullptr) return;
  auto* const numbers = lengths->Allocate<int64_t>({count});
  for (size_t i = 0; i < sequences.size(); ++i) {
    numbers[i] = static_cast<int64_t>(std::min(sequences.length(i), length));
  }
  SetOuterLevels(x, lengths);
}

REGISTER_OPERATOR(pad_sequence, Schema, Run);

}  // namespace
}  // namespace millhopper
