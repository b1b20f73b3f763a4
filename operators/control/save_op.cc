// SPDX-License-Identifier: Apache-2.0
// save: writes a tensor into its own file.
#include "operators/control/tensor_file.h"

namespace millhopper {
namespace {

OpSchema SaveSchema() {
  return TensorWriterSchema("Writes a tensor into a file.").Input("X", "the tensor, at any place");
}

REGISTER_OPERATOR(save, SaveSchema, WriteTensors);

}  // namespace
}  // namespace millhopper
