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
constexpr size_t kMostQuoted = 200;  // bytes of it in errors

// A number of a condition as one of this precision, unless that has none so large.
long double Rounded(const ConditionValue& literal, ConditionValue::Precision precision) {
  long double rounded = literal.number;
  if (precision == ConditionValue::kFloat32) rounded = static_cast<float>(literal.number);
  if (precision == ConditionValue::kFloat64 && !literal.is_whole) {
    rounded = static_cast<double>(literal.number);
  }
  return std::isinf(rounded) ? literal.number : rounded;
}

bool IsInteger(const ConditionValue& value) {
  return value.precision == ConditionValue::kExact && value.is_whole;
}

// The quotient, rounded down, and the rest, which has the sign of b.
std::pair<double, double> DividedDown(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;  // whole, but for what is rounded
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    --quotient;
  }
  const double down = std::floor(quotient);
  return {quotient - down > 0.5 ? down + 1 : down, rest};
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What to write in place of what other languages have there, or "".
std::string_view Instead(std::string_view token) {
  static constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
      {"&", "; `and` joins conditions"},
      {"|", "; `or` joins conditions"},
      {"!", "; `not` is before what shall not hold"},
      {">", "; what is not equal is !="},
      {"*", "; a power is a product: x * x"},
      {"between", "; low <= x <= high is between"},
      {"BETWEEN", "; low <= x <= high is between"},
      {"like", "; patterns of texts are for a function: Reader.filter(function)"},
      {"LIKE", "; patterns of texts are for a function: Reader.filter(function)"},
      {"AND", "; it is written in small letters"},
      {"OR", "; it is written in small letters"},
      {"NOT", "; it is written in small letters"},
      {"IN", "; it is written in small letters"},
      {"IS", "; it is written in small letters"},
      {"NULL", "; it is written in small letters"},
  };
  for (const auto& [other, hint] : kInstead) {
    if (other == token) return hint;
  }
  return "";
}

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
    const std::string found =
        kind_ == kEnd ? "it ends" : StrCat("'", Escaped(std::string(token_)), "' stands there");
    made_.ThrowAt(StrCat("character ", Begin() + 1, ": ", wanted, " is wanted, and ", found,
                         Instead(token_)));
  }

  // Goes to the next token.
  void Next() {
    end_ = made_.text_.size() - rest_.size();
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
    } else if (IsDigit(rest_[0]) || rest_[0] == '.') {
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
      if (rest_.substr(0, 2) == "//") size = 2;
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

  void CheckParts() const {
    if (made_.nodes_.size() + made_.computed_.size() >= kMostParts) {
      made_.ThrowAt(StrCat("it has more than ", kMostParts, " parts; `in` takes many values"));
    }
  }
  size_t Add(Node node) {
    CheckParts();
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
    while (Take(kWord, "or") || Take(kSign, "|")) left = Join(Node::kOr, left, And());
    return left;
  }
  size_t And() {
    size_t left = Factor();
    while (Take(kWord, "and") || Take(kSign, "&")) left = Join(Node::kAnd, left, Factor());
    return left;
  }
  void Deeper() {
    if (++depth_ > kMostDepth) made_.ThrowAt("it is nested too deeply");
  }
  size_t Factor() {
    Deeper();
    const size_t begin = Begin();
    size_t node = 0;
    if (Take(kWord, "not") || Take(kSign, "~")) {
      node = Join(Node::kNot, Factor(), 0);
    } else if (Take(kSign, "(")) {
      node = Or();
      Expect(")");
      if (made_.nodes_[node].kind == Node::kHolds) {  // a value, with which more may be done
        Operand value = std::move(made_.nodes_[node].operands[0]);
        made_.nodes_.pop_back();
        node = Comparison(Sum(begin, Product(begin, std::move(value))));
      }
    } else {
      node = Comparison(Sum());
    }
    --depth_;
    return node;
  }

  // What follows is computed with `left`, which begins there.
  Operand Sum(size_t begin, Operand left) {
    while (Is(kSign, "+") || Is(kSign, "-")) {
      const std::string sign = TakeSign();
      left = Compute(begin, std::move(left), sign, Product());
    }
    return left;
  }
  Operand Sum() {
    const size_t begin = Begin();
    return Sum(begin, Product());
  }
  Operand Product(size_t begin, Operand left) {
    while (Is(kSign, "*") || Is(kSign, "/") || Is(kSign, "//") || Is(kSign, "%")) {
      const std::string sign = TakeSign();
      left = Compute(begin, std::move(left), sign, Value());
    }
    return left;
  }
  Operand Product() {
    const size_t begin = Begin();
    return Product(begin, Value());
  }
  Operand Value() {
    Deeper();
    const size_t begin = Begin();
    Operand value;
    if (Take(kSign, "(")) {
      value = Sum();
      Expect(")");
    } else if (Is(kSign, "-") || Is(kSign, "+")) {
      const std::string sign = TakeSign();
      if (kind_ == kNumber) {
        value = Number(sign);
      } else {
        Operand zero;
        zero.value.kind = ConditionValue::kNumber;
        zero.text = "0";
        value = Compute(begin, std::move(zero), sign, Value());
      }
    } else {
      value = TakeOperand();
    }
    --depth_;
    return value;
  }
  std::string TakeSign() {
    std::string sign(token_);
    Next();
    return sign;
  }
  // `begin` is the first character of what is computed.
  Operand Compute(size_t begin, Operand left, const std::string& sign, Operand right) {
    CheckParts();
    Operand made;
    made.computed = made_.computed_.size();
    made.text = made_.text_.substr(begin, std::min(end_ - begin, kMostQuoted));
    made_.computed_.push_back({sign, std::move(left), std::move(right)});
    return made;
  }
  // Where the token begins.
  size_t Begin() const { return made_.text_.size() - rest_.size() - token_.size(); }

  bool IsComparison() const {
    static const auto* const kComparisons =
        new std::vector<std::string>{"==", "!=", "<", "<=", ">", ">="};
    return kind_ == kSign &&
           std::find(kComparisons->begin(), kComparisons->end(), token_) != kComparisons->end();
  }
  // a < b < c is a < b and b < c, as in Python.
  size_t Comparisons(Operand left) {
    std::optional<size_t> all;
    do {
      Node node;
      node.kind = Node::kCompare;
      node.comparison = TakeSign();
      Operand right = Sum();
      node.operands = {std::move(left), right};
      left = std::move(right);
      const size_t made = Add(std::move(node));
      all = all ? Join(Node::kAnd, *all, made) : made;
    } while (IsComparison());
    return *all;
  }
  size_t Comparison(Operand left) {
    if (IsComparison()) return Comparisons(std::move(left));
    Node node;
    node.operands.push_back(std::move(left));
    bool negated = false;
    if (Take(kWord, "is")) {
      node.kind = Node::kIsMissing;
      negated = Take(kWord, "not");
      const bool is_missing = Take(kWord, "missing") || Take(kWord, "null") || Take(kWord, "None");
      if (!node.operands[0].slot || !is_missing) Fail("slot is missing");
    } else if (Is(kWord, "in") || Is(kWord, "not")) {
      node.kind = Node::kIn;
      negated = Take(kWord, "not");
      if (!Take(kWord, "in")) Fail("in");
      const bool is_list = Take(kSign, "[");
      if (!is_list) Expect("(");
      do node.operands.push_back(Literal());
      while (Take(kSign, ","));
      Expect(is_list ? "]" : ")");
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
      std::string hint(Instead(operand.text));
      if (hint.empty() && is_word && rest_.substr(0, 1) == "(") {
        hint = "; a condition has no functions: Reader.filter(function) calls one of Python";
      }
      if (hint.empty()) hint = DidYouMean(operand.text, names_);
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

  // A number after its sign, or "" for one without.
  Operand Number(const std::string& sign) {
    Operand operand;
    operand.value.kind = ConditionValue::kNumber;
    if (kind_ != kNumber) Fail("a number");
    operand.value.number = NumberOf(token_);
    if (sign == "-") operand.value.number = -operand.value.number;
    operand.value.is_whole = token_.find_first_of(".eE") == std::string_view::npos;
    operand.text = sign + std::string(token_);
    Next();
    return operand;
  }

  Operand Literal() {
    if (Is(kSign, "-") || Is(kSign, "+")) return Number(TakeSign());
    if (kind_ == kNumber) return Number("");
    Operand operand;
    if (kind_ == kText) {
      operand.value.kind = ConditionValue::kText;
      operand.text = quoted_;
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
    const char* const end = text.data() + text.size();
    const auto whole = [&](auto number) -> std::optional<long double> {
      const auto read = std::from_chars(text.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
      return static_cast<long double>(number);
    };
    // Exactly, if it is an integer.
    if (const auto number = whole(uint64_t{})) return *number;
    const auto number = whole(0.0L);
    if (!number) Fail("a number");
    return *number;
  }

  const std::vector<std::string>& names_;
  Condition& made_;
  std::string_view rest_;  // after the token
  TokenKind kind_ = kEnd;
  std::string_view token_;
  std::string quoted_;  // of a name or a text in quotes
  size_t end_ = 0;      // of the token before
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
  Throw(ErrorCode::kInvalidArgument, "condition '", Escaped(text_.substr(0, kMostQuoted)),
        "': ", problem);
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

void Condition::CheckComputes(const Computed& computed, const Operand& operand,
                              std::optional<ConditionValue::Kind> kind) const {
  if (!kind || *kind == ConditionValue::kNumber || *kind == ConditionValue::kMissing) return;
  ThrowAt(StrCat("'", Escaped(operand.text), "' is ", NameOf(*kind), ", and ", computed.sign,
                 " computes with numbers"));
}

void Condition::CheckKinds(const KindOfSlot& kind_of) const {
  const auto kind = [&](const Operand& operand) -> std::optional<ConditionValue::Kind> {
    if (operand.computed) return ConditionValue::kNumber;
    return operand.slot ? kind_of(*operand.slot) : operand.value.kind;
  };
  for (const Computed& computed : computed_) {
    CheckComputes(computed, computed.left, kind(computed.left));
    CheckComputes(computed, computed.right, kind(computed.right));
  }
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

ConditionValue Condition::ValueOf(const Operand& operand, const Element& element) const {
  if (operand.slot) return element.At(*operand.slot);
  if (operand.computed) return Compute(computed_[*operand.computed], element);
  ConditionValue literal = operand.value;
  literal.text = operand.text;
  return literal;
}

ConditionValue Condition::Compute(const Computed& computed, const Element& element) const {
  const ConditionValue left = ValueOf(computed.left, element);
  const ConditionValue right = ValueOf(computed.right, element);
  CheckComputes(computed, computed.left, left.kind);
  CheckComputes(computed, computed.right, right.kind);
  ConditionValue made;
  if (left.kind == ConditionValue::kMissing || right.kind == ConditionValue::kMissing) return made;
  made.kind = ConditionValue::kNumber;
  const char sign = computed.sign[0];
  if ((sign == '/' || sign == '%') && static_cast<double>(right.number) == 0) {
    ThrowAt(StrCat("'", Escaped(computed.right.text), "' is 0, by which ", computed.sign,
                   " divides; what should not be divided is left out by a condition and `and` ",
                   "before it"));
  }
  if (IsInteger(left) && IsInteger(right) && computed.sign != "/") {
    made.number = ComputedExactly(computed, left.number, right.number);
    return made;
  }
  const auto a = static_cast<double>(left.number);
  const auto b = static_cast<double>(right.number);
  const double number = sign == '+'             ? a + b
                        : sign == '-'           ? a - b
                        : sign == '*'           ? a * b
                        : sign == '%'           ? DividedDown(a, b).second
                        : computed.sign == "//" ? DividedDown(a, b).first
                                                : a / b;
  if (std::isnan(number)) made.kind = ConditionValue::kMissing;
  made.number = number;
  made.precision = ConditionValue::kFloat64;
  return made;
}

long double Condition::ComputedExactly(const Computed& computed, long double left,
                                       long double right) const {
  // Twice as large as what a product needs.
  using Wide = __int128;
  constexpr long double kLowest = -9223372036854775808.0L, kHighest = 18446744073709551615.0L;
  long double made = left;
  if (left >= kLowest && left <= kHighest && right >= kLowest && right <= kHighest) {
    const auto a = static_cast<Wide>(left), b = static_cast<Wide>(right);
    Wide number = 0;
    bool is_too_large = false;
    if (computed.sign == "+") number = a + b;
    if (computed.sign == "-") number = a - b;
    if (computed.sign == "*") is_too_large = __builtin_mul_overflow(a, b, &number);
    if (computed.sign == "//" || computed.sign == "%") {
      const bool down = a % b != 0 && (a % b < 0) != (b < 0);
      number = computed.sign == "%" ? a % b + (down ? b : 0) : a / b - (down ? 1 : 0);
    }
    made = static_cast<long double>(number);
    if (!is_too_large && made >= kLowest && made <= kHighest) return made;
  }
  ThrowAt(StrCat("'", Escaped(computed.left.text), "' ", computed.sign, " '",
                 Escaped(computed.right.text), "' is an integer beyond 64 bits; with a 1.0 * ",
                 "before it, it is computed in float64"));
}

Condition::Truth Condition::Compare(const std::string& comparison, const Operand& left,
                                    ConditionValue a, const Operand& right,
                                    const Element& element) const {
  ConditionValue b = ValueOf(right, element);
  CheckPair(left, a.kind, right, b.kind);
  if (a.kind == ConditionValue::kMissing || b.kind == ConditionValue::kMissing) {
    return Truth::kUnknown;
  }
  int order = 0;
  if (a.kind == ConditionValue::kText) {
    order = a.text.compare(b.text);
  } else {
    // 0.1 in a slot of float32 is the float32 nearest to 0.1.
    if (right.is_literal()) b.number = Rounded(b, a.precision);
    if (left.is_literal()) a.number = Rounded(a, b.precision);
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
      return Compare(node.comparison, node.operands[0], ValueOf(node.operands[0], element),
                     node.operands[1], element);
    case Node::kIn: {
      const ConditionValue left = ValueOf(node.operands[0], element);
      Truth found = Truth::kFalse;
      for (size_t i = 1; i < node.operands.size() && found == Truth::kFalse; ++i) {
        found = Compare("==", node.operands[0], left, node.operands[i], element);
      }
      return found;
    }
    case Node::kIsMissing:
      return truth(element.IsMissing(*node.operands[0].slot));
    case Node::kHolds:
      break;
  }
  const ConditionValue value = ValueOf(node.operands[0], element);
  return value.kind == ConditionValue::kMissing ? Truth::kUnknown : truth(value.number != 0);
}

bool Condition::Holds(const Element& element) const {
  return Evaluate(nodes_.size() - 1, element) == Truth::kTrue;
}

}  // namespace millhopper
