// SPDX-License-Identifier: Apache-2.0
// one_hot: a number becomes a row of zeros with a one at its place.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

using Ids = Types<int64_t, int32_t>;
using Values = Types<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>;

constexpr char kWanted[] = "numbers are int64 or int32 [n] or [..., 1]";

// The dims with an axis of `depth` in place of the last one, of length 1, or after the only one.
std::optional<Dims> DimsOf(Dims ids, int64_t depth) {
  if (ids.size() == 1) {
    ids.push_back(depth);
    return ids;
  }
  if (ids.empty() || (ids[ids.size() - 1] != 1 && ids[ids.size() - 1] != -1)) return {};
  ids[ids.size() - 1] = depth;
  return ids;
}

void Infer(InferContext& context) {
  TensorSpec spec = context.In("X");
  if (spec.dtype && !Ids::Has(*spec.dtype)) context.ThrowUnfit("X", kWanted);
  spec.dtype = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
  if (spec.dims) {
    spec.dims = DimsOf(*spec.dims, context.Attr<int32_t>("depth"));
    if (!spec.dims) context.ThrowUnfit("X", kWanted);
  }
  context.SetOut("Out", spec);
}

OpSchema Schema() {
  return OpSchema("Each number becomes a row of zeros with a one at the place of the number.")
      .Input("X", kWanted)
      .Output("Out",
              "dims [n, depth] or [..., depth]: the last axis of length 1 is replaced; levels of "
              "detail of X")
      .Attr(AttributeSchema("depth", int32_t{}, "length of a row").Required().AtLeast(1))
      .Attr({"dtype", static_cast<int32_t>(DataType::kFp32),
             "type of Out, by its number in framework.proto: " + Values::Names()})
      .Attr({"allow_out_of_range", false,
             "true: a number below 0, or depth or more, becomes a row of zeros; false: it is an "
             "error"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const DataType type = DataTypeFromNumber(attributes.Get<int32_t>("dtype"));
        Require(Values::Has(type), "attribute 'dtype' is ", ToString(type), "; it may be ",
                Values::Names());
      })
      .Infer(Infer);
}

void Run(OpContext& context) {
  const int64_t depth = context.Attr<int32_t>("depth");
  const auto allow = context.Attr<bool>("allow_out_of_range");
  LoDTensor* const out = context.Out("Out");
  const StableInput x(context.In("X"), out);
  const std::optional<Dims> dims = DimsOf(x->dims(), depth);
  RequireInput(dims.has_value(), context, "X", kWanted);
  DispatchType(Ids(), context, "X", [&](auto id_tag) {
    const auto* const ids = x->data<typename decltype(id_tag)::type>();
    const DataType type = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
    VisitType(Values(), type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* row = out->Allocate<T>(*dims);
      std::fill_n(row, out->numel(), T{});
      for (int64_t i = 0; i < x->numel(); ++i, row += depth) {
        const int64_t id = ids[i];
        if (id >= 0 && id < depth) {
          row[id] = T{1};
        } else if (!allow) {
          Throw(ErrorCode::kDataLoss, "number ", i, " of X is ", id, "; attribute 'depth' is ",
                depth, ", so it must be 0 to ", depth - 1,
                " (allow_out_of_range makes zeros of others)");
        }
      }
    });
  });
  CopyLod(*x, out);
}

REGISTER_OPERATOR(one_hot, Schema, Run);

}  // namespace
}  // namespace millhopper
