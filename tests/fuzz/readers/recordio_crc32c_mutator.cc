// SPDX-License-Identifier: Apache-2.0
// Changes RecordIO files of the crc32c dialect.
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/readers/recordio_mutation.h"

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  return millhopper::MutateRecordIO(millhopper::RecordIODialect::kCrc32c, data, size, most, seed);
}
