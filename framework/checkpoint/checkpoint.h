// SPDX-License-Identifier: Apache-2.0
// A checkpoint: tensors and the positions of readers, by name, in one file.
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "framework/io/file.h"
#include "framework/io/output_file.h"
#include "framework/reader/position.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A value: its tensors share their values with those that they were copied from, which is as good
// as a copy, since shared values are never written.
struct Checkpoint {
  // What it was made from, such as the text of a program. A run that resumes from it compares them
  // (CheckSameSetting). Names of files are saved without secrets (framework/io/saved_name.h).
  std::map<std::string, std::string> settings;
  std::map<std::string, uint64_t> numbers;
  std::map<std::string, LoDTensor> tensors;  // on the host, with values
  std::map<std::string, Position> positions;
};

// Writes a file that appears under its name when it is whole and on the disk, or not at all; until
// then an older file of that name stays. Only its owner may read a local one (0600): what a run
// holds may be as private as its data. Throws kIo, and kInvalidArgument for a tensor without values
// or on a device, and kResourceLimit for more names than ReadCheckpoint takes. Any thread.
void WriteCheckpoint(const Checkpoint& checkpoint, const std::string& path, OutputRules rules = {});

// Reads it. Throws kIo if it cannot be read, kDataLoss if it is not what WriteCheckpoint has
// written, whole and unchanged, and kInvalidArgument for a version that this program does not know.
// The file is not trusted: every size is checked before memory is taken, and numbers that only a
// reader or a program can judge are checked where they are used.
Checkpoint ReadCheckpoint(const std::string& path);
// Only its numbers, without the parts.
std::map<std::string, uint64_t> ReadCheckpointNumbers(const std::string& path);

// The same bytes in memory.
std::string SerializeCheckpoint(const Checkpoint& checkpoint);
Checkpoint ParseCheckpoint(std::string_view bytes);

// Whether a file begins as checkpoints do. Throws kIo if it cannot be read.
bool IsCheckpoint(const File& file);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_H_
