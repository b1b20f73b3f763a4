// SPDX-License-Identifier: Apache-2.0
// The operators that make a tensor from the attributes `shape` and `dtype`: -> Out.
#ifndef MILLHOPPER_OPERATORS_CREATED_TENSOR_H_
#define MILLHOPPER_OPERATORS_CREATED_TENSOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operators/type_dispatch.h"

namespace millhopper {

inline OpSchema CreationSchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Output("Out", "the tensor made")
      .Attr(AttributeSchema("shape", std::vector<int32_t>{}, "dims of Out").Required().AtLeast(0))
      .Attr({"dtype", static_cast<int32_t>(DataType::kFp32),
             "type of Out as framework.proto numbers it; 5 is float32"});
}

// Out with its type and dims; the values are still to be written.
inline LoDTensor* AllocateCreated(OpContext& context) {
  Dims dims;
  for (const int32_t dim : context.Attr<std::vector<int32_t>>("shape")) dims.push_back(dim);
  LoDTensor* out = context.Out("Out");
  out->Allocate(DataTypeFromNumber(context.Attr<int32_t>("dtype")), dims);
  return out;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_CREATED_TENSOR_H_
