// SPDX-License-Identifier: Apache-2.0
// Fuzzes positions of chains of readers: as they are, and as the content of one with the right
// checksum, from which a chain resumes if it can.
#include <zlib.h>

#include <string>

#include "framework/reader/position.h"
#include "proto/position.pb.h"
#include "tests/fakes/memory_files.h"
#include "tests/fuzz/target.h"
#include "tests/readers/position_chain.h"

namespace millhopper {
namespace {

constexpr int kMostElements = 100;

void GoOnFrom(const std::string& bytes) {
  Outcome([&] {
    const Position position = Position::Parse(bytes);
    position.ToJson();
    // Parts that this version does not know are left out.
    const std::string again = position.Serialize();
    CHECK(Position::Parse(again).Serialize() == again);
    const std::unique_ptr<ReaderBase> reader = MakePositionChain();
    reader->Restore(position);
    std::vector<LoDTensor> element;
    for (int i = 0; i < kMostElements && reader->HasNext(); ++i) reader->ReadNext(&element);
    reader->Save();
  });
  CHECK(MemoryFiles::Get().open_files() == 0);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  millhopper::GoOnFrom(bytes);
  millhopper::position_proto::StoredPosition stored;
  stored.set_version(1);
  stored.set_chain(bytes);
  stored.set_checksum(static_cast<uint32_t>(crc32_z(0, data, size)));
  millhopper::GoOnFrom(stored.SerializeAsString());
  return 0;
}
