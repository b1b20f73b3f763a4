// SPDX-License-Identifier: Apache-2.0
// condition: whether a condition, which is a text, holds for an element.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "operators/math/logic/condition.h"
#include "operators/support/arguments.h"
#include "operators/support/sequences.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;
using Kind = ConditionValue::Kind;

static_assert(std::numeric_limits<long double>::digits >= 64, "it must hold every int64");

// The condition of an operator. A thread keeps the last one that it was asked for, so that a
// condition is not parsed for each element.
const Condition& ConditionOf(const std::string& text, const Strings& names) {
  struct Last {
    std::string text;
    Strings names;
    std::unique_ptr<const Condition> condition;
  };
  thread_local Last last;
  if (last.condition == nullptr || last.text != text || last.names != names) {
    last.condition.reset();
    last.condition = std::make_unique<const Condition>(text, names);
    last.text = text;
    last.names = names;
  }
  return *last.condition;
}

std::optional<Kind> KindOf(const TensorSpec& spec) {
  if (!spec.dtype || (*spec.dtype == DataType::kUint8 && !spec.lod_level)) return std::nullopt;
  if (*spec.dtype == DataType::kBool) return ConditionValue::kBool;
  const bool is_text = *spec.dtype == DataType::kUint8 && *spec.lod_level > 0;
  return is_text ? ConditionValue::kText : ConditionValue::kNumber;
}

OpSchema Schema() {
  return OpSchema(
             "Whether a condition on the slots of an element holds: comparisons (== != < <= > >=) "
             "of slots, numbers, true, false and texts in quotes, also 0 < x <= 5, `in (1, 2)`, "
             "`is missing` or `is null`, joined by and, or, not (& | ~) and parentheses, such as "
             "id % 10 != 0 and lang in (\"en\", \"de\"). Numbers may be computed by + - * / // % "
             "and parentheses, as Python does: "
             "of integers all but / is exact, and one beyond those of 64 bits is an error; else in "
             "float64; a division by zero is an error. A slot whose name is no word stands in "
             "backquotes. A slot is missing if it "
             "is NaN, or if the slot NAME.valid is false (missing=mask of fields); a comparison "
             "with one is neither true nor false, as in SQL, and neither is its not, so the "
             "condition does not hold. Texts are compared by their bytes, numbers by their values; "
             "a number in the condition is rounded to float32 where the slot is float32, and one "
             "with decimals to float64 where it is float64.")
      .Inputs("X", "slots of the element: one number, bool or text each, if the condition has them")
      .OneOrMore()
      .Output("Out", "bool [1]")
      .Attr(AttributeSchema("condition", "", "the condition").Required())
      .Attr(AttributeSchema("names", Strings(), "what the slots are called, in order").Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        Condition(attributes.Get<std::string>("condition"), attributes.Get<Strings>("names"));
      })
      .Infer([](InferContext& context) {
        const auto& names = context.Attr<Strings>("names");
        Require(names.size() == context.InCount("X"), "attribute 'names' has ", names.size(),
                " names for ", context.InCount("X"), " slots");
        ConditionOf(context.Attr<std::string>("condition"), names).CheckKinds([&](size_t slot) {
          return KindOf(context.In("X", slot));
        });
        context.SetOut("Out", {DataType::kBool, Dims{1}, 0});
      });
}

using Values = Types<bool, int64_t, float, double, int32_t, uint8_t, int8_t, int16_t, uint16_t,
                     uint32_t, uint64_t>;

// What the mask of a slot says, if it has one.
std::optional<bool> MaskOf(const OpContext& context, const Condition& condition, size_t slot) {
  const auto mask = condition.mask_of(slot);
  if (!mask) return std::nullopt;
  const LoDTensor& valid = context.In("X", *mask);
  if (valid.dtype() != DataType::kBool || valid.numel() != 1) return std::nullopt;
  return valid.data<bool>()[0];
}

ConditionValue ValueOf(const OpContext& context, const Strings& names, const Condition& condition,
                       size_t slot) {
  ConditionValue value;
  if (MaskOf(context, condition, slot) == false) return value;
  const LoDTensor& x = context.In("X", slot);
  const auto require_one = [&](size_t found) {
    Require(found == 1, "condition: slot '", Escaped(names[slot]), "' has ", found,
            " values in an element; conditions are on slots with one (filter before batch)");
  };
  if (x.dtype() == DataType::kUint8 && !x.lod().empty()) {
    const Sequences texts(x);
    require_one(texts.size());
    value.kind = ConditionValue::kText;
    value.text = TextOf(x, texts, 0);
    return value;
  }
  require_one(static_cast<size_t>(x.numel()));
  const bool found = VisitType(Values(), x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T number = x.data<T>()[0];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(number)) return;
    }
    value.kind = std::is_same_v<T, bool> ? ConditionValue::kBool : ConditionValue::kNumber;
    if constexpr (std::is_same_v<T, float>) value.precision = ConditionValue::kFloat32;
    if constexpr (std::is_same_v<T, double>) value.precision = ConditionValue::kFloat64;
    value.number = number;
  });
  Require(found, "condition: slot '", Escaped(names[slot]), "' is ", ToString(x.dtype()),
          "; the types taken are ", Values::Names());
  return value;
}

class SlotsOfElement final : public Condition::Element {
 public:
  SlotsOfElement(const OpContext& context, const Strings& names, const Condition& condition)
      : context_(context), names_(names), condition_(condition) {}

  ConditionValue At(size_t slot) const override {
    return ValueOf(context_, names_, condition_, slot);
  }
  // A mask speaks for slots of any number of values.
  bool IsMissing(size_t slot) const override {
    const std::optional<bool> valid = MaskOf(context_, condition_, slot);
    return valid ? !*valid : At(slot).kind == ConditionValue::kMissing;
  }

 private:
  const OpContext& context_;
  const Strings& names_;
  const Condition& condition_;
};

void Run(OpContext& context) {
  const auto& names = context.Attr<Strings>("names");
  const Condition& condition = ConditionOf(context.Attr<std::string>("condition"), names);
  const bool holds = condition.Holds(SlotsOfElement(context, names, condition));
  context.Out("Out")->Allocate<bool>({1})[0] = holds;
}

REGISTER_OPERATOR(condition, Schema, Run);

}  // namespace
}  // namespace millhopper
