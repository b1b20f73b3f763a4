// SPDX-License-Identifier: Apache-2.0
// Changes to RecordIO files that get past their checksums and into compressed payloads.
#ifndef MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_MUTATION_H_
#define MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_MUTATION_H_

#include <cstddef>
#include <cstdint>

#include "readers/formats/recordio/recordio_chunk.h"

namespace millhopper {

// Does what LLVMFuzzerCustomMutator must do, for this dialect.
size_t MutateRecordIO(RecordIODialect dialect, uint8_t* data, size_t size, size_t most,
                      unsigned int seed);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_READERS_RECORDIO_MUTATION_H_
