// SPDX-License-Identifier: Apache-2.0
// Fuzzes the formats whose records are whole files: such a file is the one record, or an error.
#include <memory>
#include <string>

#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  int found = 0;
  for (const char* tag : {"jpg", "png", "webp"}) {
    const auto format = millhopper::FindFileFormat(tag)->Make({});
    constexpr size_t kMoreBytes = 4096;  // of a page
    const millhopper::FileContent content =
        millhopper::ReadThrough(format.get(), {file->path(), ""}, 10, 2 * size + kMoreBytes);
    CHECK_LE(content.records.size(), 1u);
    CHECK_EQ(content.loaded.size(), content.errors.empty() ? 1u : 0u);
    if (content.loaded.empty()) continue;
    CHECK(content.records[0] == bytes);
    ++found;
  }
  CHECK_LE(found, 1);
  return 0;
}
