// SPDX-License-Identifier: Apache-2.0
// The chunks that RecordIO files are made of, as bytes. A file is a sequence of chunks; a chunk is
// a header of 20 bytes and a payload. All integers are little-endian:
//
//   byte   Fluid order, crc32c   Go order
//      0   magic 01020304        magic 01020304
//      4   number of records     checksum
//      8   checksum              compressor
//     12   compressor            payload bytes
//     16   payload bytes         number of records
//
// The checksum is that of the payload as stored: CRC-32, in the crc32c dialect CRC-32C. Compressors
// are 0 none, 1 snappy, 2 gzip, in the crc32c dialect 1, 2 and 3. Expanded, a payload is for each
// record a u32 length and that many bytes.
//
// Snappy comes in three forms: the crc32c dialect has one plain block. The Go order has the
// official framing. The Fluid order has an older one: "snappy\0", then blocks of a flag byte (1
// compressed, 0 plain), u16 big-endian stored bytes, u32 big-endian masked CRC-32C of the expanded
// block, and the data. Both orders read both framings.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_CHUNK_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"

namespace millhopper {

enum class RecordIODialect { kFluid, kGo, kCrc32c };
enum class RecordIOCompressor { kNone, kSnappy, kGzip };

const char* ToString(RecordIODialect dialect);        // "fluid", "go", "crc32c"
const char* ToString(RecordIOCompressor compressor);  // "none", "snappy", "gzip"
// Both throw kInvalidArgument for any other name.
RecordIODialect RecordIODialectFromName(const std::string& name);
RecordIOCompressor RecordIOCompressorFromName(const std::string& name);

constexpr size_t kRecordIOHeaderBytes = 20;

// True if a chunk can begin with these bytes.
bool HasRecordIOMagic(const char* bytes, size_t size);

// The fields of a header after the magic number, as they are stored.
struct RecordIOHeader {
  uint32_t records = 0;
  uint32_t checksum = 0;
  uint32_t compressor_code = 0;
  uint32_t payload_bytes = 0;
};

// Cuts a header of 20 bytes into its fields, and puts one together.
RecordIOHeader ReadRecordIOHeader(const char* bytes, RecordIODialect dialect);
void WriteRecordIOHeader(const RecordIOHeader& header, RecordIODialect dialect, char* bytes);

uint32_t RecordIOCompressorCode(RecordIODialect dialect, RecordIOCompressor compressor);
// Nothing if the dialect does not know the code.
std::optional<RecordIOCompressor> RecordIOCompressorOf(RecordIODialect dialect, uint32_t code);

uint32_t RecordIOChecksum(RecordIODialect dialect, const char* payload, size_t size);

// Compresses a payload, and undoes it (not for kNone, where there is nothing to do). Sizes that the
// payload declares are checked before memory is taken. Throw kDataLoss for a damaged payload and
// kResourceLimit for one that is larger than kMaxExpandedChunkBytes; texts say what is wrong, but
// not in which chunk. Any thread.
std::string CompressRecordIO(RecordIODialect dialect, RecordIOCompressor compressor,
                             const std::string& payload);
Ref<Buffer> ExpandRecordIO(RecordIODialect dialect, RecordIOCompressor compressor,
                           const char* payload, size_t size, size_t* expanded);

// Appends the records of an expanded payload that begins at `first` in its chunk's bytes. Demands
// that they are as many as the header says and fill the payload exactly; throws kDataLoss, with the
// records before the damaged place listed.
void ListRecords(const char* payload, size_t size, uint32_t first, uint32_t records,
                 PooledVector<Piece>* pieces);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_CHUNK_H_
