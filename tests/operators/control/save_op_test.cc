// SPDX-License-Identifier: Apache-2.0
// The operator save. F12 is an entry in tests/faults.md.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

void Save(const LoDTensor& tensor, const std::string& path, const AttributeTexts& more = {}) {
  ProgramRunner runner;
  *runner.scope().Var("x")->GetMutable<LoDTensor>() = tensor;
  AttributeTexts attributes = more;
  attributes.emplace_back("file_path", "s: \"" + path + "\"");
  runner.Main(BlockText(
      0, -1,
      {TensorText("x", "FP32", {-1, 2}, 0, true), OpText("save", {{"X", {"x"}}}, {}, attributes)}));
}

TEST(SaveOp, WritesTheBytesOfTheLineage) {
  const std::string path = NewFolder("save") + "/x";
  Save(MakeTensor<float>({1, 2}, {1, 2}), path);
  EXPECT_EQ(ReadFile(path), FromHex("00000000 0000000000000000 00000000 06000000 080510011002"
                                    "0000803f00000040"));
  Save(MakeTensor<int64_t>({3, 1}, {10, 11, 12}, {{0, 2, 3}}), path);
  EXPECT_EQ(ReadFile(path),
            FromHex("00000000 0100000000000000 1800000000000000 0000000000000000 0200000000000000"
                    "0300000000000000 00000000 06000000 080310031001"
                    "0a00000000000000 0b00000000000000 0c00000000000000"));
}

TEST(SaveOp, MakesFoldersAndLeavesNothingElseBehind) {
  const std::string folder = NewFolder("save") + "/a/b";
  Save(MakeTensor<float>({1, 2}, {1, 2}), folder + "/x");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"x"});
}

TEST(SaveOp, OverwritesUnlessToldNotTo) {
  const std::string path = NewFolder("save") + "/x";
  Save(MakeTensor<float>({1, 2}, {1, 2}), path, {{"overwrite", "b: false"}});
  const std::string before = ReadFile(path);
  ExpectError(ErrorCode::kIo, path + ": the file exists and 'overwrite' is false", [&] {
    Save(MakeTensor<float>({1, 2}, {3, 4}), path, {{"overwrite", "b: false"}});
  });
  EXPECT_EQ(ReadFile(path), before);
  Save(MakeTensor<float>({1, 2}, {3, 4}), path);
  EXPECT_NE(ReadFile(path), before);
}

TEST(SaveOp, WritesFloatsInSixteenBits) {
  const std::string path = NewFolder("save") + "/x";
  Save(MakeTensor<float>({1, 2}, {1, -2}), path, {{"save_as_fp16", "b: true"}});
  EXPECT_EQ(ReadFile(path),
            FromHex("00000000 0000000000000000 00000000 06000000 080410011002 003c00c0"));
  Save(MakeTensor<double>({1, 2}, {1, -2}), path, {{"save_as_fp16", "b: true"}});
  EXPECT_EQ(ReadFile(path),
            FromHex("00000000 0000000000000000 00000000 06000000 080410011002 003c00c0"));
  Save(MakeTensor<uint8_t>({1, 2}, {1, 2}), path, {{"save_as_fp16", "b: true"}});
  EXPECT_EQ(ReadFile(path),
            FromHex("00000000 0000000000000000 00000000 06000000 081410011002 0102"));
}

// F12: the folder of the path is a file, or the path is a folder.
TEST(SaveOp, NamesAFileThatCannotBeWritten) {
  const std::string folder = NewFolder("save");
  WriteFile(folder + "/file", "");
  ExpectError(ErrorCode::kIo, folder + "/file/x", [&] {
    Save(MakeTensor<float>({1, 2}, {1, 2}), folder + "/file/x");
  });
  std::filesystem::create_directories(folder + "/folder");
  ExpectError(ErrorCode::kIo, folder + "/folder: cannot write", [&] {
    Save(MakeTensor<float>({1, 2}, {1, 2}), folder + "/folder");
  });
}

// Devices are refused as well; only root can make one (output_file_test.cc).
TEST(SaveOp, WritesRegularFilesOnly) {
  const std::string path = NewFolder("save") + "/x";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(ErrorCode::kIo, path + ": cannot write: it is not a regular file but a named pipe",
              [&] {
                Save(MakeTensor<float>({1, 2}, {1, 2}), path);
              });
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(SaveOp, WritesWhatALinkLeadsTo) {
  const std::string folder = NewFolder("save");
  std::filesystem::create_symlink("x", folder + "/link");
  std::string before;
  for (const float value : {1.0f, 2.0f}) {
    Save(MakeTensor<float>({1, 1}, {value}), folder + "/link");
    EXPECT_NE(ReadFile(folder + "/x"), before);
    before = ReadFile(folder + "/x");
    EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  }
}

TEST(SaveOp, NeverReplacesWhatAReaderReads) {
  const std::string folder = NewFolder("save");
  WriteNumbers(folder, 2, 2);
  std::filesystem::create_hard_link(folder + "/numbers-1.recordio", folder + "/hard");
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  {
    const auto reader = OpenFiles({folder + "/numbers-*.recordio"}, {}, arguments, {});
    for (const char* name : {"/numbers-1.recordio", "/hard"}) {
      ExpectError(ErrorCode::kInvalidArgument, "this process reads the same file as data", [&] {
        Save(MakeTensor<float>({1, 2}, {1, 2}), folder + name);
      });
    }
    EXPECT_EQ(ReadAll(reader.get()).size(), 4u);
  }
  // No reader reads the file any more, so it may be replaced.
  Save(MakeTensor<float>({1, 2}, {1, 2}), folder + "/numbers-1.recordio");
}

TEST(SaveOp, RefusesAnEmptyPath) {
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'file_path' is empty", [] {
    Save(MakeTensor<float>({1, 2}, {1, 2}), "");
  });
}

}  // namespace
}  // namespace millhopper
