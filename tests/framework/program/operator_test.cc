// SPDX-License-Identifier: Apache-2.0
// Schemas, the registry, and what an operator sees of its arguments and attributes.
#include "framework/program/operator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/declarations.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "operators/readers/support/reader_variable.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// What the operator below does when it runs, set by each test.
std::function<void(OpContext&)>& Behaviour() {
  static auto* behaviour = new std::function<void(OpContext&)>;
  return *behaviour;
}

OpSchema ProbeSchema() {
  return OpSchema("Does what a test wants.")
      .OptionalInput("X", "a tensor")
      .Inputs("List", "tensors")
      .OptionalInput("Reader", "a reader")
      .Reader()
      .OptionalOutput("Out", "a tensor")
      .Outputs("Outs", "tensors")
      .Attr({"size", int32_t{3}, "a number"})
      .Attr({"block", BlockIndex{}, "a block"})
      .MoreAttrs([](const proto::OpDesc& op) {
        std::vector<AttributeSchema> more;
        if (op.inputs_size() > 1) more.push_back({"more", int32_t{9}, "given with two inputs"});
        return more;
      });
}
void Probe(OpContext& context) { Behaviour()(context); }
REGISTER_OPERATOR(operator_test_probe, ProbeSchema, Probe);

constexpr char kProgram[] = R"(blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" type { type: LOD_TENSOR } }
  vars { name: "y" type { type: LOD_TENSOR } persistable: true }
  vars { name: "files" type { type: READER reader {
    lod_tensor { tensor { data_type: UINT8 dims: [1, -1] } lod_level: 1 } } } }
  ops {
    type: "operator_test_probe"
    ${probe}
  }
})";

// Runs the probe with these inputs, outputs and attributes. What it throws is thrown, without the
// step that the executor adds.
void RunProbe(const std::string& probe, std::function<void(OpContext&)> behaviour,
              Scope* scope = nullptr) {
  Behaviour() = std::move(behaviour);
  const auto program = Program::FromString(kProgram, "p.pbtxt", {{"probe", probe}});
  Scope own;
  PreparedProgram(program, scope == nullptr ? &own : scope, {}).Run();
}

std::string MessageOf(const std::string& probe, const std::function<void(OpContext&)>& behaviour,
                      ErrorCode code) {
  try {
    RunProbe(probe, behaviour);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(OpSchema, IsBuiltFluently) {
  const OpSchema schema =
      ProbeSchema().SideEffects().CreatesReader().IsolatedBlock("block").LoopBlock("body");
  ASSERT_EQ(schema.inputs.size(), 3u);
  EXPECT_TRUE(schema.inputs[0].optional);
  EXPECT_FALSE(schema.inputs[0].list);
  EXPECT_TRUE(schema.inputs[1].list);
  EXPECT_EQ(schema.inputs[1].kind, VariableKind::kTensor);
  EXPECT_EQ(schema.inputs[2].kind, VariableKind::kReader);
  ASSERT_EQ(schema.outputs.size(), 2u);
  EXPECT_FALSE(OpSchema("").Output("Out", "").outputs[0].optional);
  EXPECT_EQ(OpSchema("").Input("X", "").Output("Out", "").AnyKind().outputs[0].kind,
            VariableKind::kAny);
  EXPECT_EQ(OpSchema("").Output("Out", "").Input("X", "").AnyKind().inputs[0].kind,
            VariableKind::kAny)
      << "the kind is that of the slot declared last";
  EXPECT_TRUE(schema.side_effects);
  EXPECT_TRUE(schema.creates_reader);
  EXPECT_EQ(schema.isolated_blocks, std::vector<std::string>{"block"});
  EXPECT_EQ(schema.loop_blocks, std::vector<std::string>{"body"});
  EXPECT_THROW(OpSchema("").Reader(), Error);
}

TEST(OperatorRegistry, FindsOperatorsByType) {
  const OperatorDef* def = FindOperator("operator_test_probe");
  ASSERT_NE(def, nullptr);
  EXPECT_EQ(def->type, "operator_test_probe");
  EXPECT_EQ(def->run, &Probe);
  EXPECT_EQ(FindOperator("operator_test_prob"), nullptr);
  const std::vector<std::string> types = OperatorTypes();
  EXPECT_TRUE(std::is_sorted(types.begin(), types.end()));
  EXPECT_EQ(std::count(types.begin(), types.end(), "operator_test_probe"), 1);
}

TEST(OperatorRegistry, AsksLookupsForTypesThatNobodyRegistered) {
  static const OperatorDef made{"operator_test_made", OpSchema("Made on demand."), &Probe};
  RegisterOperatorLookup(
      {[](const std::string& type) { return type == made.type ? &made : nullptr; },
       [] {
         return std::vector<std::string>{made.type, "operator_test_probe"};
       }});
  EXPECT_EQ(FindOperator("operator_test_made"), &made);
  EXPECT_NE(FindOperator("operator_test_probe"), &made);
  const std::vector<std::string> types = OperatorTypes();
  EXPECT_EQ(std::count(types.begin(), types.end(), "operator_test_made"), 1);
  EXPECT_EQ(std::count(types.begin(), types.end(), "operator_test_probe"), 1);
}

TEST(OpContext, GivesArgumentsBySlotAndPosition) {
  Scope scope;
  for (int32_t i = 1; i <= 2; ++i) {
    *scope.Var("given" + std::to_string(i))->GetMutable<LoDTensor>() =
        MakeTensor<int32_t>({1}, {i});
  }
  RunProbe(
      "inputs { parameter: 'List' arguments: ['given2', 'given1'] }"
      "outputs { parameter: 'Out' arguments: 'y' }",
      [](OpContext& context) {
        EXPECT_EQ(context.InCount("X"), 0u);
        ASSERT_EQ(context.InCount("List"), 2u);
        EXPECT_EQ(context.In("List", 0).scalar<int32_t>(), 2);
        EXPECT_EQ(context.In("List", 1).scalar<int32_t>(), 1);
        EXPECT_EQ(context.InVar("List", 1).name(), "given1");
        EXPECT_EQ(context.OutCount("Out"), 1u);
        EXPECT_EQ(context.OutCount("Outs"), 0u);
        *context.Out("Out") = context.In("List", 1);
      },
      &scope);
  EXPECT_EQ(scope.Find("y")->Get<LoDTensor>().scalar<int32_t>(), 1);
}

TEST(OpContext, AnInputWithoutAValueIsNamed) {
  EXPECT_EQ(MessageOf(
                "inputs { parameter: 'X' arguments: 'x' }",
                [](OpContext& context) { context.In("X"); }, ErrorCode::kInvalidArgument),
            "input 'X': variable 'x' has no value yet: nothing has written to it");
  EXPECT_EQ(MessageOf(
                "", [](OpContext& context) { context.In("X"); }, ErrorCode::kInvalidArgument),
            "input 'X' has 0 arguments; number 0 is wanted");
  EXPECT_EQ(MessageOf(
                "outputs { parameter: 'Outs' arguments: 'x' }",
                [](OpContext& context) { context.Out("Outs", 1); }, ErrorCode::kInvalidArgument),
            "output 'Outs' has 1 arguments; number 1 is wanted");
}

TEST(OpContext, AReaderThatWasNotCreatedIsNamed) {
  EXPECT_EQ(
      MessageOf(
          "inputs { parameter: 'Reader' arguments: 'files' }",
          [](OpContext& context) { ReaderOf(context, "Reader"); }, ErrorCode::kInvalidArgument),
      "input 'Reader': reader 'files' has not been created: no startup program that creates it "
      "has run");
}

TEST(OpContext, WhatTheSchemaDoesNotDeclareIsOurOwnMistake) {
  for (const auto& wrong :
       {+[](OpContext& c) { c.In("Y"); }, +[](OpContext& c) { c.Out("X"); },
        +[](OpContext& c) { c.Attr<int32_t>("sise"); },
        +[](OpContext& c) { c.Attr<int64_t>("size"); }, +[](OpContext& c) { c.Block("block"); }}) {
    EXPECT_NE(MessageOf("", wrong, ErrorCode::kInternal), "nothing was thrown");
  }
}

TEST(OpContext, GivesAttributesWithDefaultsFilledIn) {
  RunProbe("", [](OpContext& context) {
    EXPECT_EQ(context.Attr<int32_t>("size"), 3);
    EXPECT_FALSE(context.IsGiven("size"));
    EXPECT_FALSE(context.attributes().Has("more"));
  });
  RunProbe("inputs { parameter: 'X' } inputs { parameter: 'List' } attrs { name: 'size' i: 4 }",
           [](OpContext& context) {
             EXPECT_EQ(context.Attr<int32_t>("size"), 4);
             EXPECT_TRUE(context.IsGiven("size"));
             EXPECT_EQ(context.Attr<int32_t>("more"), 9) << "it depends on the other slots";
           });
}

TEST(OpContext, KnowsItsPlaceAndItsDeclarations) {
  RunProbe("outputs { parameter: 'Out' arguments: 'y' }", [](OpContext& context) {
    EXPECT_EQ(context.Location(), "'y' (operator_test_probe, p.pbtxt:8)");
    EXPECT_EQ(context.type(), "operator_test_probe");
    ASSERT_NE(context.OutDesc("Out"), nullptr);
    EXPECT_TRUE(context.OutDesc("Out")->persistable());
    EXPECT_EQ(context.program()->name(), "p.pbtxt");
  });
  RunProbe("", [](OpContext& context) {
    EXPECT_EQ(context.Location(), "(operator_test_probe, p.pbtxt:8)");
  });
  Scope scope;
  scope.Var("undeclared");
  RunProbe(
      "outputs { parameter: 'Out' arguments: 'undeclared' }",
      [](OpContext& context) { EXPECT_EQ(context.OutDesc("Out"), nullptr); }, &scope);
}

proto::VarDesc ReaderOf(const std::string& slots) {
  return Program::FromString(
             "blocks { idx: 0 parent_idx: -1 vars { name: 'r' type { type: READER "
             "reader {" +
                 slots + "} } } }",
             "p")
      ->desc()
      .blocks(0)
      .vars(0);
}

TEST(DeclaredSlots, AreThoseOfTheDeclaration) {
  const std::vector<SlotSpec> slots =
      DeclaredSlots(ReaderOf("lod_tensor { tensor { data_type: UINT8 dims: [1, 28, -1] } }"
                             "lod_tensor { tensor { data_type: BF16 dims: -1 } lod_level: 2 }"));
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(ToString(slots[0]), "uint8 [1, 28, -1]");
  EXPECT_EQ(slots[1].dtype, DataType::kBf16);
  EXPECT_EQ(slots[1].lod_level, 2);
  EXPECT_TRUE(DeclaredSlots(ReaderOf("")).empty());
}

TEST(DeclaredSlots, WhatCannotBeIsRefusedWithItsSlot) {
  const auto refusal = [](const std::string& second) -> std::string {
    try {
      DeclaredSlots(ReaderOf("lod_tensor { tensor { data_type: FP32 dims: 1 } } " + second));
    } catch (const Error& error) {
      return error.message();
    }
    return "it was taken";
  };
  EXPECT_EQ(refusal("lod_tensor { tensor { data_type: COMPLEX64 dims: 1 } }"),
            "slot 1: data_type COMPLEX64 is not an element type of tensors");
  EXPECT_EQ(refusal("lod_tensor { tensor { data_type: FP32 } }"), "slot 1: dims are missing");
  EXPECT_EQ(refusal("lod_tensor { tensor { data_type: FP32 dims: [1, -7] } }"),
            "slot 1: dim 1 is -7; it must be -1 (any) or more");
  EXPECT_EQ(refusal("lod_tensor { tensor { data_type: FP32 dims: 1 } lod_level: -1 }"),
            "slot 1: lod_level is -1; it must be from 0 to 16");
}

TEST(ToProto, IsTheOtherWay) {
  const std::vector<Attribute> values = {
      int32_t{-3},
      0.25f,
      std::string("a\0b", 3),
      std::vector<int32_t>{1, -2},
      std::vector<float>{0.5f},
      std::vector<std::string>{"", "x"},
      true,
      std::vector<bool>{true, false},
      BlockIndex(2),
      int64_t{1} << 40,
      std::vector<BlockIndex>{BlockIndex(1), BlockIndex(3)},
      std::vector<int64_t>{int64_t{1} << 40},
      0.1,
      std::vector<double>{0.1, -0.1},
  };
  EXPECT_EQ(values.size(), std::variant_size_v<Attribute>);
  for (const Attribute& value : values) {
    proto::OpDesc::Attr attribute;
    ToProto("x", value, &attribute);
    EXPECT_EQ(attribute.name(), "x");
    EXPECT_EQ(FromProto(attribute), value) << WholeText(value);
  }
}

TEST(FromProto, RefusesTypesThatNoOperatorTakes) {
  proto::OpDesc::Attr attribute;
  attribute.set_name("a");
  attribute.set_type(proto::VARS);
  try {
    FromProto(attribute);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "attribute 'a' is VARS, which no operator here takes");
  }
}

}  // namespace
}  // namespace millhopper
