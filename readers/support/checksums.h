// SPDX-License-Identifier: Apache-2.0
// The checksums that formats of records store, computed by ISA-L with the widest instructions that
// the processor has.
#ifndef MILLHOPPER_READERS_SUPPORT_CHECKSUMS_H_
#define MILLHOPPER_READERS_SUPPORT_CHECKSUMS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace millhopper {

// CRC-32 (polynomial 0x04c11db7, reflected), as in gzip, zip and RecordIO; of bytes that follow
// those with the checksum `before`.
uint32_t Crc32(const char* bytes, size_t size, uint32_t before = 0);
// CRC-32C, the Castagnoli checksum (RFC 3720, 12.1) of snappy's framings and of RecordIO's third
// dialect.
uint32_t Crc32c(const char* bytes, size_t size);
// The form that snappy's framings and TFRecord store: masked, so that a checksum over data that
// contains checksums stays useful.
inline uint32_t MaskedCrc32c(const char* bytes, size_t size) {
  const uint32_t crc = Crc32c(bytes, size);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

// Eight hexadecimal digits, as error texts show checksums.
std::string Hex(uint32_t number);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_CHECKSUMS_H_
