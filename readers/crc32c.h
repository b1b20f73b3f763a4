// SPDX-License-Identifier: Apache-2.0
// CRC-32C, the Castagnoli checksum of snappy's framings and of RecordIO's third dialect.
#ifndef MILLHOPPER_READERS_CRC32C_H_
#define MILLHOPPER_READERS_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// The checksum of the bytes, computed with the processor's instruction if it has one.
uint32_t Crc32c(const char* bytes, size_t size);
// The same from a table, on any processor.
uint32_t Crc32cByTable(const char* bytes, size_t size);
// The form that snappy's framings store: masked, so that a checksum over data that contains
// checksums stays useful.
inline uint32_t MaskedCrc32c(const char* bytes, size_t size) {
  const uint32_t crc = Crc32c(bytes, size);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CRC32C_H_
