// SPDX-License-Identifier: Apache-2.0
// For operators that fill a tensor with random numbers. Value i depends only on the seeds, the name
// of the output variable, i, and, in a block that is run for every element of a reader, the
// element's pass and sample. So neither other operators of the program nor the number of threads
// change it.
#ifndef MILLHOPPER_OPERATORS_TENSOR_RANDOM_TENSOR_H_
#define MILLHOPPER_OPERATORS_TENSOR_RANDOM_TENSOR_H_

#include <string>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/random.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "operators/tensor/created_tensor.h"

namespace millhopper {

inline OpSchema RandomSchema(std::string doc) {
  return CreationSchema(std::move(doc))
      .Attr({"seed", int32_t{0}, "decides the values together with --seed and the name of Out"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const int32_t dtype = attributes.Get<int32_t>("dtype");
        Require(IsDataType(dtype) && FloatTypes::Has(DataTypeFromNumber(dtype)),
                "attribute 'dtype' is ", dtype, "; it must be 5 (float32) or 6 (float64)");
      });
}

// Out[i] = function(key, i), computed in double.
template <typename Function>
void RunRandom(OpContext& context, Function function) {
  RandomKey key(context.run().seed, static_cast<uint64_t>(context.Attr<int32_t>("seed")),
                context.OutVar("Out").name());
  if (context.run().record != nullptr) key = key.Of(*context.run().record);
  LoDTensor* out = AllocateCreated(context);
  const int64_t count = out->numel();
  const auto fill = [&](auto* values) {
    for (int64_t i = 0; i < count; ++i) values[i] = function(key, i);
  };
  if (out->dtype() == DataType::kFp32) {
    fill(out->mutable_data<float>());
  } else {
    fill(out->mutable_data<double>());
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TENSOR_RANDOM_TENSOR_H_
