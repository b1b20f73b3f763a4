// SPDX-License-Identifier: Apache-2.0
#include "operators/math/logic/condition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"

namespace millhopper {
namespace {

constexpr size_t kMostBytes = 65536;
constexpr size_t kMostParts = 1000;  // which are computed within one another
constexpr int kMostDepth = 100;

// A number of a condition as one of this precision, unless that has none so large.
long double Rounded(const ConditionValue& literal, ConditionValue::Precision precision) {
  long double rounded = literal.number;
  if (precision == ConditionValue::kFloat32) rounded = static_cast<float>(literal.number);
  if (precision == ConditionValue::kFloat64 && !literal.is_whole) {
    rounded = static_cast<double>(literal.number);
  }
  return std::isinf(rounded) ? literal.number : rounded;
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class ConditionParser {
 public:
  ConditionParser(const std::vector<std::string>& names, Condition* made)
      : names_(names), made_(*made), rest_(made->text_) {}

  void Parse() {
    Require(rest_.size() <= kMostBytes, "a condition has ", rest_.size(), " bytes; at most ",
            kMostBytes, " are possible");
    Next();
    Or();
    if (kind_ != kEnd) Fail("and, or, or the end");
  }

 private:
  using Node = Condition::Node;
  using Operand = Condition::Operand;
  enum TokenKind { kEnd, kWord, kQuotedName, kNumber, kText, kSign };

  [[noreturn]] void Fail(const std::string& wanted) const {
    const size_t at = made_.text_.size() - rest_.size() - token_.size();
    const std::string found =
        kind_ == kEnd ? "it ends" : StrCat("'", Escaped(std::string(token_)), "' stands there");
    made_.ThrowAt(StrCat("character ", at + 1, ": ", wanted, " is wanted, and ", found));
  }

  // Goes to the next token.
  void Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    size_t size = 1;
    if (rest_.empty()) {
      kind_ = kEnd;
      size = 0;
    } else if (IsLetter(rest_[0])) {
      kind_ = kWord;
      while (size < rest_.size() &&
             (IsLetter(rest_[size]) || IsDigit(rest_[size]) || rest_[size] == '.')) {
        ++size;
      }
    } else if (IsDigit(rest_[0]) || rest_[0] == '-' || rest_[0] == '+' || rest_[0] == '.') {
      kind_ = kNumber;
      while (size < rest_.size() &&
             (IsLetter(rest_[size]) || IsDigit(rest_[size]) || rest_[size] == '.' ||
              ((rest_[size] == '-' || rest_[size] == '+') &&
               (rest_[size - 1] == 'e' || rest_[size - 1] == 'E')))) {
        ++size;
      }
    } else if (rest_[0] == '"' || rest_[0] == '\'' || rest_[0] == '`') {
      kind_ = rest_[0] == '`' ? kQuotedName : kText;
      size = Quoted();
    } else {
      kind_ = kSign;
      if (rest_.size() > 1 && rest_[1] == '=' && std::string_view("=!<>").find(rest_[0]) < 4) {
        size = 2;
      }
    }
    token_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  // Sets quoted_ to what stands in quotes, where a backslash keeps a quote and a backslash; returns
  // how long it is with its quotes.
  size_t Quoted() {
    quoted_.clear();
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == rest_[0]) return i + 1;
      const bool escapes = rest_[i] == '\\' && i + 1 < rest_.size() &&
                           (rest_[i + 1] == rest_[0] || rest_[i + 1] == '\\');
      if (escapes) ++i;
      quoted_.push_back(rest_[i]);
    }
    made_.ThrowAt(StrCat("character ", made_.text_.size() - rest_.size() + 1, ": the quote ",
                         rest_.substr(0, 1), " is not closed"));
  }

  bool Is(TokenKind kind, std::string_view text) const { return kind_ == kind && token_ == text; }
  bool Take(TokenKind kind, std::string_view text) {
    if (!Is(kind, text)) return false;
    Next();
    return true;
  }
  void Expect(std::string_view sign) {
    if (!Take(kSign, sign)) Fail(std::string(sign));
  }

  size_t Add(Node node) {
    if (made_.nodes_.size() >= kMostParts) {
      made_.ThrowAt(StrCat("it has more than ", kMostParts, " parts; `in` takes many values"));
    }
    made_.nodes_.push_back(std::move(node));
    return made_.nodes_.size() - 1;
  }
  size_t Join(Node::Kind kind, size_t left, size_t right) {
    Node node;
    node.kind = kind;
    node.left = left;
    node.right = right;
    return Add(std::move(node));
  }

  size_t Or() {
    size_t left = And();
    while (Take(kWord, "or")) left = Join(Node::kOr, left, And());
    return left;
  }
  size_t And() {
    size_t left = Factor();
    while (Take(kWord, "and")) left = Join(Node::kAnd, left, Factor());
    return left;
  }
  size_t Factor() {
    if (++depth_ > kMostDepth) made_.ThrowAt("it is nested too deeply");
    size_t node = 0;
    if (Take(kWord, "not")) {
      node = Join(Node::kNot, Factor(), 0);
    } else if (Take(kSign, "(")) {
      node = Or();
      Expect(")");
    } else {
      node = Comparison();
    }
    --depth_;
    return node;
  }

  size_t Comparison() {
    Node node;
    node.operands.push_back(TakeOperand());
    static const auto* const kComparisons =
        new std::vector<std::string>{"==", "!=", "<", "<=", ">", ">="};
    bool negated = false;
    if (kind_ == kSign &&
        std::find(kComparisons->begin(), kComparisons->end(), token_) != kComparisons->end()) {
      node.kind = Node::kCompare;
      node.comparison = token_;
      Next();
      node.operands.push_back(TakeOperand());
    } else if (Take(kWord, "is")) {
      node.kind = Node::kIsMissing;
      negated = Take(kWord, "not");
      if (!node.operands[0].slot || !Take(kWord, "missing")) Fail("slot is missing");
    } else if (Is(kWord, "in") || Is(kWord, "not")) {
      node.kind = Node::kIn;
      negated = Take(kWord, "not");
      if (!Take(kWord, "in")) Fail("in");
      Expect("(");
      do node.operands.push_back(Literal());
      while (Take(kSign, ","));
      Expect(")");
    } else if (Is(kSign, "=")) {
      Fail("==");
    }
    const size_t made = Add(std::move(node));
    return negated ? Join(Node::kNot, made, 0) : made;
  }

  Operand TakeOperand() {
    const bool is_word = kind_ == kWord && token_ != "true" && token_ != "false";
    if (!is_word && kind_ != kQuotedName) return Literal();
    Operand operand;
    operand.text = is_word ? std::string(token_) : quoted_;
    const auto found = std::find(names_.begin(), names_.end(), operand.text);
    if (found == names_.end()) {
      std::string all;
      for (const std::string& name : names_) all += StrCat(all.empty() ? "" : ", ", Escaped(name));
      const std::string hint = DidYouMean(operand.text, names_);
      made_.ThrowAt(StrCat("there is no slot '", Escaped(operand.text), "'",
                           hint.empty() ? StrCat("; there are ", all) : hint));
    }
    operand.slot = static_cast<size_t>(found - names_.begin());
    if (std::find(made_.slots_.begin(), made_.slots_.end(), *operand.slot) == made_.slots_.end()) {
      made_.slots_.push_back(*operand.slot);
    }
    Next();
    return operand;
  }

  Operand Literal() {
    Operand operand;
    if (kind_ == kText) {
      operand.value.kind = ConditionValue::kText;
      operand.text = quoted_;
    } else if (kind_ == kNumber) {
      operand.value.kind = ConditionValue::kNumber;
      operand.value.number = NumberOf(token_);
      operand.value.is_whole = token_.find_first_of(".eE") == std::string_view::npos;
      operand.text = token_;
    } else if (Is(kWord, "true") || Is(kWord, "false")) {
      operand.value.kind = ConditionValue::kBool;
      operand.value.number = token_ == "true" ? 1 : 0;
      operand.text = token_;
    } else {
      Fail("a slot, a number or a text in quotes");
    }
    Next();
    return operand;
  }

  long double NumberOf(std::string_view text) const {
    if (text.substr(0, 1) == "+") text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto whole = [&](auto number) -> std::optional<long double> {
      const auto read = std::from_chars(text.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
      return static_cast<long double>(number);
    };
    // Exactly, if it is an integer.
    if (const auto number = whole(int64_t{})) return *number;
    if (const auto number = whole(uint64_t{})) return *number;
    // Not inf and nan, which from_chars takes.
    const bool has_digits = text.find_first_of("0123456789") <= (text.substr(0, 1) == "-" ? 2 : 1);
    const auto number = has_digits ? whole(0.0L) : std::nullopt;
    if (!number) Fail("a number");
    return *number;
  }

  const std::vector<std::string>& names_;
  Condition& made_;
  std::string_view rest_;  // after the token
  TokenKind kind_ = kEnd;
  std::string_view token_;
  std::string quoted_;  // of a name or a text in quotes
  int depth_ = 0;
};

namespace {

const char* NameOf(ConditionValue::Kind kind) {
  switch (kind) {
    case ConditionValue::kBool:
      return "true or false";
    case ConditionValue::kNumber:
      return "a number";
    case ConditionValue::kText:
      return "text";
    case ConditionValue::kMissing:
      break;
  }
  return "missing";
}

}  // namespace

Condition::Condition(const std::string& text, const std::vector<std::string>& names) : text_(text) {
  ConditionParser(names, this).Parse();
  for (const std::string& name : names) {
    const auto mask = std::find(names.begin(), names.end(), name + ".valid");
    masks_.emplace_back();
    if (mask != names.end()) masks_.back() = static_cast<size_t>(mask - names.begin());
  }
}

void Condition::ThrowAt(const std::string& problem) const {
  Throw(ErrorCode::kInvalidArgument, "condition '", Escaped(text_.substr(0, 200)), "': ", problem);
}

void Condition::CheckPair(const Operand& left, std::optional<ConditionValue::Kind> left_kind,
                          const Operand& right,
                          std::optional<ConditionValue::Kind> right_kind) const {
  if (!left_kind || !right_kind || *left_kind == *right_kind) return;
  if (*left_kind == ConditionValue::kMissing || *right_kind == ConditionValue::kMissing) return;
  const auto what = [](const Operand& operand, ConditionValue::Kind kind) {
    return StrCat(operand.slot ? "slot " : "", "'", Escaped(operand.text), "' is ", NameOf(kind));
  };
  ThrowAt(StrCat(what(left, *left_kind), ", and ", what(right, *right_kind),
                 "; only what is of one kind is compared"));
}

void Condition::CheckKinds(const KindOfSlot& kind_of) const {
  const auto kind = [&](const Operand& operand) {
    return operand.slot ? kind_of(*operand.slot) : operand.value.kind;
  };
  for (const Node& node : nodes_) {
    if (node.kind == Node::kHolds) {
      const auto found = kind(node.operands[0]);
      if (!found || *found == ConditionValue::kBool) continue;
      ThrowAt(StrCat("'", Escaped(node.operands[0].text), "' is ", NameOf(*found),
                     ", which is neither true nor false; compare it, as in ",
                     *found == ConditionValue::kText ? "== \"en\"" : "!= 0"));
    }
    for (size_t i = 1; i < node.operands.size(); ++i) {
      CheckPair(node.operands[0], kind(node.operands[0]), node.operands[i], kind(node.operands[i]));
    }
  }
}

Condition::Truth Condition::Compare(const std::string& comparison, const Operand& left,
                                    const Operand& right, const Element& element) const {
  const auto value = [&](const Operand& operand) {
    if (operand.slot) return element.At(*operand.slot);
    ConditionValue literal = operand.value;
    literal.text = operand.text;
    return literal;
  };
  ConditionValue a = value(left);
  ConditionValue b = value(right);
  CheckPair(left, a.kind, right, b.kind);
  if (a.kind == ConditionValue::kMissing || b.kind == ConditionValue::kMissing) {
    return Truth::kUnknown;
  }
  int order = 0;
  if (a.kind == ConditionValue::kText) {
    order = a.text.compare(b.text);
  } else {
    // 0.1 in a slot of float32 is the float32 nearest to 0.1.
    if (left.slot && !right.slot) b.number = Rounded(b, a.precision);
    if (right.slot && !left.slot) a.number = Rounded(a, b.precision);
    order = a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  }
  const bool holds = comparison == "=="   ? order == 0
                     : comparison == "!=" ? order != 0
                     : comparison == "<"  ? order < 0
                     : comparison == "<=" ? order <= 0
                     : comparison == ">"  ? order > 0
                                          : order >= 0;
  return holds ? Truth::kTrue : Truth::kFalse;
}

Condition::Truth Condition::Evaluate(size_t number, const Element& element) const {
  const Node& node = nodes_[number];
  const auto truth = [](bool holds) { return holds ? Truth::kTrue : Truth::kFalse; };
  switch (node.kind) {
    case Node::kOr:
    case Node::kAnd: {
      const Truth decides = truth(node.kind == Node::kOr);
      const Truth left = Evaluate(node.left, element);
      if (left == decides) return decides;
      const Truth right = Evaluate(node.right, element);
      if (right == decides) return decides;
      return left == Truth::kUnknown ? left : right;
    }
    case Node::kNot: {
      const Truth inner = Evaluate(node.left, element);
      return inner == Truth::kUnknown ? inner : truth(inner == Truth::kFalse);
    }
    case Node::kCompare:
      return Compare(node.comparison, node.operands[0], node.operands[1], element);
    case Node::kIn: {
      Truth found = Truth::kFalse;
      for (size_t i = 1; i < node.operands.size() && found == Truth::kFalse; ++i) {
        found = Compare("==", node.operands[0], node.operands[i], element);
      }
      return found;
    }
    case Node::kIsMissing:
      return truth(element.IsMissing(*node.operands[0].slot));
    case Node::kHolds:
      break;
  }
  const Operand& operand = node.operands[0];
  const ConditionValue value = operand.slot ? element.At(*operand.slot) : operand.value;
  return value.kind == ConditionValue::kMissing ? Truth::kUnknown : truth(value.number != 0);
}

bool Condition::Holds(const Element& element) const {
  return Evaluate(nodes_.size() - 1, element) == Truth::kTrue;
}

}  // namespace millhopper
