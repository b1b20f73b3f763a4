// SPDX-License-Identifier: Apache-2.0
// Fuzzes checkpoints: files as they are, and the parts and the list of one with the right frame and
// checksums, so that what these protect is parsed. A run resumes from what can be read.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "framework/checkpoint/checkpoint.h"
#include "proto/checkpoint.pb.h"
#include "tests/fakes/memory_files.h"
#include "tests/fuzz/framework/checkpoint_target.h"
#include "tests/fuzz/target.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr size_t kMarkBytes = 8;
constexpr size_t kTailBytes = sizeof(uint64_t) + sizeof(uint32_t) + kMarkBytes;

void GoOnFrom(const std::string& file) {
  static const auto* const run = new SavedRun(MakeFuzzedRun());
  const std::string path = run->folder + "/checkpoint-00000001.save";
  WriteFile(path, file);
  Outcome([&] {
    ReadCheckpoint(path);
    RunSteps(*run, -1);
  });
  CHECK(MemoryFiles::Get().open_files() == 0);
}

uint32_t SumOf(const char* bytes, size_t size) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes), size));
}

// The file with checksums that are right wherever its list says that a part lies.
std::string WithRightChecksums(const std::string& file) {
  if (file.size() < kMarkBytes + kTailBytes) return file;
  const std::string content = file.substr(kMarkBytes, file.size() - kMarkBytes - kTailBytes);
  uint64_t size = 0;
  std::memcpy(&size, file.data() + file.size() - kTailBytes, sizeof(size));
  size = std::min<uint64_t>(size, content.size());
  const std::string parts = content.substr(0, content.size() - size);
  std::string list = content.substr(parts.size());
  checkpoint_proto::Manifest manifest;
  if (manifest.ParseFromString(list)) {
    size_t at = 0;
    for (checkpoint_proto::Part& part : *manifest.mutable_parts()) {
      if (part.size() > parts.size() - at) break;
      part.set_checksum(SumOf(parts.data() + at, part.size()));
      at += part.size();
    }
    list = manifest.SerializeAsString();
  }
  size = list.size();
  list.append(reinterpret_cast<const char*>(&size), sizeof(size));
  const uint32_t sum = SumOf(list.data(), list.size());
  list.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  return "mh-save\n" + parts + list + "\nmh-done";
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  millhopper::GoOnFrom(bytes);
  millhopper::GoOnFrom(millhopper::WithRightChecksums(bytes));
  return 0;
}
