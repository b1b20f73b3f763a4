// SPDX-License-Identifier: Apache-2.0
// Passes that differ in their order, and the warning of create_skip_reader about them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/program.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {
namespace {

struct Below {
  const char* type;
  AttributeTexts attributes;
};

// The warnings of a program in which create_skip_reader stands on these.
std::vector<std::string> Warnings(const std::vector<Below>& readers, const char* count = "i: 3") {
  std::vector<std::string> parts;
  std::string top;
  const auto add = [&](const std::string& type, const AttributeTexts& attributes) {
    const std::string name = StrCat("r", parts.size() / 2);
    SlotTexts inputs;
    if (!top.empty()) inputs = {{"UnderlyingReader", {top}}};
    if (type == "create_mix_reader") inputs = {{"UnderlyingReaders", {top}}};
    parts.push_back(ReaderText(name));
    parts.push_back(OpText(type, inputs, {{"Out", {name}}}, attributes));
    top = name;
  };
  for (const Below& reader : readers) add(reader.type, reader.attributes);
  add("create_skip_reader", {{"count", count}});
  const auto program = Program::FromString(BlockText(0, -1, parts), "startup.pbtxt", {});
  CheckContext context;
  context.role = ProgramRole::kStartup;
  program->CheckOrThrow(context);
  std::vector<std::string> texts;
  for (const Problem& warning : program->Warnings()) texts.push_back(warning.text);
  return texts;
}

const Below kFiles = {"open_files", {{"file_names", "strings: \"text:x\""}}};
const Below kShuffled = {"create_shuffle_reader", {{"buffer_size", "i: 4"}}};

TEST(PassOrder, IsAWarningWhereEachPassHasAnother) {
  const Below batched = {"create_batch_reader", {{"batch_size", "i: 4"}}};
  const Below buffered = {"create_double_buffer_reader", {}};
  const Below repeated = {"create_multi_pass_reader", {{"pass_num", "i: 2"}}};
  const auto of_files = [](const char* attribute, const char* value) {
    Below files = kFiles;
    files.attributes.emplace_back(attribute, value);
    return files;
  };
  const Below numbers = {"create_range_reader",
                         {{"count", "i: 9"}, {"shuffle_records", "b: true"}}};
  for (const std::vector<Below>& readers :
       std::vector<std::vector<Below>>{{kFiles, kShuffled},
                                       {kFiles, kShuffled, batched, buffered, repeated},
                                       {kFiles, repeated, kShuffled},
                                       {of_files("shuffle_files", "b: true")},
                                       {of_files("shuffle_chunks", "b: true"), batched},
                                       {of_files("shuffle_records", "b: true")},
                                       {numbers}}) {
    const std::vector<std::string> warnings = Warnings(readers);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("operator 'create_skip_reader': leaves out other elements in each "
                               "pass; so from the second pass on a training part"),
              std::string::npos)
        << warnings[0];
    EXPECT_NE(warnings[0].find("puts them in another order: give it reshuffle: false"),
              std::string::npos)
        << warnings[0];
  }
  EXPECT_EQ(Warnings({kFiles, kShuffled})[0].rfind("startup.pbtxt:", 0), 0u);
  EXPECT_NE(
      Warnings({kFiles, kShuffled})[0].find("reader 'r1' (create_shuffle_reader, startup.pbtxt:"),
      std::string::npos);
  EXPECT_NE(
      Warnings({of_files("deterministic", "b: false")}).at(0).find("give it deterministic: true"),
      std::string::npos);
  EXPECT_NE(Warnings({kFiles, {"create_mix_reader", {}}}).at(0).find("put skip and take below it"),
            std::string::npos);
}

TEST(PassOrder, IsNoWarningWhereAllPassesAreAlike) {
  Below same = kShuffled, files = kFiles;
  same.attributes.emplace_back("reshuffle", "b: false");
  EXPECT_TRUE(Warnings({kFiles, {"create_shuffle_reader", {{"buffer_size", "i: 1"}}}}).empty());
  files.attributes.emplace_back("shuffle_files", "b: true");
  files.attributes.emplace_back("reshuffle", "b: false");
  const Below cached = {"create_cache_reader", {{"memory_bytes", "i: 1000000"}}};
  for (const std::vector<Below>& readers :
       std::vector<std::vector<Below>>{{kFiles},
                                       {kFiles, same},
                                       {files, same},
                                       {kFiles, kShuffled, cached},
                                       {{"create_range_reader", {{"count", "i: 9"}}}}}) {
    EXPECT_TRUE(Warnings(readers).empty());
  }
  EXPECT_TRUE(Warnings({kFiles, kShuffled}, "i: 0").empty());
  EXPECT_EQ(Warnings({kFiles, kShuffled, same}).size(), 1u);
}

}  // namespace
}  // namespace millhopper
