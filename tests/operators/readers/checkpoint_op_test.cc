// SPDX-License-Identifier: Apache-2.0
// The operators checkpoint and restore: a loop that saves itself and is resumed in another scope.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "framework/io/file.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Startup(const std::string& folder) {
  return BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("shuffled"),
       ReaderText("data"), TensorText("w", "FP32", {1}, 0, true),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", folder, "/numbers-*.recordio\"")}}),
       OpText("create_shuffle_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"shuffled"}}},
              {{"buffer_size", "i: 5"}}),
       OpText("create_double_buffer_reader", {{"UnderlyingReader", {"shuffled"}}},
              {{"Out", {"data"}}}),
       FillText("w", "FP32", 1)});
}

std::string Path(const std::string& path) { return StrCat("s: \"", path, "\""); }

// Resumes from the file, if it is there; reads to the end, but `steps` elements at most, and saves
// after each.
std::string Main(const std::string& path, int steps, const AttributeTexts& more = {}) {
  AttributeTexts attributes = more;
  attributes.emplace_back("file_path", Path(path));
  const std::string compare =
      OpText("less_than", {{"X", {"step"}}, {"Y", {"limit"}}}, {{"Out", {"few"}}});
  const std::string has_next = OpText("has_next", {{"Reader", {"data"}}}, {{"Out", {"has"}}});
  const std::string both =
      OpText("logical_and", {{"X", {"few"}}, {"Y", {"has"}}}, {{"Out", {"more"}}});
  return BlockText(0, -1,
                   {TensorText("step", "INT64", {1}), TensorText("limit", "INT64", {1}),
                    TensorText("few", "BOOL", {1}), TensorText("has", "BOOL", {1}),
                    TensorText("more", "BOOL", {1}), TensorText("found", "BOOL", {1}),
                    FillText("step", "INT64", 0), FillText("limit", "INT64", steps),
                    OpText("restore", {{"Readers", {"data"}}},
                           {{"Out", {"w"}}, {"Found", {"found"}}}, attributes),
                    compare, has_next, both,
                    OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", "block_idx: 1"}}),
                    OpText("print", {{"In", {"w"}}}, {})}) +
         BlockText(1, 0,
                   {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}),
                    OpText("read", {{"Reader", {"data"}}}, {{"Out", {"x", "y"}}}),
                    OpText("print", {{"In", {"y"}}}, {}),
                    OpText("scale", {{"X", {"w"}}}, {{"Out", {"w"}}},
                           {{"scale", "f: 1.25"}, {"bias", "f: 1"}}),
                    OpText("increment", {{"X", {"step"}}}, {{"Out", {"step"}}}),
                    OpText("checkpoint", {{"X", {"w"}}, {"Readers", {"data"}}}, {},
                           {{"file_path", Path(path)}}),
                    compare, has_next, both});
}

class CheckpointOpTest : public testing::Test {
 protected:
  CheckpointOpTest() { WriteNumbers(folder_, 2, 6); }

  const std::string folder_ = NewFolder("data");
  const std::string path_ = folder_ + "/saved";
};

TEST_F(CheckpointOpTest, ALoopGoesOnInAnotherScope) {
  ProgramRunner whole;
  whole.Startup(Startup(folder_));
  whole.Main(Main(folder_ + "/other", 100));
  std::string lines;
  for (int run = 0; run < 4; ++run) {
    ProgramRunner part;
    part.Startup(Startup(folder_));
    part.Main(Main(path_, 3));
    EXPECT_EQ(part.Tensor("found").scalar<bool>(), run > 0);
    std::string printed = part.printed();
    if (run < 3) printed.erase(printed.rfind("w: "));
    lines += printed;
  }
  EXPECT_EQ(lines, whole.printed());
}

TEST_F(CheckpointOpTest, SaysWhatIsMissingOrDiffers) {
  const auto run = [&](const std::string& main) {
    ProgramRunner runner;
    runner.Startup(Startup(folder_));
    runner.Main(main);
  };
  ExpectError(ErrorCode::kIo, path_, [&] { run(Main(path_, 1, {{"required", "b: true"}})); });
  run(Main(path_, 1));
  const std::string words = "while restoring checkpoint " + path_;
  const AttributeTexts file = {{"file_path", Path(path_)}};
  ExpectError(ErrorCode::kInvalidArgument, "the checkpoint has no tensor 'v'", [&] {
    run(BlockText(0, -1,
                  {TensorText("v", "FP32", {1}),
                   OpText("restore", {{"Readers", {"data"}}}, {{"Out", {"v"}}}, file)}));
  });
  ExpectError(ErrorCode::kInvalidArgument, "there is one of 'data', which is not here", [&] {
    run(BlockText(0, -1, {OpText("restore", {}, {{"Out", {"w"}}}, file)}));
  });
  WriteNumbers(folder_, 2, 7);
  ExpectError(ErrorCode::kInvalidArgument, words, [&] { run(Main(path_, 1)); });
  WriteFile(path_, ReadFile(path_).substr(0, 100));
  ExpectError(ErrorCode::kDataLoss, path_, [&] { run(Main(path_, 1)); });
}

// A file of another file system is found there.
TEST_F(CheckpointOpTest, SavesInOtherFileSystemsAndRestoresFromThem) {
  const std::string remote = "memory:///saved";
  ProgramRunner saves;
  saves.Startup(Startup(folder_));
  saves.Main(Main(remote, 3));
  const std::unique_ptr<const File> file = File::Open(remote);
  std::string saved(file->size(), '\0');
  file->Read(0, saved.data(), saved.size());
  MemoryFiles::Get().Remove(remote);
  const std::string main =
      BlockText(0, -1,
                {TensorText("found", "BOOL", {1}),
                 OpText("restore", {{"Readers", {"data"}}}, {{"Out", {"w"}}, {"Found", {"found"}}},
                        {{"file_path", Path(remote)}})});
  for (const bool found : {false, true}) {
    if (found) MemoryFiles::Get().Write(remote, saved);
    ProgramRunner runner;
    runner.Startup(Startup(folder_));
    runner.Main(main);
    EXPECT_EQ(runner.Tensor("found").scalar<bool>(), found);
  }
  // It begins anew only if there is no file, and not if that cannot be told.
  MemoryFiles::Get().Break(FileTrouble::kFail, 0);
  ProgramRunner runner;
  runner.Startup(Startup(folder_));
  ExpectError(ErrorCode::kIo, remote, [&] { runner.Main(main); });
  MemoryFiles::Get().Mend();
  MemoryFiles::Get().Remove(remote);
}

TEST_F(CheckpointOpTest, AReaderThatCannotBeSavedIsNamedAndNothingIsWritten) {
  ProgramRunner runner;
  runner.Startup(
      BlockText(0, -1,
                {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("data"),
                 OpText("open_files", {}, {{"Out", {"files"}}},
                        {{"file_names", StrCat("strings: \"", folder_, "/numbers-*.recordio\"")}}),
                 OpText("create_window_reader", {{"UnderlyingReader", {"files"}}},
                        {{"Out", {"data"}}}, {{"size", "l: 2"}, {"shift", "l: 1"}})}));
  // The second element of the window is also the first of the next one, so that it is kept.
  const std::string read =
      BlockText(0, -1,
                {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}),
                 OpText("read", {{"Reader", {"data"}}}, {{"Out", {"x", "y"}}}),
                 OpText("checkpoint", {{"Readers", {"data"}}}, {}, {{"file_path", Path(path_)}})});
  ExpectError(ErrorCode::kInvalidArgument, "'data'", [&] { runner.Main(read); });
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace millhopper
