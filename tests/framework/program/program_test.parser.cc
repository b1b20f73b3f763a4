// SPDX-License-Identifier: Apache-2.0
// Loading programs: text and binary, settings, inferred types, places, and files that are none.
#include "framework/program/program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/program/declarations.h"
#include "framework/program/operator.h"
#include "tests/framework/program/program_bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kSmall[] = R"(blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" type { type: LOD_TENSOR } }
  ops {
    type: "sum"
    inputs {
      parameter: "X"
      arguments: ["x", "x"]
    }
    outputs { parameter: "Out" arguments: "x" }
    attrs { name: "first" i: 1 }
    attrs { name: "second" s: "two" }
  }
}
)";

// One block with one operator whose attributes are given.
std::string WithAttributes(const std::string& attributes) {
  return "blocks { idx: 0 parent_idx: -1 ops { type: 'test' " + attributes + "} }";
}

// What loading says, or "".
std::string Problems(const std::string& content, const Settings& settings = {}) {
  try {
    Program::FromString(content, "p", settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "";
}

const proto::OpDesc& FirstOp(const std::shared_ptr<const Program>& program) {
  return program->desc().blocks(0).ops(0);
}

TEST(Program, IsTheSameAsTextAndAsBinary) {
  const auto text = Program::FromString(kSmall, "p.pbtxt");
  const auto binary = Program::FromString(text->ToBinary(), "p.bin");
  const auto again = Program::FromString(binary->ToText(), "q.pbtxt");
  EXPECT_EQ(text->ToText(), binary->ToText());
  EXPECT_EQ(text->ToBinary(), again->ToBinary());
  EXPECT_EQ(text->desc().blocks(0).vars(0).name(), "x");
  EXPECT_EQ(text->name(), "p.pbtxt");
}

TEST(Program, FilesAreTextOrBinaryByTheirContent) {
  const auto text = Program::FromString(kSmall, "p");
  const TempFile text_file("program.bin", kSmall);
  const TempFile binary_file("program.pbtxt", text->ToBinary());
  EXPECT_EQ(Program::FromFile(text_file.path())->ToText(), text->ToText());
  EXPECT_EQ(Program::FromFile(binary_file.path())->ToText(), text->ToText());
}

TEST(Program, AFileThatCannotBeReadIsAnErrorOfTheSystem) {
  for (const std::string& path : {std::string("/nowhere/p.pbtxt"), testing::TempDir()}) {
    try {
      Program::FromFile(path);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_EQ(error.file(), path);
    }
  }
}

TEST(Program, FilesOfTheLineageLoadAndPrint) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TestData() + "/paddle_program")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const auto program = Program::FromFile(entry.path());
    const auto again = Program::FromString(program->ToText(), "printed");
    EXPECT_EQ(again->ToBinary(), program->ToBinary()) << entry.path();
    EXPECT_GT(program->desc().blocks(0).ops_size(), 0) << entry.path();
  }
  EXPECT_GE(files, 3u);
}

TEST(Program, AttributeTypesAreInferredFromTheFieldThatIsSet) {
  const std::vector<std::pair<std::string, Attribute>> cases = {
      {"i: -3", int32_t{-3}},
      {"f: 0.5", 0.5f},
      {"s: 'text'", "text"},
      {"ints: [1, 2]", std::vector<int32_t>{1, 2}},
      {"floats: 1.5", std::vector<float>{1.5f}},
      {"strings: ['a', 'b']", std::vector<std::string>{"a", "b"}},
      {"b: true", true},
      {"bools: [true, false]", std::vector<bool>{true, false}},
      {"block_idx: 4", BlockIndex{4}},
      {"l: 5000000000", int64_t{5000000000}},
      {"blocks_idx: [1, 2]", std::vector<BlockIndex>{BlockIndex(1), BlockIndex(2)}},
      {"longs: 5000000000", std::vector<int64_t>{5000000000}},
      {"float64: 0.25", 0.25},
      {"float64s: [0.25, 1]", std::vector<double>{0.25, 1}},
  };
  for (const auto& [text, value] : cases) {
    const auto program =
        Program::FromString(WithAttributes("attrs { name: 'a' " + text + " }"), "p");
    EXPECT_EQ(FromProto(FirstOp(program).attrs(0)), value) << text;
    EXPECT_EQ(proto::AttrType_Name(FirstOp(program).attrs(0).type()), AttributeTypeName(value));
  }
}

TEST(Program, AnEmptyListNeedsItsType) {
  const auto program =
      Program::FromString(WithAttributes("attrs { name: 'a' type: STRINGS }"), "p");
  EXPECT_EQ(FromProto(FirstOp(program).attrs(0)), Attribute(std::vector<std::string>()));
  EXPECT_EQ(Problems(WithAttributes("attrs { name: 'a' }")),
            "p:1:51: operator 'test': attribute 'a' has no value (an empty list needs its type, "
            "such as type: INTS)");
}

TEST(Program, SettingsAreEscapedInsideQuotes) {
  const std::string value = "a \"b\" 'c' \\d\n\te\x01";
  for (const std::string quote : {"\"", "'"}) {
    const auto program = Program::FromString(
        WithAttributes(StrCat("attrs { name: 'a' s: ", quote, "<${v}>", quote, " }")), "p",
        {{"v", value}});
    EXPECT_EQ(FirstOp(program).attrs(0).s(), "<" + value + ">");
  }
}

TEST(Program, SettingsOutsideQuotesAreTakenAsTheyAre) {
  const auto program =
      Program::FromString(WithAttributes("attrs { name: 'a' ${kind}: [${values}] }"), "p",
                          {{"kind", "ints"}, {"values", "1, 2"}});
  EXPECT_EQ(FirstOp(program).attrs(0).ints_size(), 2);
}

TEST(Program, SettingsAreReplacedOnceAndNotInComments) {
  const auto program = Program::FromString(
      WithAttributes("# ${unknown} 'not a string\n attrs { name: 'a' s: '${v}' }"), "p",
      {{"v", "${v}"}});
  EXPECT_EQ(FirstOp(program).attrs(0).s(), "${v}");
}

TEST(Program, WhatIsPrintedNeedsNoSettings) {
  const auto program = Program::FromString(WithAttributes("attrs { name: 'a' s: '${v}' }"), "p",
                                           {{"v", "$${v} {$}$"}});
  const auto again = Program::FromString(program->ToText(), "printed");
  EXPECT_EQ(FirstOp(again).attrs(0).s(), "$${v} {$}$");
}

TEST(Program, EscapesInStringsDoNotEndThem) {
  const auto program = Program::FromString(
      WithAttributes(R"(attrs { name: 'a' s: "\"${v}\\" } # "${no}")") + "\n} }", "p",
      {{"v", "1"}});
  EXPECT_EQ(FirstOp(program).attrs(0).s(), "\"1\\");
}

TEST(Program, AMarkOfByteOrderAndCarriageReturnsAreNoMatter) {
  const auto program = Program::FromString(
      "\xef\xbb\xbf"
      "blocks {\r\n  idx: 0\r\n  parent_idx: -1\r\n"
      "  ops { type: 'a' }\r\n}\r\n",
      "p");
  EXPECT_EQ(program->OperatorLocation(0, 0), "p:4");
}

TEST(Program, KnowsWhereEverythingStands) {
  const auto program = Program::FromString(kSmall, "p.pbtxt");
  const auto place = [&](const OperatorPart& part) {
    const SourcePlace at = program->OperatorPlace(0, 0, part);
    return std::make_pair(at.line, at.column);
  };
  EXPECT_EQ(place({}), std::make_pair(5, 3));
  EXPECT_EQ(place({OperatorPart::kInput, 0}), std::make_pair(7, 5));
  EXPECT_EQ(place({OperatorPart::kInput, 0, 0}), std::make_pair(9, 7));
  EXPECT_EQ(place({OperatorPart::kInput, 0, 1}), std::make_pair(9, 7));
  EXPECT_EQ(place({OperatorPart::kOutput, 0}), std::make_pair(11, 5));
  EXPECT_EQ(place({OperatorPart::kOutput, 0, 0}), std::make_pair(11, 32));
  EXPECT_EQ(place({OperatorPart::kAttribute, 0}), std::make_pair(12, 5));
  EXPECT_EQ(place({OperatorPart::kAttribute, 1}), std::make_pair(13, 5));
  EXPECT_EQ(program->OperatorLocation(0, 0), "p.pbtxt:5");
  EXPECT_EQ(program->OperatorProblem(0, 0, {OperatorPart::kAttribute, 1}, "wrong").text,
            "p.pbtxt:13:5: operator 'sum': wrong");
  EXPECT_EQ(program->VariableProblem(0, 0, "wrong").text, "p.pbtxt:4:3: variable 'x': wrong");
}

TEST(Program, PlacesInABinaryProgramAreNumbers) {
  const auto program = Program::FromString(Program::FromString(kSmall, "p")->ToBinary(), "p.bin");
  EXPECT_EQ(program->OperatorPlace(0, 0).line, 0);
  EXPECT_EQ(program->OperatorLocation(0, 0), "p.bin: operator 0 of block 0");
  EXPECT_EQ(program->OperatorProblem(0, 0, {OperatorPart::kInput, 0, 1}, "wrong").text,
            "p.bin: operator 0 of block 0 ('sum'): wrong");
  EXPECT_EQ(program->VariableProblem(0, 0, "wrong").text, "p.bin: variable 'x' of block 0: wrong");
}

TEST(Program, LinesAndColumnsAreThoseOfTheFileAsWritten) {
  const auto program = Program::FromString(
      "blocks {\n idx: ${zero} parent_idx: -1 ops { type: '${long}' } ops { type: 'b' }\n"
      "\tops { type: 'c' }\n${lines} ops { type: 'd' } }",
      "p", {{"zero", "0"}, {"long", std::string(100, 'x')}, {"lines", "\n\n\n"}});
  const auto place = [&](int op) {
    const SourcePlace at = program->OperatorPlace(0, op);
    return std::make_pair(at.line, at.column);
  };
  EXPECT_EQ(place(0), std::make_pair(2, 30));
  EXPECT_EQ(place(1), std::make_pair(2, 54));
  EXPECT_EQ(place(2), std::make_pair(3, 2));
  EXPECT_EQ(place(3), std::make_pair(4, 10));
}

TEST(Program, FindsTheDeclarationThatABlockSees) {
  const auto program = Program::FromString(
      "blocks { idx: 0 parent_idx: -1 vars { name: 'a' type { type: LOD_TENSOR } }"
      " vars { name: 'b' type { type: LOD_TENSOR } } }"
      "blocks { idx: 1 parent_idx: 0 vars { name: 'a' type { type: READER } } }",
      "p");
  EXPECT_EQ(program->FindDeclaration(1, "a")->type().type(), proto::VarType::READER);
  EXPECT_EQ(program->FindDeclaration(0, "a")->type().type(), proto::VarType::LOD_TENSOR);
  EXPECT_EQ(program->FindDeclaration(1, "b"), &program->desc().blocks(0).vars(1));
  EXPECT_EQ(program->FindDeclaration(1, "c"), nullptr);
}

TEST(Program, UnknownFieldsAreKeptInBinary) {
  const std::string content =
      Block(0, kMinusOne, Number(77, 5)) + Bytes(2, "old version") + Bytes(99, "of the future");
  const auto program = Program::FromString(content, "p.bin");
  const std::string kept = program->ToBinary();
  EXPECT_NE(kept.find("of the future"), std::string::npos);
  EXPECT_NE(kept.find("old version"), std::string::npos);
  EXPECT_EQ(kept.size(), content.size());
}

TEST(Program, BinaryProblemsNameTheMessage) {
  EXPECT_EQ(Problems(Block(0, 5)),
            "p: block 0: parent_idx is 5; block 0 is the root, so it must be -1");
  EXPECT_EQ(Problems(Block(0, kMinusOne) + Block(3, 1)),
            "p: block 1: idx is 3; blocks are numbered in order from 0, so it must be 1\n"
            "p: block 1: its parents form a cycle");
  EXPECT_EQ(Problems(Block(0, kMinusOne, Bytes(4, Bytes(1, "") + Number(5, 0)))),
            "p: blocks[0].ops[0].inputs[0]: Var needs 'parameter'\n"
            "p: blocks[0].ops[0]: OpDesc needs 'type'");
  EXPECT_EQ(Problems(Block(0, kMinusOne, Bytes(3, Bytes(1, "x") + Bytes(2, Number(1, 1000))))),
            "p: blocks[0].vars[0].type: VarType needs 'type'")
      << "a value of an enumeration that is none of ours";
  EXPECT_EQ(Problems(Block(0, kMinusOne,
                           Bytes(4, Bytes(3, "t") + Bytes(4, Bytes(1, "a") + Number(2, 1))))),
            "p: operator 0 of block 0 ('t'): attribute 'a' has no value; FLOAT needs 'f'");
}

TEST(Program, TruncatedBinariesAreRefused) {
  const std::string whole = Program::FromString(kSmall, "p")->ToBinary();
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_NE(Problems(whole.substr(0, size)), "") << size;
  }
}

TEST(Program, DamagedBinariesAreRefusedOrWhole) {
  const std::string whole = Program::FromString(kSmall, "p")->ToBinary();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      try {
        EXPECT_GT(Program::FromString(damaged, "p")->desc().blocks_size(), 0);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      }
    }
  }
}

TEST(Program, GarbageIsNoProgram) {
  const std::string refusal =
      "p: neither text nor a binary program, or one that is truncated or damaged";
  EXPECT_EQ(Problems(std::string(1, '\0')), refusal);
  EXPECT_EQ(Problems("\x89PNG\r\n\x1a\n" + std::string(100, '\0')), refusal);
  EXPECT_EQ(Problems(std::string(1000, '\x13')), refusal) << "groups within groups";
  EXPECT_EQ(Problems("\x0a\xff\xff\xff\xff\x07"
                     "abc"),
            refusal)
      << "a length behind the end";
  EXPECT_EQ(Problems(Bytes(99, std::string(3, '\0'))), "p: a program needs at least one block");
  EXPECT_EQ(Problems(""), "p: a program needs at least one block");
}

// In one pass: a program of a few megabytes may have millions of them.
TEST(Program, PrintsAnyNumberOfDollars) {
  constexpr size_t kMany = 2000000;
  std::string dollars;
  for (size_t i = 0; i < kMany; ++i) dollars += "${";
  const auto program =
      Program::FromString(WithAttributes("attrs { name: 'a' s: '${v}' }"), "p", {{"v", dollars}});
  const std::string text = program->ToText();
  EXPECT_EQ(text.find("${"), std::string::npos);
  EXPECT_EQ(FirstOp(Program::FromString(text, "p")).attrs(0).s(), dollars);
}

// F38: a huge program.
TEST(Program, CountsAreLimitedBeforeMemoryIsTaken) {
  std::string blocks;
  for (int i = 0; i <= kMaxBlocks; ++i) {
    blocks += Block(static_cast<uint64_t>(i), i == 0 ? kMinusOne : 0);
  }
  EXPECT_EQ(Problems(blocks), "p: 1001 blocks; at most 1000 are possible");

  const std::string op = Bytes(4, Bytes(3, "t"));
  std::string operators;
  for (int i = 0; i <= kMaxOperators; ++i) operators += op;
  EXPECT_EQ(Problems(Block(0, kMinusOne, operators)),
            "p: 100001 operators; at most 100000 are possible");

  std::string empty;
  for (size_t i = 0; i <= kMaxProgramItems; ++i) empty += Bytes(1, "");
  EXPECT_EQ(Problems(empty), "p: more than 4000000 messages and strings");
  std::string braces;
  for (size_t i = 0; i <= kMaxProgramItems; ++i) braces += "blocks{}";
  EXPECT_EQ(Problems(braces), "p: more than 4000000 messages and strings");

  EXPECT_EQ(Problems(std::string(kMaxProgramBytes + 1, ' ')), "p: longer than 67108864 bytes");

  // So few that they are counted, too many to be built.
  const size_t fewer = 3000000;
  std::string messages;
  for (size_t i = 0; i < fewer; ++i) messages += Bytes(1, "");
  EXPECT_EQ(Problems(messages), "p: 3000000 blocks; at most 1000 are possible");
  EXPECT_EQ(Problems(braces.substr(0, 8 * fewer)), "p: more than 1000 blocks");
  messages.clear();
  for (size_t i = 0; i < fewer; ++i) messages += Bytes(4, "");
  EXPECT_EQ(Problems(Block(0, kMinusOne, Bytes(4, Bytes(3, "t") + messages))),
            "p: its messages would take more than 536870912 bytes of memory");
  std::string values;
  for (size_t i = 0; i <= kMaxProgramItems; ++i) values += "${a}";
  EXPECT_EQ(Problems(values, {{"a", ""}}), "p: more than 4000000 messages and strings");
}

TEST(Program, MayHaveAsManyBlocksAsAreAllowed) {
  std::string list = "version {} op_version_map {} blocks [";
  for (int i = 0; i < kMaxBlocks; ++i) {
    list += StrCat(i == 0 ? "" : ",", "{ idx: ", i, " parent_idx: ", i == 0 ? -1 : 0, " }");
  }
  EXPECT_EQ(Program::FromString(list + "]", "p")->desc().blocks_size(), kMaxBlocks);
}

// The length of the text is bounded, however many problems there are and however long their
// subjects are.
TEST(Program, OfTooManyProblemsTheFirstAreTold) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "nothing: 1\n";
  const std::string problems = Problems(text);
  EXPECT_EQ(problems.rfind("p:1:1: ProgramDesc has no field 'nothing'\np:2:1: ", 0), 0u);
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 1000);
  EXPECT_EQ(problems.substr(problems.rfind('\n') + 1), "p: and 4000 more problems");
  const std::string name = std::string(998, 'x') + "\xc3\xa4" + std::string(100000, 'y');
  const std::string cut = Problems(WithAttributes("attrs { name: '" + name + "' }"));
  EXPECT_LT(cut.size(), 1100u);
  EXPECT_EQ(cut.substr(cut.rfind('x')).rfind("x ... (", 0), 0u)
      << "not within a character: " << cut;
}

TEST(Program, ListsAreLimited) {
  std::string values = "1";
  for (int i = 0; i < kMaxListLength; ++i) values += ",1";
  EXPECT_EQ(Problems(WithAttributes("attrs { name: 'a' ints: [" + values + "] }")),
            "p:1:51: operator 'test': attribute 'a' has more than 1000000 values");
}

// F38: deep recursion.
TEST(Program, DeepTextIsRefusedBeforeItIsParsed) {
  for (const std::string open : {"a {", "a <", "a ["}) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += open;
    EXPECT_EQ(Problems(deep).rfind("p:1:195: more than 64 messages within messages", 0), 0u);
  }
}

}  // namespace
}  // namespace millhopper
