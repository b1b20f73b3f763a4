// SPDX-License-Identifier: Apache-2.0
// reshape: X with other dims.
#include <algorithm>
#include <vector>

#include "operators/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("X with other dims and the same values.")
      .Input("X", "any dims and type")
      .Output("Out", "the dims given; X's levels of detail if it has as many rows")
      .Attr(AttributeSchema("shape", std::vector<int32_t>{},
                            "dims; 0 takes the axis of X, and one -1 what is left")
                .Required()
                .AtLeast(-1))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto& shape = attributes.Get<std::vector<int32_t>>("shape");
        Require(std::count(shape.begin(), shape.end(), -1) <= 1,
                "attribute 'shape' holds more than one -1");
      });
}

// The dims that `shape` means for x. What does not fit is found by LoDTensor::Reshape.
Dims Resolve(const OpContext& context, const LoDTensor& x) {
  const auto& shape = context.Attr<std::vector<int32_t>>("shape");
  Dims dims;
  int64_t known = 1;
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    RequireInput(shape[i] != 0 || i < x.dims().size(), context, "X", "shape takes axis ", i,
                 " from it, which it does not have");
    dims.push_back(shape[i] == 0 ? x.dims()[i] : shape[i]);
    if (shape[i] == -1) {
      open = i;
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      known = 0;
    }
  }
  if (open < shape.size()) {
    if (known == 0 || x.numel() % known != 0) {
      ThrowUnfit(context, "X",
                 StrCat("its values do not make whole rows of dims ", ToString(dims)));
    }
    dims[open] = x.numel() / known;
  }
  return dims;
}

void Run(OpContext& context) {
  const LoDTensor& x = context.In("X");
  const Dims dims = Resolve(context, x);
  if (Product(dims) != x.numel()) {
    ThrowUnfit(context, "X", StrCat("its values do not fit dims ", ToString(dims)));
  }
  LoDTensor* out = context.Out("Out");
  if (out != &x) *out = x;
  out->Reshape(dims);
}

REGISTER_OPERATOR(reshape, Schema, Run);

}  // namespace
}  // namespace millhopper
