// SPDX-License-Identifier: Apache-2.0
// The operator load. F10 is an entry in tests/faults.md.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "framework/base/error.h"
#include "framework/tensor/tensor_stream.h"
#include "tests/bytes.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Load(const std::string& path, const AttributeTexts& more = {}) {
  AttributeTexts attributes = more;
  attributes.emplace_back("file_path", "s: \"" + path + "\"");
  ProgramRunner runner;
  runner.Main(BlockText(
      0, -1, {TensorText("x", "FP32", {-1, 2}), OpText("load", {}, {{"Out", {"x"}}}, attributes)}));
  return runner.Tensor("x");
}

std::string Serialised(const LoDTensor& tensor) {
  std::string bytes;
  AppendTensor(tensor, &bytes);
  return bytes;
}

TEST(LoadOp, ReadsWhatWasSaved) {
  for (const LoDTensor& tensor : {MakeTensor<float>({1, 2}, {1, 2}),
                                  MakeTensor<int64_t>({3, 1}, {1, 2, 3}, {{0, 1, 2}, {0, 2, 3}}),
                                  MakeTensor<bool>({0}, {})}) {
    const TempFile file("x", Serialised(tensor));
    EXPECT_EQ(ValueOf({Load(file.path())}), ValueOf({tensor}));
  }
}

TEST(LoadOp, TurnsFloatsIntoSixteenBits) {
  const TempFile file("x", Serialised(MakeTensor<float>({1, 2}, {1, -2}, {{0, 1}})));
  const LoDTensor half = Load(file.path(), {{"load_as_fp16", "b: true"}});
  EXPECT_EQ(half.dtype(), DataType::kFp16);
  EXPECT_EQ(half.lod(), (Lod{{0, 1}}));
  EXPECT_EQ(static_cast<const uint16_t*>(half.raw_data())[1], 0xc000);
  const TempFile integers("n", Serialised(MakeTensor<int32_t>({1}, {5})));
  EXPECT_EQ(Load(integers.path(), {{"load_as_fp16", "b: true"}}).scalar<int32_t>(), 5);
}

TEST(LoadOp, NamesAFileThatCannotBeRead) {
  const std::string path = TempName("nothing");
  ExpectError(ErrorCode::kIo, path + ": cannot open: No such file or directory",
              [&] { Load(path); });
}

TEST(LoadOp, RefusesEveryTruncation) {
  const std::string bytes = Serialised(MakeTensor<int64_t>({3, 1}, {1, 2, 3}, {{0, 2, 3}}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const TempFile file("x", bytes.substr(0, size));
    ExpectError(ErrorCode::kDataLoss, file.path() + ": ", [&] { Load(file.path()); });
  }
}

// Values have no checksum. So a flipped bit may change a value, but a file is read only if its
// header describes exactly the bytes that follow.
TEST(LoadOp, TakesNoFlippedBitForMoreOrLessThanTheFileHolds) {
  const LoDTensor whole = MakeTensor<int64_t>({3, 1}, {1, 2, 3}, {{0, 2, 3}});
  const std::string bytes = Serialised(whole);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const TempFile file("x", FlipBit(bytes, bit));
    try {
      const LoDTensor tensor = Load(file.path());
      EXPECT_EQ(Serialised(tensor).size(), bytes.size()) << bit;
      EXPECT_EQ(tensor.bytes(), whole.bytes()) << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
      EXPECT_EQ(error.file(), file.path()) << bit;
      EXPECT_NE(std::string(error.what()).find(" byte "), std::string::npos) << error.what();
    }
  }
}

// F10: a process that opens a named pipe without a writer would wait for ever.
TEST(LoadOp, RefusesWhatIsNoFileWithoutWaiting) {
  const std::string pipe = TempName("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ExpectError(ErrorCode::kInvalidArgument, pipe + ": can be read once only", [&] { Load(pipe); });
  for (const std::string& path : {testing::TempDir(), std::string("/dev/zero")}) {
    ExpectError(ErrorCode::kIo, path + ": is not a regular file", [&] { Load(path); });
  }
  ::unlink(pipe.c_str());
}

TEST(LoadOp, RefusesBoolsThatAreNeitherZeroNorOne) {
  std::string bytes = Serialised(MakeTensor<bool>({3}, {true, false, true}));
  const size_t at = bytes.size() - 1;
  bytes[at] = '\7';
  const TempFile file("x", bytes);
  ExpectError(ErrorCode::kDataLoss,
              StrCat("byte ", at, " of a serialised tensor: a bool is 0 or 1, not 7"),
              [&] { Load(file.path()); });
}

TEST(LoadOp, ReadsFilesThatDoNotKnowTheirSize) {
  ExpectError(ErrorCode::kDataLoss, "of a serialised tensor", [&] { Load("/proc/cpuinfo"); });
}

TEST(LoadOp, RefusesBytesBehindTheTensor) {
  const TempFile file("x", Serialised(MakeTensor<float>({1}, {1})) + "abc");
  ExpectError(ErrorCode::kDataLoss,
              file.path() + ": 3 bytes are left at byte " +
                  std::to_string(Serialised(MakeTensor<float>({1}, {1})).size()) +
                  ", after the 1 tensors that are wanted",
              [&] { Load(file.path()); });
}

}  // namespace
}  // namespace millhopper
