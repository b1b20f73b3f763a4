// SPDX-License-Identifier: Apache-2.0
// transpose: the axes of X in another order.
#include <algorithm>
#include <cstring>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

void CheckAxes(const Ints& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    Require(std::count(axes.begin(), axes.end(), static_cast<int32_t>(i)) == 1,
            "attribute 'axis' must name each axis from 0 to ", axes.size() - 1, " once");
  }
}

void Infer(InferContext& context) {
  const TensorSpec& x = context.In("X");
  const auto& axes = context.Attr<Ints>("axis");
  if (!x.dims) return context.SetOut("Out", {x.dtype, std::nullopt, 0});
  if (x.dims->size() != axes.size()) {
    context.ThrowUnfit("X", StrCat("attribute 'axis' is for ", axes.size(), " axes"));
  }
  Dims dims;
  for (const int32_t axis : axes) dims.push_back((*x.dims)[static_cast<size_t>(axis)]);
  context.SetOut("Out", {x.dtype, dims, 0});
}

OpSchema Schema() {
  return OpSchema("The axes of X in another order: axis i of Out is axis[i] of X.")
      .Input("X", "any dims and type")
      .Output("Out", "type of X, no level of detail; may be X")
      .Attr(
          AttributeSchema("axis", Ints{}, "[0, 3, 1, 2] makes [N, C, H, W] of images [N, H, W, C]")
              .Required()
              .AtLeast(0))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto& axes = attributes.Get<Ints>("axis");
        Require(!axes.empty() && axes.size() <= kMaxRank, "attribute 'axis' has ", axes.size(),
                " values; a tensor has 1 to ", kMaxRank, " axes");
        CheckAxes(axes);
      })
      .Infer(Infer);
}

// Values of this many bytes, copied in the order of the new axes.
template <size_t kBytes>
void Copy(const char* from, const Dims& dims, const std::vector<int64_t>& strides, char* to) {
  const size_t rank = dims.size();
  const int64_t inner = dims[rank - 1], step = strides[rank - 1];
  int64_t outer = 1;
  for (size_t axis = 0; axis + 1 < rank; ++axis) outer *= dims[axis];
  int64_t place[kMaxRank] = {};
  int64_t begin = 0;
  for (int64_t i = 0; i < outer; ++i) {
    const char* at = from + begin * static_cast<int64_t>(kBytes);
    for (int64_t k = 0; k < inner; ++k) {
      std::memcpy(to, at, kBytes);
      to += kBytes;
      at += step * static_cast<int64_t>(kBytes);
    }
    for (size_t axis = rank - 1; axis-- > 0;) {
      begin += strides[axis];
      if (++place[axis] < dims[axis]) break;
      begin -= strides[axis] * dims[axis];
      place[axis] = 0;
    }
  }
}

void Run(OpContext& context) {
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  const auto& axes = context.Attr<Ints>("axis");
  RequireInput(x.dims().size() == axes.size(), context, "X", "attribute 'axis' is for ",
               axes.size(), " axes");
  std::vector<int64_t> x_strides(axes.size(), 1), strides;
  for (size_t axis = axes.size() - 1; axis-- > 0;) {
    x_strides[axis] = x_strides[axis + 1] * x.dims()[axis + 1];
  }
  Dims dims;
  for (const int32_t axis : axes) {
    dims.push_back(x.dims()[static_cast<size_t>(axis)]);
    strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  LoDTensor* const out = context.Out("Out");
  out->Allocate(x.dtype(), dims);
  if (x.numel() == 0) return;
  const auto* const from = static_cast<const char*>(x.raw_data());
  auto* const to = static_cast<char*>(out->mutable_raw_data());
  switch (SizeOf(x.dtype())) {
    case 1:
      return Copy<1>(from, dims, strides, to);
    case 2:
      return Copy<2>(from, dims, strides, to);
    case 4:
      return Copy<4>(from, dims, strides, to);
    default:
      return Copy<8>(from, dims, strides, to);
  }
}

REGISTER_OPERATOR(transpose, Schema, Run);

}  // namespace
}  // namespace millhopper
