// SPDX-License-Identifier: Apache-2.0
// For the operators that create a tensor from the attributes `shape` and `dtype`: -> Out.
#ifndef MILLHOPPER_OPERATORS_TENSOR_CREATED_TENSOR_H_
#define MILLHOPPER_OPERATORS_TENSOR_CREATED_TENSOR_H_

#include <string>

#include "operators/support/arguments.h"

namespace millhopper {

OpSchema CreationSchema(std::string doc);

// Returns Out with its type and dims; the caller has to write its values.
LoDTensor* AllocateCreated(OpContext& context);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TENSOR_CREATED_TENSOR_H_
