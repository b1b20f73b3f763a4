// SPDX-License-Identifier: Apache-2.0
// load: reads a tensor from its own file.
#include "operators/control/tensor_file.h"

namespace millhopper {
namespace {

OpSchema LoadSchema() {
  return TensorReaderSchema("Reads a tensor from a file.").Output("Out", "the tensor, on the CPU");
}

REGISTER_OPERATOR(load, LoadSchema, ReadTensors);

}  // namespace
}  // namespace millhopper
