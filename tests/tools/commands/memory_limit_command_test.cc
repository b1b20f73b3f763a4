// SPDX-License-Identifier: Apache-2.0
// --memory_limit, as users set it: records from 100 bytes to 20 MB, most of them small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "readers/formats/recordio/recordio_writer.h"
#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kFiles[] =
    "vars { name: 'files' persistable: true type { type: READER reader {\n"
    "  lod_tensor { tensor { data_type: UINT8 dims: -1 } lod_level: 1 } } } }\n";

const std::string kChain = BlockText(
    0, -1,
    {kFiles,
     OpText("open_files", {}, {{"Out", {"files"}}},
            {{"file_names", "strings: '${folder}/*.recordio'"}}),
     CreatedReaderText("shuffled", "create_shuffle_reader", {"files"}, {{"buffer_size", "i: 24"}}),
     CreatedReaderText("batches", "create_batch_reader", {"shuffled"}, {{"batch_size", "i: 4"}}),
     CreatedReaderText("ahead", "create_double_buffer_reader", {"batches"}, {{"depth", "i: 6"}})});

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

std::vector<std::string> Peek(const std::string& folder, const std::string& limit,
                              const std::string& threads = "3") {
  const std::string program = folder + "/startup.pbtxt";
  WriteFile(program, kChain);
  return {"tools/peek",
          "--startup=" + program,
          "--reader=ahead",
          "--digest",
          "--set=folder=" + folder,
          "--threads=" + threads,
          "--memory_limit=" + limit};
}

// The limit that the error advises, or "".
std::string AdvisedLimit(const std::string& errors) {
  const std::string words = "; raise the limit to ";
  const size_t begin = errors.find(words);
  if (begin == std::string::npos) return "";
  return errors.substr(begin + words.size(), errors.find(',', begin) - begin - words.size());
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
  // How far the first run read ahead varies, so the size of the files is checked, not its memory.
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

// A run under a limit prints the same digest as a run without one, or a beginning of it and an
// error that advises a limit. A limit that is enough without workers is enough with any number of
// them.
TEST_F(MemoryLimitCommandTest, ALimitChangesNothingButWhetherThereIsAnError) {
  const std::string all = RunChild(Peek(folder_, "4GB")).output;
  int fits = 0;
  int fails = 0;
  for (const char* limit : {"10MB", "30MB", "50MB", "70MB", "90MB", "120MB"}) {
    bool fits_alone = false;
    for (const char* threads : {"0", "1", "3", "7"}) {
      SCOPED_TRACE(StrCat(limit, ", ", threads, " threads"));
      const ChildResult result = RunChild(Peek(folder_, limit, threads));
      if (result.exit_code == 0) {
        EXPECT_EQ(result.output, all);
        fits_alone = fits_alone || *threads == '0';
        ++fits;
        continue;
      }
      ++fails;
      EXPECT_EQ(result.exit_code, 5);
      EXPECT_FALSE(fits_alone) << result.errors;
      EXPECT_EQ(result.output, all.substr(0, result.output.size()));
      EXPECT_NE(AdvisedLimit(result.errors), "") << result.errors;
    }
  }
  EXPECT_GT(fits, 0);
  EXPECT_GT(fails, 0);
}

// All lines have one size. So a limit that is too low fails at the first batch, and the limit that
// the error advises is enough.
TEST_F(MemoryLimitCommandTest, WhatIsAdvisedIsEnough) {
  const std::string folder = NewFolder("lines");
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += std::string(1000000, static_cast<char>('a' + i % 26)) + "\n";
  WriteFile(folder + "/lines.txt", lines);
  for (const char* limit : {"4MB", "8MB", "16MB", "24MB"}) {
    for (const char* threads : {"0", "3"}) {
      SCOPED_TRACE(StrCat(limit, ", ", threads, " threads"));
      std::vector<std::string> command = Peek(folder, limit, threads);
      std::string program = kChain;
      program.replace(program.find("*.recordio"), 10, "lines.txt");
      WriteFile(folder + "/startup.pbtxt", program);
      const ChildResult result = RunChild(command);
      ASSERT_EQ(result.exit_code, 5) << result.errors;
      EXPECT_EQ(result.output, "");
      command.back() = "--memory_limit=" + AdvisedLimit(result.errors);
      const ChildResult advised = RunChild(command);
      EXPECT_EQ(advised.exit_code, 0) << command.back() << advised.errors;
    }
  }
}

TEST_F(MemoryLimitCommandTest, ThePlanOfABatchCounts) {
  const std::string program = folder_ + "/plan.pbtxt";
  WriteFile(program, BlockText(0, -1,
                               {CreatedReaderText("numbers", "create_random_data_generator", {}, {},
                                                  {{"FP32", {1}}}),
                                CreatedReaderText("batches", "create_batch_reader", {"numbers"},
                                                  {{"batch_size", "i: 40000000"}})}));
  const ChildResult result =
      RunChild({"tools/peek", "--startup=" + program, "--digest", "--memory_limit=16MB"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.output, "");
  EXPECT_NE(result.errors.find("reader 'batches' (create_batch_reader"), std::string::npos)
      << result.errors;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(result.most_resident_bytes, 500e6);  // 3.1 GB if the plan were not counted
#endif
}

// A thread that starts or a reader may run into the system's own limit (ulimit -v). The error names
// what there was no memory for.
TEST_F(MemoryLimitCommandTest, WhereTheSystemHasNoMemoryTheErrorSaysForWhat) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs all of the address space";
#endif
  const std::string all = RunChild(Peek(folder_, "4GB")).output;
  size_t errors = 0;
  for (size_t megabytes = 50; megabytes < 110; megabytes += 4) {
    for (const char* threads : {"2", "4"}) {
      SCOPED_TRACE(StrCat(megabytes, " MB, ", threads, " threads"));
      std::vector<std::string> command = {"/usr/bin/prlimit", StrCat("--as=", megabytes << 20)};
      for (const std::string& word : Peek(folder_, "4GB", threads)) command.push_back(word);
      const ChildResult result = RunChild(command);
      EXPECT_EQ(result.output, all.substr(0, result.output.size()));
      if (result.exit_code == 0) continue;
      EXPECT_EQ(result.exit_code, 5) << result.errors;
      // A thread that starts takes 64 MB of addresses for a moment, so that the command may have
      // none for what it needs before it reads.
      if (result.output.empty() && result.errors == "error: out of memory\n") continue;
      ++errors;
      EXPECT_NE(result.errors.find("reader '"), std::string::npos) << result.errors;
    }
  }
  EXPECT_GT(errors, 0u);
}

TEST_F(MemoryLimitCommandTest, LimitsThatAreNoneAreRefused) {
  for (const char* limit : {"-1", "much", "1kB"}) {
    const ChildResult result = RunChild(Peek(folder_, limit));
    EXPECT_EQ(result.exit_code, 2) << limit;
    EXPECT_NE(result.errors.find("limit"), std::string::npos) << result.errors;
  }
}

}  // namespace
}  // namespace millhopper
