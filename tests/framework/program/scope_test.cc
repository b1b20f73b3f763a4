// SPDX-License-Identifier: Apache-2.0
// Variables of any type, and scopes over scopes.
#include "framework/program/scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

std::string MessageOf(const Variable& variable, bool tensor) {
  try {
    if (tensor) {
      variable.Get<LoDTensor>();
    } else {
      variable.Get<Words>();
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(Variable, HoldsNothingAtFirst) {
  const Variable variable("x");
  EXPECT_FALSE(variable.has_value());
  EXPECT_FALSE(variable.Holds<LoDTensor>());
  EXPECT_FALSE(variable.Holds<Words>());
  EXPECT_EQ(MessageOf(variable, true), "variable 'x' has no value yet: nothing has written to it");
}

TEST(Variable, TakesTheTypeThatIsWritten) {
  Variable variable("x");
  variable.GetMutable<Words>()->push_back("a");
  EXPECT_TRUE(variable.Holds<Words>());
  EXPECT_FALSE(variable.Holds<LoDTensor>());
  EXPECT_EQ(variable.GetMutable<Words>()->size(), 1u) << "the value stays";
  EXPECT_EQ(MessageOf(variable, true).rfind("variable 'x' holds a ", 0), 0u);

  *variable.GetMutable<LoDTensor>() = MakeTensor<float>({1}, {2});
  EXPECT_TRUE(variable.Holds<LoDTensor>());
  EXPECT_FALSE(variable.Holds<Words>());
  EXPECT_EQ(MessageOf(variable, false).rfind("variable 'x' holds a LoDTensor, not a ", 0), 0u);

  EXPECT_TRUE(variable.GetMutable<Words>()->empty()) << "a new value takes the other's place";
}

TEST(Variable, ResetForgetsTheValueButKeepsATensorsMemory) {
  Variable variable("x");
  variable.GetMutable<LoDTensor>()->Allocate<float>({100});
  const void* memory = variable.Get<LoDTensor>().raw_data();
  variable.Reset();
  EXPECT_FALSE(variable.has_value());
  EXPECT_FALSE(variable.Holds<LoDTensor>());
  variable.GetMutable<LoDTensor>()->Allocate<float>({50});
  EXPECT_EQ(variable.Get<LoDTensor>().raw_data(), memory);
}

TEST(Variable, ResetDestroysOtherValues) {
  Variable variable("x");
  const auto counted = std::make_shared<int>(1);
  *variable.GetMutable<std::shared_ptr<int>>() = counted;
  EXPECT_EQ(counted.use_count(), 2);
  variable.Reset();
  EXPECT_EQ(counted.use_count(), 1);
  EXPECT_FALSE(variable.has_value());
}

TEST(Scope, FindsVariablesOfItselfAndOfItsParents) {
  Scope root;
  Scope inner(&root);
  Variable* a = root.Var("a");
  Variable* b = inner.Var("b");
  EXPECT_EQ(root.Var("a"), a) << "made once";
  EXPECT_EQ(a->name(), "a");
  EXPECT_EQ(inner.Find("a"), a);
  EXPECT_EQ(inner.Find("b"), b);
  EXPECT_EQ(inner.FindLocal("a"), nullptr);
  EXPECT_EQ(root.Find("b"), nullptr);
  EXPECT_EQ(inner.parent(), &root);
  EXPECT_EQ(inner.root(), &root);
  EXPECT_EQ(root.root(), &root);
}

TEST(Scope, AnInnerVariableHidesAnOuterOneOfItsName) {
  Scope root;
  Scope inner(&root);
  Variable* outer_x = root.Var("x");
  Variable* inner_x = inner.Var("x");
  EXPECT_NE(outer_x, inner_x);
  EXPECT_EQ(inner.Find("x"), inner_x);
  EXPECT_EQ(root.Find("x"), outer_x);
}

TEST(Scope, ResetVariablesLeavesThoseOfTheParent) {
  Scope root;
  Scope inner(&root);
  root.Var("a")->GetMutable<LoDTensor>();
  inner.Var("c")->GetMutable<LoDTensor>();
  inner.Var("b")->GetMutable<Words>();
  EXPECT_EQ(inner.LocalNames(), (Words{"b", "c"}));
  inner.ResetVariables();
  EXPECT_TRUE(root.Find("a")->has_value());
  EXPECT_FALSE(inner.Find("b")->has_value());
  EXPECT_FALSE(inner.Find("c")->has_value());
  EXPECT_EQ(inner.LocalNames(), (Words{"b", "c"})) << "the variables themselves stay";
}

}  // namespace
}  // namespace millhopper
