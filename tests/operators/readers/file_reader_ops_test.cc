// SPDX-License-Identifier: Apache-2.0
// The operators create_<format>_file_reader.
#include <gtest/gtest.h>

#include <algorithm>

#include "framework/program/operator.h"
#include "framework/reader/file_format.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Create(const std::string& format, const std::string& path,
                   const AttributeTexts& more = {}, const SlotsText& slots = {}) {
  AttributeTexts attributes = {{"filename", "s: \"" + path + "\""}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return BlockText(0, -1,
                   {ReaderText("file", slots), OpText("create_" + format + "_file_reader", {},
                                                      {{"Out", {"file"}}}, attributes)});
}

TEST(FileReaderOps, ThereIsOneForEveryFormat) {
  const std::vector<std::string> types = OperatorTypes();
  for (const std::string& tag : FileFormatTags()) {
    const std::string type = "create_" + tag + "_file_reader";
    EXPECT_EQ(std::count(types.begin(), types.end(), type), 1) << type;
    const OperatorDef* def = FindOperator(type);
    ASSERT_NE(def, nullptr) << type;
    EXPECT_EQ(def, FindOperator(type));
    EXPECT_EQ(def->type, type);
    EXPECT_TRUE(def->schema.creates_reader);
  }
  EXPECT_EQ(FindOperator("create_nothing_file_reader"), nullptr);
  EXPECT_EQ(FindOperator("create__file_reader"), nullptr);
  EXPECT_EQ(FindOperator("create_file_reader"), nullptr);
}

TEST(FileReaderOps, ReadsRecords) {
  const std::string folder = NewFolder("file_reader_ops");
  WriteNumbers(folder, 1, 3);
  ProgramRunner runner;
  const SlotsText slots = {{"FP32", {1, 2}}, {"INT64", {1, 1}}};
  for (const char* prefix : {"", "recordio:"}) {
    runner.Startup(Create("recordio", prefix + folder + "/numbers-0.recordio", {}, slots));
    const std::vector<ElementValue> elements = runner.ReadAllOf("file");
    ASSERT_EQ(elements.size(), 3u);
    EXPECT_EQ(elements[2],
              ValueOf({MakeTensor<float>({1, 2}, {2, -2}), MakeTensor<int64_t>({1, 1}, {2})}));
    EXPECT_EQ(runner.Reader("file").origin(),
              "reader 'file' (create_recordio_file_reader, startup.pbtxt:5)");
  }
}

TEST(FileReaderOps, TakesTheAttributesOfItsFormat) {
  const std::string folder = NewFolder("file_reader_ops");
  WriteNumbers(folder, 1, 3);
  ProgramRunner runner;
  runner.Startup(Create("recordio", folder + "/numbers-0.recordio", {{"content", "s: \"bytes\""}}));
  EXPECT_EQ(runner.ReadAllOf("file").front().size(), 1u);
  runner.ExpectProblem(
      Create("recordio", folder + "/numbers-0.recordio", {{"label_filename", "s: \"x\""}}),
      "no attribute 'label_filename'");
  runner.ExpectProblem(Create("idx", folder + "/x", {{"content", "s: \"bytes\""}}),
                       "no attribute 'content'");
}

TEST(FileReaderOps, PairsAnImageFileWithItsLabels) {
  const TempFile images("images",
                        std::string("\0\0\x08\x03\0\0\0\x01\0\0\0\x01\0\0\0\x01\x05", 17));
  const TempFile labels("labels", std::string("\0\0\x08\x01\0\0\0\x01\x07", 9));
  ProgramRunner runner;
  runner.Startup(Create("idx", images.path()));
  EXPECT_EQ(runner.ReadAllOf("file"),
            std::vector<ElementValue>{ValueOf({MakeTensor<uint8_t>({1, 1, 1}, {5})})});
  runner.Startup(
      Create("idx", images.path(), {{"label_filename", "s: \"" + labels.path() + "\""}}));
  EXPECT_EQ(runner.ReadAllOf("file"),
            std::vector<ElementValue>{
                ValueOf({MakeTensor<uint8_t>({1, 1, 1}, {5}), MakeTensor<int64_t>({1, 1}, {7})})});
}

TEST(FileReaderOps, ReadsNothingWhenAReaderIsCreated) {
  const TempFile garbage("garbage", "no records");
  ProgramRunner runner;
  runner.Startup(Create("recordio", garbage.path(), {}, {{"FP32", {1, 2}}}));
  ExpectError(ErrorCode::kDataLoss, garbage.path() + ": ", [&] { runner.ReadAllOf("file"); });
}

TEST(FileReaderOps, RefusesAFileThatIsMissingOrOfAnotherFormat) {
  ProgramRunner runner;
  const std::string path = TempName("missing");
  ExpectError(ErrorCode::kIo, path, [&] { runner.Startup(Create("text", path)); });
  ExpectError(ErrorCode::kInvalidArgument, "text",
              [&] { runner.Startup(Create("idx", "text:" + path)); });
}

TEST(FileReaderOps, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.ExpectProblem(Create("text", ""), "attribute 'filename' is empty");
  runner.ExpectProblem(
      BlockText(0, -1,
                {ReaderText("file"), OpText("create_text_file_reader", {}, {{"Out", {"file"}}})}),
      "attribute 'filename' is missing");
  runner.ExpectProblem(Create("texd", "x"), "did you mean 'create_text_file_reader'?");
}

}  // namespace
}  // namespace millhopper
