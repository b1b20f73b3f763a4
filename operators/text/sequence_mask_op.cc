// SPDX-License-Identifier: Apache-2.0
// sequence_mask: ones where a padded sequence has values, zeros where it has padding.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/support/sequences.h"

namespace millhopper {
namespace {

using Lengths = Types<int64_t, int32_t>;
using Values = Types<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>;

constexpr int64_t kLongest = -1;
constexpr char kWanted[] =
    "sequences have a level of detail; lengths, without one, are int64 or int32";

void Infer(InferContext& context) {
  const TensorSpec& x = context.In("X");
  const DataType type = DataTypeFromNumber(context.Attr<int32_t>("out_dtype"));
  TensorSpec spec;
  spec.dtype = type;
  if (x.lod_level && *x.lod_level > 0) {
    spec = RowForEachSequence(x, type, {context.Attr<int64_t>("maxlen")});
  } else if (x.lod_level) {
    if (x.dtype && !Lengths::Has(*x.dtype)) context.ThrowUnfit("X", kWanted);
    spec.lod_level = 0;
    if (x.dims) {
      spec.dims = x.dims;
      spec.dims->push_back(context.Attr<int64_t>("maxlen"));
    }
  }
  context.SetOut("Y", spec);
}

OpSchema Schema() {
  return OpSchema("Ones where sequences of one length have values, zeros where they have padding.")
      .Input(
          "X",
          "int64 or int32 without levels of detail: lengths; or anything with levels, whose last "
          "one divides it into sequences")
      .Output(
          "Y",
          "[..., maxlen]: the dims of the lengths and this axis, or [sequences, maxlen] with the "
          "levels of detail of X but the last; value j is one where j is below the length, so a "
          "longer sequence has ones alone")
      .Attr(AttributeSchema("maxlen", kLongest, "the length of rows; -1 is the greatest of X")
                .AtLeast(kLongest))
      .Attr({"out_dtype", static_cast<int32_t>(DataType::kInt64),
             "type of Y, by its number in framework.proto: " + Values::Names()})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const DataType type = DataTypeFromNumber(attributes.Get<int32_t>("out_dtype"));
        Require(Values::Has(type), "attribute 'out_dtype' is ", ToString(type), "; it may be ",
                Values::Names());
      })
      .Infer(Infer);
}

std::vector<int64_t> LengthsOf(const OpContext& context, const LoDTensor& x) {
  std::vector<int64_t> lengths;
  if (!x.lod().empty()) {
    const Sequences sequences(x);
    lengths.reserve(sequences.size());
    for (size_t i = 0; i < sequences.size(); ++i) {
      lengths.push_back(static_cast<int64_t>(sequences.length(i)));
    }
    return lengths;
  }
  RequireInput(Lengths::Has(x.dtype()), context, "X", kWanted);
  DispatchType(Lengths(), context, "X", [&](auto tag) {
    const auto* const values = x.data<typename decltype(tag)::type>();
    lengths.assign(values, values + x.numel());
  });
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= 0) continue;
    Throw(ErrorCode::kDataLoss, "number ", i, " of X is ", lengths[i], ", which is no length");
  }
  return lengths;
}

void Run(OpContext& context) {
  LoDTensor* const out = context.Out("Y");
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Y may be X
  const std::vector<int64_t> lengths = LengthsOf(context, x);
  auto maxlen = context.Attr<int64_t>("maxlen");
  if (maxlen == kLongest) {
    maxlen = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  }
  Dims dims = x.lod().empty() ? x.dims() : Dims{static_cast<int64_t>(lengths.size())};
  dims.push_back(maxlen);
  VisitType(Values(), DataTypeFromNumber(context.Attr<int32_t>("out_dtype")), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* row = out->Allocate<T>(dims);
    for (const int64_t length : lengths) {
      T* const behind = std::fill_n(row, std::min(length, maxlen), T{1});
      row = std::fill_n(behind, maxlen - std::min(length, maxlen), T{});
    }
  });
  SetOuterLevels(x, out);
}

REGISTER_OPERATOR(sequence_mask, Schema, Run);

}  // namespace
}  // namespace millhopper
