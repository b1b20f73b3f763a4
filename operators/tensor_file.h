// SPDX-License-Identifier: Apache-2.0
// Files of serialised tensors, for save, load and their combined forms.
#ifndef MILLHOPPER_OPERATORS_TENSOR_FILE_H_
#define MILLHOPPER_OPERATORS_TENSOR_FILE_H_

#include <string>
#include <vector>

#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A schema with what all writers (file_path, overwrite, save_as_fp16) or readers (file_path,
// load_as_fp16) take.
OpSchema TensorWriterSchema(const std::string& doc);
OpSchema TensorReaderSchema(const std::string& doc);

// Writes the arguments of parameter X one behind another. Folders are made as needed. The file
// appears under its name only when it is complete; one that was there stays whole until then. Only
// regular files are written, and none that the process reads (framework/io/output_file.h). Throws
// kIo and kInvalidArgument.
void WriteTensors(OpContext& context);
// Reads as many tensors as parameter Out has arguments, which must be all that the file has. Throws
// kIo and kDataLoss naming the file, and then leaves the outputs as they were.
void ReadTensors(OpContext& context);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TENSOR_FILE_H_
