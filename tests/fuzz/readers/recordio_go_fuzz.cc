// SPDX-License-Identifier: Apache-2.0
// Fuzzes RecordIO files of the go dialect.
#include "tests/fuzz/readers/recordio_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::ReadRecordIO(millhopper::RecordIODialect::kGo, data, size);
  return 0;
}
