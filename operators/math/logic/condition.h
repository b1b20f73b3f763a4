// SPDX-License-Identifier: Apache-2.0
// Conditions on the slots of an element, as text: `id % 10 != 0 and lang in ("en", "de")`.
#ifndef MILLHOPPER_OPERATORS_MATH_LOGIC_CONDITION_H_
#define MILLHOPPER_OPERATORS_MATH_LOGIC_CONDITION_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millhopper {

// What a slot holds, or what a text of a condition says.
struct ConditionValue {
  enum Kind { kMissing, kBool, kNumber, kText };
  Kind kind = kMissing;
  // Of a number; a bool is 0 or 1. It holds every int64, uint64 and double.
  long double number = 0;
  // What a number that the condition writes is rounded to where it is compared with this one.
  enum Precision { kExact, kFloat32, kFloat64 };
  Precision precision = kExact;
  bool is_whole = true;  // of a number that the condition writes: it has no decimals
  std::string_view text;
};

// A condition that has been parsed. Immutable; any thread.
//
//   condition  = part {"or" part};  part = factor {"and" factor};
//   factor     = "not" factor | "(" condition ")" | sum [comparison]
//   comparison = order sum {order sum}
//              | ["not"] "in" "(" literal {"," literal} ")" | "is" ["not"] "missing"
//   order      = "==" | "!=" | "<" | "<=" | ">" | ">="
//   sum        = product {("+" | "-") product}
//   product    = operand {("*" | "/" | "//" | "%") operand}
//   operand    = ("+" | "-") operand | "(" sum ")" | slot | literal
//   literal    = ["+" | "-"] number | "text" | 'text' | true | false
//   slot       = letters, digits, "_" and "." | `any characters`
//
// "|", "&" and "~" are "or", "and" and "not", as in query of pandas; a list may stand in brackets,
// and "null" and "None" for "missing". Comparisons one after another, 0 < x <= 5, hold if each
// does. Numbers are computed as Python does: of integers + - * // % are exact and integers, of
// which one beyond those of 64 bits is an error; all else is float64. // rounds down, % has the
// sign of its right side, and a division by zero is an error. What is computed of a missing slot is
// missing.
//
// A comparison with a slot that is missing is neither true nor false, as in SQL, and neither is its
// "not"; only what is true holds.
class Condition {
 public:
  // Throws kInvalidArgument, with the place, for a text of another form, one of more than 64 KiB,
  // of more than 1,000 parts or with parentheses deeper than 100, and a slot that is not among
  // `names`.
  Condition(const std::string& text, const std::vector<std::string>& names);

  // The numbers of the slots that it reads, in order of their names in the text.
  const std::vector<size_t>& slots() const { return slots_; }
  // The slot NAME.valid, which says whether slot number `slot`, called NAME, has a value.
  std::optional<size_t> mask_of(size_t slot) const { return masks_[slot]; }
  // Throws kInvalidArgument where kinds do not fit each other; `kind_of` says what is known of a
  // slot.
  using KindOfSlot = std::function<std::optional<ConditionValue::Kind>(size_t slot)>;
  void CheckKinds(const KindOfSlot& kind_of) const;

  // Whether it is true. Throws as CheckKinds, and for what cannot be computed.
  class Element {
   public:
    virtual ~Element() = default;
    virtual ConditionValue At(size_t slot) const = 0;
    virtual bool IsMissing(size_t slot) const = 0;
  };
  bool Holds(const Element& element) const;

 private:
  friend class ConditionParser;
  enum class Truth { kFalse, kTrue, kUnknown };
  struct Operand {
    bool is_literal() const { return !slot && !computed; }

    std::optional<size_t> slot;
    std::optional<size_t> computed;  // in computed_
    ConditionValue value;            // of a literal
    std::string text;                // that value.text shows; of a slot its name
  };
  struct Computed {
    std::string sign;  // "+" ...
    Operand left, right;
  };
  struct Node {
    enum Kind { kOr, kAnd, kNot, kCompare, kIn, kIsMissing, kHolds };
    Kind kind = kHolds;
    size_t left = 0, right = 0;  // nodes
    std::string comparison;      // "==" ...
    std::vector<Operand> operands;
  };

  void CheckPair(const Operand& left, std::optional<ConditionValue::Kind> left_kind,
                 const Operand& right, std::optional<ConditionValue::Kind> right_kind) const;
  void CheckComputes(const Computed& computed, const Operand& operand,
                     std::optional<ConditionValue::Kind> kind) const;
  Truth Evaluate(size_t node, const Element& element) const;
  ConditionValue ValueOf(const Operand& operand, const Element& element) const;
  ConditionValue Compute(const Computed& computed, const Element& element) const;
  // Throws kInvalidArgument for an integer beyond those of 64 bits.
  long double ComputedExactly(const Computed& computed, long double left, long double right) const;
  // `a` is the value of `left`.
  Truth Compare(const std::string& comparison, const Operand& left, ConditionValue a,
                const Operand& right, const Element& element) const;
  [[noreturn]] void ThrowAt(const std::string& problem) const;

  std::string text_;
  std::vector<Node> nodes_;  // the last one is the condition
  std::vector<Computed> computed_;
  std::vector<size_t> slots_;
  std::vector<std::optional<size_t>> masks_;  // by slot
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_LOGIC_CONDITION_H_
