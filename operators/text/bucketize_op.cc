// SPDX-License-Identifier: Apache-2.0
// bucketize: numbers become the numbers of the intervals that they lie in.
// Source: numpy.digitize with right=False.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "operators/support/arguments.h"
#include "operators/support/null_rows.h"

namespace millhopper {
namespace {

using Numbers = Types<float, double, int32_t, int64_t, uint8_t, int8_t, int16_t>;

OpSchema Schema() {
  return OpSchema(
             "Numbers become the numbers of the intervals that they lie in, as with "
             "numpy.digitize: "
             "how many boundaries are at most the number.")
      .Input("X", "numbers of " + Numbers::Names())
      .OptionalInput("Valid", "bool, one for each row of X: where it is false, there is no value")
      .Output("Out",
              "int64, dims and levels of detail of X: 0 below the first boundary, i from boundary "
              "i - 1 on and below boundary i, their count from the last one on; and `null` for NaN "
              "and where there is no value")
      .Attr(
          AttributeSchema("boundaries", std::vector<double>(),
                          "in ascending order; they are compared as float64, with the integers of "
                          "X exactly")
              .Required())
      .Attr(AttributeSchema("null", int64_t{},
                            "what NaN and no value become; if it is not given, the number from the "
                            "last boundary on, as with numpy.digitize")
                .Optional())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto& boundaries = attributes.Get<std::vector<double>>("boundaries");
        for (size_t i = 0; i < boundaries.size(); ++i) {
          Require(!std::isnan(boundaries[i]), "attribute 'boundaries': number ", i, " is NaN");
          Require(i == 0 || boundaries[i - 1] <= boundaries[i], "attribute 'boundaries': number ",
                  i, ", ", boundaries[i], ", is below the one before it, ", boundaries[i - 1]);
        }
      })
      .Infer(Like("Out", "X", DataType::kInt64));
}

void Run(OpContext& context) {
  const auto& boundaries = context.Attr<std::vector<double>>("boundaries");
  LoDTensor* const out = context.Out("Out");
  const StableInput x(context.In("X"), out);
  const NullRows nulls(context, *x, out);
  const int64_t null = context.IsGiven("null") ? context.Attr<int64_t>("null")
                                               : static_cast<int64_t>(boundaries.size());
  DispatchType(Numbers(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    // A long double holds every int64 and every double.
    using Wide = std::conditional_t<std::is_same_v<T, int64_t>, long double, double>;
    auto* const numbers = out->Allocate<int64_t>(x->dims());
    const T* const values = x->data<T>();
    for (int64_t i = 0; i < x->numel(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(values[i])) {
          numbers[i] = null;
          continue;
        }
      }
      const auto above = std::upper_bound(boundaries.begin(), boundaries.end(),
                                          static_cast<Wide>(values[i]), std::less<Wide>());
      numbers[i] = above - boundaries.begin();
    }
    nulls.Fill(numbers, null);
  });
  CopyLod(*x, out);
}

REGISTER_OPERATOR(bucketize, Schema, Run);

}  // namespace
}  // namespace millhopper
