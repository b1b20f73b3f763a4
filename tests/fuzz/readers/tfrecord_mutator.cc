// SPDX-License-Identifier: Apache-2.0
// Changes TFRecord files, mostly with right checksums.
#include <algorithm>
#include <cstring>
#include <string>

#include "readers/support/checksums.h"
#include "tests/fuzz/mutation.h"

namespace millhopper {
namespace {

void WriteChecksum(const char* bytes, size_t size, char* out) {
  const uint32_t checksum = MaskedCrc32c(bytes, size);
  std::memcpy(out, &checksum, sizeof(checksum));
}

// Gives all frames that the lengths describe their right checksums.
void Repair(std::string* file) {
  for (size_t at = 0; file->size() - at >= 12;) {
    char* const frame = file->data() + at;
    uint64_t length;
    std::memcpy(&length, frame, sizeof(length));
    WriteChecksum(frame, sizeof(length), frame + sizeof(length));
    const size_t left = file->size() - at - 12;
    if (left < 4 || length > left - 4) return;
    WriteChecksum(frame + 12, length, frame + 12 + length);
    at += length + 16;
  }
}

}  // namespace
}  // namespace millhopper

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 4 == 0) return size;
  std::string file(reinterpret_cast<const char*>(data), size);
  millhopper::Repair(&file);
  return millhopper::Replace(file, data, size, most);
}
