// SPDX-License-Identifier: Apache-2.0
#include "tests/files/record_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "framework/base/error.h"
#include "framework/tensor/tensor_stream.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

void AppendU32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) *out += static_cast<char>(value >> shift);
}

}  // namespace

std::string RecordOf(const std::vector<LoDTensor>& tensors) {
  std::string record;
  AppendU32(static_cast<uint32_t>(tensors.size()), &record);
  for (const LoDTensor& tensor : tensors) AppendTensor(tensor, &record);
  return record;
}

std::string ChunkOf(const std::vector<std::string>& records) {
  std::string payload;
  for (const std::string& record : records) {
    AppendU32(static_cast<uint32_t>(record.size()), &payload);
    payload += record;
  }
  std::string chunk;
  AppendU32(0x01020304, &chunk);
  AppendU32(static_cast<uint32_t>(records.size()), &chunk);
  AppendU32(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(payload.data()),
                                        static_cast<uInt>(payload.size()))),
            &chunk);
  AppendU32(0, &chunk);
  AppendU32(static_cast<uint32_t>(payload.size()), &chunk);
  return chunk + payload;
}

std::string NewFolder(const std::string& name) {
  std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void WriteNumbers(const std::string& folder, int shards, int records) {
  for (int k = 0; k < shards; ++k) {
    std::string file;
    for (int i = 0; i < records; i += 2) {
      std::vector<std::string> chunk;
      for (int n = 100 * k + i; n < 100 * k + std::min(i + 2, records); ++n) {
        const auto value = static_cast<float>(n);
        chunk.push_back(RecordOf(
            {MakeTensor<float>({1, 2}, {value, -value}), MakeTensor<int64_t>({1, 1}, {n})}));
      }
      file += ChunkOf(chunk);
    }
    WriteFile(StrCat(folder, "/numbers-", k, ".recordio"), file);
  }
}

}  // namespace millhopper
