// SPDX-License-Identifier: Apache-2.0
// Fuzzes the files of a cache on a disk: as they are, and with the right key and checksums, so that
// the parser is reached.
#include <algorithm>
#include <memory>
#include <string>

#include "framework/io/file.h"
#include "readers/cache/element_cache_file.h"
#include "tests/files/element_cache_files.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;
const CacheKey kKey = {'f', 'u', 'z', 'z'};

void Read(const std::string& content) {
  static auto* input = new InputFile;
  input->Write(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  std::unique_ptr<ElementCacheFormat> format;
  Outcome([&] { format = ElementCacheFormat::Read(File::Open(input->path()), kKey); });
  if (format == nullptr) return;
  // A chunk is a block, which lies in the file.
  const FileContent read = ReadThrough(format.get(), {input->path(), ""}, kMostRecords,
                                       2 * ((size_t{1} << 20) + content.size()));
  for (const std::string& record : read.records) {
    Ticket ticket;
    ticket.bytes = record.data();
    ticket.size = static_cast<uint32_t>(record.size());
    ElementCacheFormat::IdOf(ticket);
  }
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  millhopper::Read(content);
  const std::string head = "MHCACHE2" + std::string(millhopper::kKey.data(), 16);
  const size_t replaced = std::min(size, head.size());
  millhopper::Read(
      millhopper::WithRightChecksums(head.substr(0, replaced) + content.substr(replaced)));
  return 0;
}
