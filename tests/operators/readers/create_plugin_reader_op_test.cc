// SPDX-License-Identifier: Apache-2.0
// The operator create_plugin_reader.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/plugin.h"
#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Startup(const std::string& parser, const std::string& names,
                    const AttributeTexts& more = {}, const SlotsText& slots = {}) {
  AttributeTexts attributes = {{"file_names", names}};
  if (!parser.empty()) attributes.emplace_back("parser", "s: \"" + parser + "\"");
  attributes.insert(attributes.end(), more.begin(), more.end());
  return BlockText(0, -1,
                   {ReaderText("scores", slots),
                    OpText("create_plugin_reader", {}, {{"Out", {"scores"}}}, attributes)});
}

class CreatePluginReaderOp : public testing::Test {
 protected:
  CreatePluginReaderOp() { LoadPlugin(parser_); }

  std::vector<int64_t> Labels(const std::string& startup) {
    ProgramRunner runner;
    runner.Startup(startup);
    std::vector<int64_t> labels;
    const std::unique_ptr<ReaderBase> reader = runner.Reader("scores").NewHandle();
    std::vector<LoDTensor> element;
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      labels.push_back(element[0].scalar<int64_t>());
    }
    return labels;
  }

  const std::string parser_ = Runfile("tests/libscores.so");
  const TempFile first_{"first.txt", "1 0.5\n2\n3\n"}, second_{"second.log", "10\n20 1 2"};
  const std::string both_ =
      "strings: \"" + first_.path() + "\" strings: \"text:" + second_.path() + "\"";
  const std::string log_ = "strings: \"" + second_.path() + "\"";
};

TEST_F(CreatePluginReaderOp, ReadsFilesInTurn) {
  const std::vector<int64_t> labels = {1, 10, 2, 20, 3};
  EXPECT_EQ(Labels(Startup(parser_, both_)), labels);
  EXPECT_EQ(Labels(Startup(
                parser_, both_,
                {{"buffer_size", "i: 1"}, {"buffer_type", "s: \"mmap\""}, {"thread_num", "i: 3"}})),
            labels);
}

TEST_F(CreatePluginReaderOp, RecordsAreLinesUnlessTheNameTellsAFormat) {
  EXPECT_EQ(Labels(Startup(parser_, log_)), (std::vector<int64_t>{10, 20}));
}

// RecordIO gives tensors unless it is told to give bytes; here it is told so.
TEST_F(CreatePluginReaderOp, FormatsThatCanGiveBytesDo) {
  const TempFile file("scores.recordio", ChunkOf({"4 1", "5"}));
  const std::string names = "strings: \"" + file.path() + "\"";
  EXPECT_EQ(Labels(Startup(parser_, names)), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(Labels(Startup(parser_, names, {{"content", "s: \"bytes\""}})),
            (std::vector<int64_t>{4, 5}));
}

// The path in a program alone allows nothing.
TEST_F(CreatePluginReaderOp, ReadsOnlyWithAParserThatSomebodyHasAllowed) {
  const ProgramRunner runner;
  const TempFile copy("libcopy.so", ReadFile(parser_));
  runner.ExpectProblem(Startup(copy.path(), log_),
                       "attribute 'parser' is '" + copy.path() + "', which nobody has allowed");
  runner.ExpectProblem(Startup(copy.path(), log_), "(allowed: " + parser_ + ")");
  runner.ExpectProblem(Startup("libscores.so", log_), "which nobody has allowed");
  LoadPlugin(Runfile("tests/libadd_constant.so"));  // a plugin, but no parser
  runner.ExpectProblem(Startup(Runfile("tests/libadd_constant.so"), log_), "nobody has allowed");
  LoadPlugin(copy.path());
  EXPECT_EQ(Labels(Startup(copy.path(), log_)), (std::vector<int64_t>{10, 20}));
}

TEST_F(CreatePluginReaderOp, ChecksItsAttributes) {
  const ProgramRunner runner;
  runner.ExpectProblem(Startup("", log_), "parser");
  runner.ExpectProblem(Startup(parser_, log_, {{"buffer_size", "i: 0"}}), "buffer_size");
  runner.ExpectProblem(Startup(parser_, log_, {{"thread_num", "i: -1"}}), "thread_num");
  runner.ExpectProblem(Startup(parser_, log_, {{"buffer_type", "s: \"disk\""}}), "buffer_type");
  runner.ExpectProblem(Startup(parser_, log_, {{"fields", "s: \"x\""}}), "fields");
}

TEST_F(CreatePluginReaderOp, TheParserDeclaresTheSlots) {
  const SlotsText other = {{"FP32", {1, 1}}, {"FP32", {-1}}};
  ExpectError(ErrorCode::kInvalidArgument,
              "slot 0: float32 [1, 1] is declared, but the reader has int64 [1, 1]",
              [&] { Labels(Startup(parser_, log_, {}, other)); });
}

TEST_F(CreatePluginReaderOp, AMissingFileIsNamedWhenTheReaderIsMade) {
  ExpectError(ErrorCode::kIo, "/nowhere/lines.txt",
              [&] { Labels(Startup(parser_, "strings: \"/nowhere/lines.txt\"")); });
}

}  // namespace
}  // namespace millhopper
