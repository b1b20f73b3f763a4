// SPDX-License-Identifier: Apache-2.0
// Files of serialised tensors, for save, load and their combined forms.
#ifndef MILLHOPPER_OPERATORS_CONTROL_TENSOR_FILE_H_
#define MILLHOPPER_OPERATORS_CONTROL_TENSOR_FILE_H_

#include <string>
#include <vector>

#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A schema with the attributes that all writers (file_path, overwrite, save_as_fp16) or all readers
// (file_path, load_as_fp16) take.
OpSchema TensorWriterSchema(const std::string& doc);
OpSchema TensorReaderSchema(const std::string& doc);

// Writes the arguments of parameter X one after another. Missing folders are made. The file appears
// under its name only when it is complete; until then an older file of that name stays intact. Only
// regular files are written, and none that this process reads (framework/io/output_file.h). Throws
// kIo and kInvalidArgument.
void WriteTensors(OpContext& context);
// Reads one tensor for each argument of parameter Out; the file must hold exactly these. Throws
// kIo and kDataLoss with the name of the file, and then leaves the outputs as they were.
void ReadTensors(OpContext& context);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_CONTROL_TENSOR_FILE_H_
