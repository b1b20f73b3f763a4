// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of RecordIO's dialects have in common: the input is a whole file.
#ifndef MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "readers/formats/recordio/recordio_chunk.h"

namespace millhopper {

// Reads the file twice as bytes, and as tensors of two kinds of slots. The records must be the same
// each time, also once they are compressed in this dialect and expanded again.
void ReadRecordIO(RecordIODialect dialect, const uint8_t* data, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_TARGET_H_
