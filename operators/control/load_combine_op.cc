// SPDX-License-Identifier: Apache-2.0
// load_combine: reads several tensors from one file.
#include "operators/control/tensor_file.h"

namespace millhopper {
namespace {

OpSchema LoadCombineSchema() {
  return TensorReaderSchema("Reads the tensors of one file, in the order of the arguments.")
      .Outputs("Out", "as many variables as the file has tensors");
}

REGISTER_OPERATOR(load_combine, LoadCombineSchema, ReadTensors);

}  // namespace
}  // namespace millhopper
