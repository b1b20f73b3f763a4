// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers/recordio_mutation.h"

#include <algorithm>
#include <optional>
#include <string>

#include "framework/base/error.h"
#include "tests/fuzz/mutation.h"

namespace millhopper {
namespace {

constexpr size_t kMostExpanded = 4096;

// Calls `visit` for each chunk that the headers describe and replaces its payload by what `visit`
// returns. The last chunk may be cut off by the end of the file.
template <typename Visit>
void ForEachChunk(RecordIODialect dialect, std::string* file, const Visit& visit) {
  size_t at = 0;
  while (file->size() - at >= kRecordIOHeaderBytes) {
    RecordIOHeader header = ReadRecordIOHeader(file->data() + at, dialect);
    const size_t begin = at + kRecordIOHeaderBytes;
    const std::string payload = file->substr(begin, header.payload_bytes);
    at = begin + payload.size();
    const std::string changed = visit(&header, payload);
    WriteRecordIOHeader(header, dialect, file->data() + begin - kRecordIOHeaderBytes);
    if (changed == payload) continue;
    file->replace(begin, payload.size(), changed);
    at = begin + changed.size();
  }
}

std::string WithOtherContent(RecordIODialect dialect, RecordIOCompressor compressor,
                             const std::string& payload) {
  try {
    size_t expanded = 0;
    std::string content = payload;
    if (compressor != RecordIOCompressor::kNone) {
      const Ref<Buffer> buffer =
          ExpandRecordIO(dialect, compressor, payload.data(), payload.size(), &expanded);
      content.assign(buffer->data(), std::min(expanded, kMostExpanded));
    }
    return CompressRecordIO(dialect, compressor, Mutated(content, kMostExpanded));
  } catch (const Error&) {
    return payload;
  }
}

}  // namespace

size_t MutateRecordIO(RecordIODialect dialect, uint8_t* data, size_t size, size_t most,
                      unsigned int seed) {
  const bool inside = seed % 3 == 0;
  const bool repair = seed % 8 != 1;
  if (!inside) size = LLVMFuzzerMutate(data, size, most);
  if (!inside && !repair) return size;
  std::string file(reinterpret_cast<const char*>(data), size);
  unsigned int chunk = 0;
  ForEachChunk(dialect, &file, [&](RecordIOHeader* header, const std::string& payload) {
    const auto compressor = RecordIOCompressorOf(dialect, header->compressor_code);
    std::string changed = payload;
    if (inside && compressor && (seed / 3 + chunk++) % 2 == 0) {
      changed = WithOtherContent(dialect, *compressor, payload);
      header->payload_bytes = static_cast<uint32_t>(changed.size());
    }
    if (repair) header->checksum = RecordIOChecksum(dialect, changed.data(), changed.size());
    return changed;
  });
  return Replace(file, data, size, most);
}

}  // namespace millhopper
