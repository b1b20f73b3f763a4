// SPDX-License-Identifier: Apache-2.0
// Fuzzes RecordIO files of the fluid dialect.
#include "tests/fuzz/readers/recordio_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::ReadRecordIO(millhopper::RecordIODialect::kFluid, data, size);
  return 0;
}
