// SPDX-License-Identifier: Apache-2.0
// F38, F39: serialised programs that are none, each with the problems that it must give; none
// opens a file or starts a thread. Those that are text are in tests/programs/malformed.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "framework/program/program.h"
#include "tests/framework/program/program_bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Fields of a block, an operator, an attribute and a variable, by their names.
std::string Root(const std::string& content) { return Block(0, kMinusOne, content); }
std::string Op(const std::string& type, const std::string& content = "") {
  return Bytes(4, Bytes(3, type) + content);
}
std::string Slot(int field, const std::string& name, const std::string& argument) {
  return Bytes(field, Bytes(1, name) + Bytes(2, argument));
}
std::string Input(const std::string& name, const std::string& argument) {
  return Slot(1, name, argument);
}
std::string Output(const std::string& name, const std::string& argument) {
  return Slot(2, name, argument);
}
std::string Attr(const std::string& name, proto::AttrType type, const std::string& value) {
  return Bytes(4, Bytes(1, name) + Number(2, type) + value);
}
std::string Var(const std::string& name, uint64_t type) {
  return Bytes(3, Bytes(1, name) + Bytes(2, Number(1, type)));
}
std::string Loop(uint64_t block) {
  return Op("while", Input("Condition", "go") + Attr("sub_block", proto::BLOCK, Number(12, block)));
}
std::string Random(const std::string& reader) {
  return Op("create_random_data_generator", Output("Out", reader));
}
std::string Batches(const std::string& source, const std::string& reader,
                    const std::string& attributes) {
  return Op("create_batch_reader",
            Input("UnderlyingReader", source) + Output("Out", reader) + attributes);
}
constexpr uint64_t kTensor = proto::VarType::LOD_TENSOR;
constexpr uint64_t kReader = proto::VarType::READER;

struct Case {
  const char* name;
  std::string content;
  const char* expected;  // one problem a line
  ProgramRole role = ProgramRole::kMain;
};
void PrintTo(const Case& malformed, std::ostream* out) { *out << malformed.name; }

std::vector<Case> Cases() {
  const std::string whole = Root(Var("x", kTensor) + Op("mean", Input("X", "x")));
  const std::string deep_group(kMaxProgramNesting + 40, static_cast<char>(2 << 3 | 3));
  std::string deep_blocks = Root("");
  for (int i = 1; i <= kMaxBlockDepth; ++i) {
    deep_blocks += Block(static_cast<uint64_t>(i), static_cast<uint64_t>(i - 1));
  }
  return {
      {"nul", std::string(1, '\0'),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"nul_in_text", std::string("blocks { idx: 0 \0 }", 19),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"escape_in_text", "blocks { idx: 0 parent_idx: -1 } # \x1b[2J",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"random_bytes", "\x89PNG\r\n\x1a\n",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"recordio", std::string("\x04\x03\x02\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"truncated_in_a_length", whole.substr(0, 1), "p: a program needs at least one block"},
      {"truncated_in_a_block", whole.substr(0, whole.size() - 1),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"length_past_the_end", "\x0a\x7f\x08",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"length_of_four_gib", "\x0a\xff\xff\xff\xff\x0f\x08",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"length_of_more_than_64_bits", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"wire_type_six", std::string("\x0e\x08", 2),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"field_zero", std::string("\x00\x01\x01", 3),
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"group_without_end", "\x7b\x08\x01",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"end_of_no_group", whole + "\x7c",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"groups_too_deep", deep_group,
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"block_of_the_wrong_wire_type", Number(1, 5), "p: a program needs at least one block"},
      {"index_of_the_wrong_wire_type", Bytes(1, Bytes(1, "0") + Number(2, kMinusOne)),
       "p: blocks[0]: BlockDesc needs 'idx'"},
      {"bytes_behind_a_program", whole + "garbage",
       "p: neither text nor a binary program, or one that is truncated or damaged"},
      {"unknown_fields_only", Bytes(98, "nothing") + Number(99, 1),
       "p: a program needs at least one block"},
      {"no_index", Bytes(1, Number(2, kMinusOne)), "p: blocks[0]: BlockDesc needs 'idx'"},
      {"no_parent", Bytes(1, Number(1, 0)), "p: blocks[0]: BlockDesc needs 'parent_idx'"},
      {"variable_without_type", Root(Bytes(3, Bytes(1, "x"))),
       "p: blocks[0].vars[0]: VarDesc needs 'type'"},
      {"variable_without_name", Root(Bytes(3, Bytes(2, Number(1, kTensor)))),
       "p: blocks[0].vars[0]: VarDesc needs 'name'"},
      {"variable_of_unknown_type", Root(Var("x", 4000)),
       "p: blocks[0].vars[0].type: VarType needs 'type'"},
      {"tensor_of_unknown_type",
       Root(Bytes(
           3, Bytes(1, "x") + Bytes(2, Number(1, kTensor) + Bytes(3, Bytes(1, Number(1, 77)))))),
       "p: blocks[0].vars[0].type.lod_tensor.tensor: TensorDesc needs 'data_type'"},
      {"operator_without_type", Root(Bytes(4, Bytes(1, Bytes(1, "X")))),
       "p: blocks[0].ops[0]: OpDesc needs 'type'"},
      {"slot_without_name", Root(Op("mean", Bytes(1, Bytes(2, "x")))),
       "p: blocks[0].ops[0].inputs[0]: Var needs 'parameter'"},
      {"attribute_without_name", Root(Op("mean", Bytes(4, Number(2, 0) + Number(3, 1)))),
       "p: blocks[0].ops[0].attrs[0]: Attr needs 'name'"},
      {"attribute_of_unknown_type", Root(Op("mean", Bytes(4, Bytes(1, "a") + Number(2, 99)))),
       "p: operator 0 of block 0 ('mean'): attribute 'a' has no value (an empty list needs its "
       "type, such as type: INTS)"},
      {"attribute_of_another_field", Root(Op("mean", Attr("a", proto::INT, Bytes(5, "1")))),
       "p: operator 0 of block 0 ('mean'): attribute 'a' is INT, which needs 'i', but 's' is "
       "given"},
      {"attribute_of_two_values",
       Root(Op("mean", Attr("a", proto::INT, Number(3, 1) + Number(13, 1)))),
       "p: operator 0 of block 0 ('mean'): attribute 'a' has several values: 'i' and 'l'"},
      {"blocks_too_deep", deep_blocks, "p: block 32: lies 33 blocks deep; at most 32 are possible"},
      {"parents_in_a_cycle", Root("") + Block(1, 2) + Block(2, 1),
       "p: block 1: its parents form a cycle\np: block 2: its parents form a cycle"},
      {"blocks_twice", Root("") + Root(""),
       "p: block 1: idx is 0; blocks are numbered in order from 0, so it must be 1\np: block 1: "
       "parent_idx is -1; there are blocks 0 to 1"},
      {"root_as_a_child", Block(0, 0),
       "p: block 0: parent_idx is 0; block 0 is the root, so it must be -1"},
      {"parent_past_the_end", Root("") + Block(1, uint64_t{1} << 31),
       "p: block 1: parent_idx is -2147483648; there are blocks 0 to 1"},
      {"loop_over_its_own_block", Root(Var("go", kTensor) + Loop(0)),
       "p: operator 0 of block 0 ('while'): attribute 'sub_block': block 0 is around this "
       "operator"},
      {"loop_over_no_block", Root(Var("go", kTensor) + Loop(5)),
       "p: operator 0 of block 0 ('while'): attribute 'sub_block': there is no block 5"},
      {"block_of_two_loops", Root(Var("go", kTensor) + Loop(1) + Loop(1)) + Block(1, 0),
       "p: operator 1 of block 0 ('while'): attribute 'sub_block': block 1 belongs to another "
       "operator already (p: operator 0 of block 0)"},
      {"blocks_that_run_each_other",
       Root(Var("go", kTensor) + Loop(1)) + Block(1, 0, Loop(2)) + Block(2, 1, Loop(1)),
       "p: operator 0 of block 2 ('while'): attribute 'sub_block': block 1 is around this "
       "operator"},
      {"unknown_operator", Root(Op("men")),
       "p: operator 0 of block 0 ('men'): no such operator; did you mean 'mean'?"},
      {"name_that_is_not_utf8", Root(Op("\xff\xfe")),
       "p: operator 0 of block 0 ('\\xff\\xfe'): no such operator"},
      {"name_with_line_feeds", Root(Op("mean\np: all is well\r")),
       "p: operator 0 of block 0 ('mean\\np: all is well\\r'): no such operator"},
      {"name_with_a_nul", Root(Op(std::string("mean\0", 5))),
       "p: operator 0 of block 0 ('mean\\x00'): no such operator; did you mean 'mean'?"},
      {"suggestion_with_control_characters",
       Root(Var("weight\x18", kTensor) + Var("y", kTensor) +
            Op("mean", Input("X", "weights") + Output("Out", "y"))),
       "p: operator 0 of block 0 ('mean'): input 'X': variable 'weights' is not declared; did you "
       "mean 'weight\\x18'?"},
      {"undeclared_variables", Root(Op("mean", Input("X", "x") + Output("Out", "y"))),
       "p: operator 0 of block 0 ('mean'): input 'X': variable 'x' is not declared\np: operator 0 "
       "of block 0 ('mean'): output 'Out': variable 'y' is not declared"},
      {"declared_twice", Root(Var("x", kTensor) + Var("x", kTensor)),
       "p: variable 'x' of block 0: declared twice in block 0"},
      {"tensor_as_a_reader",
       Root(Var("x", kTensor) + Op("read", Input("Reader", "x") + Output("Out", "x"))),
       "p: operator 0 of block 0 ('read'): input 'Reader': variable 'x' must be of type READER, "
       "not LOD_TENSOR"},
      {"reader_as_a_tensor",
       Root(Var("r", kReader) + Var("x", kTensor) +
            Op("mean", Input("X", "r") + Output("Out", "x"))),
       "p: operator 0 of block 0 ('mean'): input 'X': variable 'r' must be of type LOD_TENSOR, not "
       "READER"},
      {"reader_of_no_startup",
       Root(Var("r", kReader) + Var("x", kTensor) +
            Op("read", Input("Reader", "r") + Output("Out", "x"))),
       "p: operator 0 of block 0 ('read'): reader 'r' is created by no startup program"},
      {"creation_in_main", Root(Var("r", kReader) + Random("r")),
       "p: operator 0 of block 0 ('create_random_data_generator'): creates a reader, which belongs "
       "in a startup program"},
      {"source_created_later",
       Root(Var("r", kReader) + Var("b", kReader) +
            Batches("r", "b", Attr("batch_size", proto::INT, Number(3, 2))) + Random("r")),
       "p: operator 0 of block 0 ('create_batch_reader'): reader 'r' is used before it is created "
       "(p: operator 1 of block 0)",
       ProgramRole::kStartup},
      {"reader_made_twice", Root(Var("r", kReader) + Random("r") + Random("r")),
       "p: operator 1 of block 0 ('create_random_data_generator'): output 'Out': variable 'r' is a "
       "reader that another operator creates already (p: operator 0 of block 0)",
       ProgramRole::kStartup},
      {"batch_of_less_than_nothing",
       Root(Var("r", kReader) + Var("b", kReader) + Random("r") +
            Batches("r", "b", Attr("batch_size", proto::INT, Number(3, kMinusOne)))),
       "p: operator 1 of block 0 ('create_batch_reader'): attribute 'batch_size' is -1; it must be "
       "at least 1",
       ProgramRole::kStartup},
      {"batch_size_as_a_float",
       Root(
           Var("r", kReader) + Var("b", kReader) + Random("r") +
           Batches("r", "b", Attr("batch_size", proto::FLOAT, std::string("\x25\0\0\x80\x3f", 5)))),
       "p: operator 1 of block 0 ('create_batch_reader'): attribute 'batch_size' is FLOAT 1; it "
       "must be INT",
       ProgramRole::kStartup},
      {"attribute_given_twice",
       Root(Var("r", kReader) + Var("b", kReader) + Random("r") +
            Batches("r", "b",
                    Attr("batch_size", proto::INT, Number(3, 2)) +
                        Attr("batch_size", proto::INT, Number(3, 4)))),
       "p: operator 1 of block 0 ('create_batch_reader'): attribute 'batch_size' is given twice",
       ProgramRole::kStartup},
  };
}

class MalformedBinaries : public testing::TestWithParam<Case> {};

TEST_P(MalformedBinaries, GiveExactlyTheProblemsExpected) {
  const Case& malformed = GetParam();
  const Holdings before = CurrentHoldings();
  std::string problems;
  try {
    CheckContext context;
    context.role = malformed.role;
    Program::FromString(malformed.content, "p")->CheckOrThrow(context);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    problems = error.message();
  }
  EXPECT_EQ(problems, malformed.expected);
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_EQ(CurrentHoldings().threads, before.threads);
  EXPECT_EQ(CurrentHoldings().descriptors, before.descriptors);
}

INSTANTIATE_TEST_SUITE_P(Bytes, MalformedBinaries, testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace millhopper
