// SPDX-License-Identifier: Apache-2.0
// reshape: X with other dims.
#include <algorithm>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// Infers what is known of Out. A dim of -1 stays if it cannot be computed before the run.
void InferReshape(InferContext& context) {
  const auto& shape = context.Attr<std::vector<int32_t>>("shape");
  const TensorSpec& x = context.In("X");
  if (shape.size() > kMaxRank) return;
  Dims dims;
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && x.dims && i >= x.dims->size()) {
      context.ThrowUnfit("X", StrCat("shape takes axis ", i, " from it, which it does not have"));
    }
    dims.push_back(shape[i] != 0 ? shape[i] : x.dims ? (*x.dims)[i] : -1);
    if (shape[i] == -1) open = i;
  }
  const std::optional<int64_t> values =
      x.dims ? KnownProduct(*x.dims, 0, x.dims->size()) : std::nullopt;
  if (values && open < shape.size()) {
    const std::optional<int64_t> before = KnownProduct(dims, 0, open);
    const std::optional<int64_t> behind = KnownProduct(dims, open + 1, dims.size());
    int64_t rest = 0;
    if (before && behind && !__builtin_mul_overflow(*before, *behind, &rest)) {
      if (rest == 0 || *values % rest != 0) {
        context.ThrowUnfit("X",
                           StrCat("its values do not make whole rows of dims ", ToString(dims)));
      }
      dims[open] = *values / rest;
    }
  } else if (const std::optional<int64_t> wanted = KnownProduct(dims, 0, dims.size());
             values && wanted && *wanted != *values) {
    context.ThrowUnfit("X", StrCat("its values do not fit dims ", ToString(dims)));
  }
  TensorSpec out{x.dtype, dims, x.lod_level};
  if (x.lod_level != 0 && !(!shape.empty() && shape[0] == 0)) {
    // The levels of detail stay if Out has as many rows as X.
    const bool known =
        x.dims && !x.dims->empty() && (*x.dims)[0] >= 0 && (dims.empty() || dims[0] >= 0);
    if (!known) {
      out.lod_level.reset();
    } else if (dims.empty() || dims[0] != (*x.dims)[0]) {
      out.lod_level = 0;
    }
  }
  context.SetOut("Out", out);
}

OpSchema Schema() {
  return OpSchema("X with other dims and the same values.")
      .Input("X", "any dims and type")
      .Output("Out", "dims as in shape; X's levels of detail if it has as many rows")
      .Attr(AttributeSchema("shape", std::vector<int32_t>{},
                            "dims; a 0 takes the dim of X, and one -1 takes what is left")
                .Required()
                .AtLeast(-1))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto& shape = attributes.Get<std::vector<int32_t>>("shape");
        Require(std::count(shape.begin(), shape.end(), -1) <= 1,
                "attribute 'shape' holds more than one -1");
      })
      .Infer(InferReshape);
}

// The dims that `shape` means for x. The caller checks that x has as many values.
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
