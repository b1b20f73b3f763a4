// SPDX-License-Identifier: Apache-2.0
// save_combine: writes several tensors into one file.
#include "operators/control/tensor_file.h"

namespace millhopper {
namespace {

OpSchema SaveCombineSchema() {
  return TensorWriterSchema("Writes tensors into one file, in the order of the arguments.")
      .Inputs("X", "the tensors; their names are not written");
}

REGISTER_OPERATOR(save_combine, SaveCombineSchema, WriteTensors);

}  // namespace
}  // namespace millhopper
