// SPDX-License-Identifier: Apache-2.0
// top_k: the k highest values of each row and where they are.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/nn/last_axis.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The k highest values of each row along the last axis, and where they are.")
      .Input("X", "float32 or float64")
      .Output("Out",
              "the values, highest first; equal values in the order of X, NaN above all numbers")
      .Output("Indices", "int64, their places in the row; both with X's levels of detail")
      .Attr(AttributeSchema("k", int32_t{1}, "how many of each row").AtLeast(1))
      .Infer([](InferContext& context) {
        const int64_t k = context.Attr<int32_t>("k");
        TensorSpec top = WithLastAxis(context.In("X"), k);
        const std::optional<Dims>& dims = context.In("X").dims;
        if (dims && !dims->empty() && (*dims)[dims->size() - 1] >= 0 &&
            (*dims)[dims->size() - 1] < k) {
          context.ThrowUnfit("X", StrCat("rows of at least k = ", k, " values are needed"));
        }
        context.SetOut("Out", top);
        top.dtype = DataType::kInt64;
        context.SetOut("Indices", top);
      });
}

// Whether value `a` at place i goes before value `b` at place j.
template <typename T>
bool GoesBefore(T a, int64_t i, T b, int64_t j) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && (!std::isnan(b) || i < j);
  return a > b || (a == b && i < j);
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "X");
  const int64_t k = context.Attr<int32_t>("k");
  RequireInput(k <= shape.length, context, "X", "rows of at least k = ", k, " values are needed");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* out_output = context.Out("Out");
    LoDTensor* indices_output = context.Out("Indices");
    const StableInput x_input(context.In("X"), out_output, indices_output);
    const Dims dims = WithLastAxis(x_input->dims(), k);
    T* out = out_output->Allocate<T>(dims);
    auto* indices = indices_output->Allocate<int64_t>(dims);
    const T* x = x_input->data<T>();
    // A row of a tensor without values may be of any length.
    std::vector<int64_t> places(shape.rows == 0 ? 0 : static_cast<size_t>(shape.length));
    for (int64_t i = 0; i < shape.rows; ++i, x += shape.length) {
      std::iota(places.begin(), places.end(), 0);
      std::partial_sort(
          places.begin(), places.begin() + k, places.end(),
          [x](int64_t left, int64_t right) { return GoesBefore(x[left], left, x[right], right); });
      for (int64_t n = 0; n < k; ++n) {
        *indices++ = places[n];
        *out++ = x[places[n]];
      }
    }
    CopyLod(*x_input, out_output);
    CopyLod(*x_input, indices_output);
  });
}

REGISTER_OPERATOR(top_k, Schema, Run);

}  // namespace
}  // namespace millhopper
