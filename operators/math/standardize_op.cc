// SPDX-License-Identifier: Apache-2.0
// standardize: columns of numbers with mean 0 and standard deviation 1, by statistics that are
// given.
// Source: sklearn.preprocessing.StandardScaler; keras.layers.Normalization.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
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
using List = std::vector<double>;

constexpr int64_t kNotATime = std::numeric_limits<int64_t>::min();

OpSchema Schema() {
  return OpSchema(
             "(X - mean) / std, value by value, computed in float64: with the mean and the "
             "standard deviation of a column over all records, which Reader.statistics of Python "
             "finds, its values have mean 0 and standard deviation 1. A std of 0, of a column that "
             "is the same everywhere, counts as 1. NaN stays NaN, and so does what stands for no "
             "date or time, numpy's NaT (the least int64), and a row that Valid says has no value.")
      .Input("X", "numbers of " + Numbers::Names() + ", [n] or [n, ...]")
      .OptionalInput("Valid", "bool, one for each row of X: where it is false, there is no value")
      .Output("Out", "float32, dims and levels of detail of X")
      .Attr(AttributeSchema("mean", List(), "one for all values, or one for each value of a row")
                .Required())
      .Attr(AttributeSchema("std", List(), "as mean; not below 0").Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto& means = attributes.Get<List>("mean");
        const auto& deviations = attributes.Get<List>("std");
        Require(!means.empty() && means.size() == deviations.size(), "attributes 'mean' and 'std' ",
                "have ", means.size(), " and ", deviations.size(),
                " values; they have equally many, one at least");
        for (const double deviation : deviations) {
          Require(deviation >= 0, "attribute 'std' has ", deviation, "; it must not be below 0");
        }
      })
      .Infer(Like("Out", "X", DataType::kFp32));
}

void Run(OpContext& context) {
  const auto& means = context.Attr<List>("mean");
  const auto& deviations = context.Attr<List>("std");
  LoDTensor* const out = context.Out("Out");
  const StableInput x(context.In("X"), out);
  const NullRows nulls(context, *x, out);
  const auto columns = static_cast<int64_t>(means.size());
  const int64_t rows = static_cast<int64_t>(x->rows());
  RequireInput(columns == 1 || x->numel() == rows * columns, context, "X", "'mean' has ", columns,
               " values, one for each value of a row");
  List factors;
  for (const double deviation : deviations) factors.push_back(deviation == 0 ? 1 : deviation);
  const auto number = [](auto value) {
    if constexpr (std::is_same_v<decltype(value), int64_t>) {
      if (value == kNotATime) return std::numeric_limits<double>::quiet_NaN();
    }
    return static_cast<double>(value);
  };
  DispatchType(Numbers(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    float* const results = out->Allocate<float>(x->dims());
    const T* const values = x->data<T>();
    const int64_t count = x->numel();
    size_t column = 0;
    for (int64_t i = 0; i < count; ++i) {
      results[i] = static_cast<float>((number(values[i]) - means[column]) / factors[column]);
      if (++column == means.size()) column = 0;
    }
    nulls.Fill(results, std::numeric_limits<float>::quiet_NaN());
  });
  CopyLod(*x, out);
}

REGISTER_OPERATOR(standardize, Schema, Run);

}  // namespace
}  // namespace millhopper
