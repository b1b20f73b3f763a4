// SPDX-License-Identifier: Apache-2.0
// --memory_limit, as a user meets it: records from 100 bytes to 20 MB, most of them small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "readers/recordio_writer.h"
#include "tests/child.h"
#include "tests/record_files.h"
#include "tests/testing.h"

namespace millrace {
namespace {

constexpr char kChain[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars {
    name: "files"
    persistable: true
    type { type: READER reader { lod_tensor { tensor { data_type: UINT8 dims: -1 } lod_level: 1 } } }
  }
  vars { name: "shuffled" persistable: true type { type: READER } }
  vars { name: "batches" persistable: true type { type: READER } }
  vars { name: "ahead" persistable: true type { type: READER } }
  ops {
    type: "open_files"
    outputs { parameter: "Out" arguments: "files" }
    attrs { name: "file_names" strings: "${folder}/*.recordio" }
  }
  ops {
    type: "create_shuffle_reader"
    inputs { parameter: "UnderlyingReader" arguments: "files" }
    outputs { parameter: "Out" arguments: "shuffled" }
    attrs { name: "buffer_size" i: 24 }
  }
  ops {
    type: "create_batch_reader"
    inputs { parameter: "UnderlyingReader" arguments: "shuffled" }
    outputs { parameter: "Out" arguments: "batches" }
    attrs { name: "batch_size" i: 4 }
  }
  ops {
    type: "create_double_buffer_reader"
    inputs { parameter: "UnderlyingReader" arguments: "batches" }
    outputs { parameter: "Out" arguments: "ahead" }
    attrs { name: "depth" i: 6 }
  }
}
)";

// Sizes whose distribution has a heavy tail, the same in every run.
size_t SizeOfRecord(uint32_t i) {
  const double uniform = ((i * 2654435761u) % 100003 + 1) / 100004.0;
  return static_cast<size_t>(std::min(20e6, 100 * std::pow(uniform, -2.3)));
}

void WriteRecords(const std::string& folder) {
  uint32_t record = 0;
  for (int shard = 0; shard < 4; ++shard) {
    RecordIOWriter writer(folder + "/heavy-" + std::to_string(shard) + ".recordio", {});
    for (int i = 0; i < 300; ++i, ++record) {
      const size_t size = SizeOfRecord(record);
      writer.Write(RecordOf({MakeTensor<uint8_t>(
          {static_cast<int64_t>(size)}, std::vector<uint8_t>(size, static_cast<uint8_t>(record)),
          {{0, size}})}));
    }
    writer.Close();
  }
}

std::vector<std::string> Peek(const std::string& folder, const std::string& limit) {
  const std::string program = folder + "/startup.pbtxt";
  WriteFile(program, kChain);
  return {"tools/peek",
          "--startup=" + program,
          "--reader=ahead",
          "--digest",
          "--set=folder=" + folder,
          "--threads=3",
          "--memory_limit=" + limit};
}

class MemoryLimitCommandTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = NewFolder("heavy");
    WriteRecords(folder_);
  }
  static std::string folder_;
};
std::string MemoryLimitCommandTest::folder_;

TEST_F(MemoryLimitCommandTest, LessMemoryGivesTheSameBytes) {
  const ChildResult all = RunChild(Peek(folder_, "4GB"));
  ASSERT_EQ(all.exit_code, 0) << all.errors;
  const ChildResult less = RunChild(Peek(folder_, "130MB"));
  EXPECT_EQ(less.exit_code, 0) << less.errors;
  EXPECT_EQ(less.output, all.output);
  // How far the first run came to read ahead is a matter of luck; what there is to read is not.
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) bytes += file.file_size();
  ASSERT_GT(bytes, 130e6 + 64e6) << "too small to show anything";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(less.most_resident_bytes, 130e6 + 64e6);
#endif
}

TEST_F(MemoryLimitCommandTest, TooLittleIsSaidAtTheFirstRead) {
  const ChildResult result = RunChild(Peek(folder_, "12MB"));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.output, "");
  EXPECT_NE(result.errors.find("the memory limit of 12.0 MB is reached: reader '"),
            std::string::npos)
      << result.errors;
}

TEST_F(MemoryLimitCommandTest, LimitsThatAreNoneAreRefused) {
  for (const char* limit : {"-1", "much", "1kB"}) {
    const ChildResult result = RunChild(Peek(folder_, limit));
    EXPECT_EQ(result.exit_code, 2) << limit;
    EXPECT_NE(result.errors.find("limit"), std::string::npos) << result.errors;
  }
}

}  // namespace
}  // namespace millrace
