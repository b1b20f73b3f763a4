// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/pattern.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr uint32_t kUnbounded = UINT32_MAX;
constexpr size_t kMostBytes = size_t{1} << 16;  // of an expression
constexpr size_t kMostSteps = 10000;
constexpr size_t kMostSets = 1000;                // of characters, no two of which are equal
constexpr size_t kMostDepth = 50;                 // of groups in groups, and sets in sets
constexpr uint32_t kMostBehind = 255;             // characters that a lookbehind may match
constexpr size_t kMostChoices = size_t{1} << 20;  // that a match leaves open
// What a match may cost, and more for each byte of the text: a step of the expression, a way that
// is gone back to, a character that a repetition takes and one that a lookbehind goes back are 1
// each.
constexpr size_t kMostWork = size_t{1} << 26;
constexpr size_t kMostWorkAByte = 256;

bool IsWord(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct NamedCategories {
  std::string_view name;
  Categories categories;
};
constexpr NamedCategories kNamed[] = {
    {"L", kAnyLetter},
    {"Lu", Only(Category::kLu)},
    {"Ll", Only(Category::kLl)},
    {"Lt", Only(Category::kLt)},
    {"Lm", Only(Category::kLm)},
    {"Lo", Only(Category::kLo)},
    {"M", kAnyMark},
    {"Mn", Only(Category::kMn)},
    {"Mc", Only(Category::kMc)},
    {"Me", Only(Category::kMe)},
    {"N", kAnyNumber},
    {"Nd", Only(Category::kNd)},
    {"Nl", Only(Category::kNl)},
    {"No", Only(Category::kNo)},
    {"P", kAnyPunctuation},
    {"Pc", Only(Category::kPc)},
    {"Pd", Only(Category::kPd)},
    {"Ps", Only(Category::kPs)},
    {"Pe", Only(Category::kPe)},
    {"Pi", Only(Category::kPi)},
    {"Pf", Only(Category::kPf)},
    {"Po", Only(Category::kPo)},
    {"S", kAnySymbol},
    {"Sm", Only(Category::kSm)},
    {"Sc", Only(Category::kSc)},
    {"Sk", Only(Category::kSk)},
    {"So", Only(Category::kSo)},
    {"Z", kAnySeparator},
    {"Zs", Only(Category::kZs)},
    {"Zl", Only(Category::kZl)},
    {"Zp", Only(Category::kZp)},
    {"C", kAnyControl | Only(Category::kCn)},
    {"Cc", Only(Category::kCc) | Only(Category::kNextLine)},
    {"Cf", Only(Category::kCf)},
    {"Cn", Only(Category::kCn)},
    {"Co", Only(Category::kCo)},
    {"LC", Between(Category::kLu, Category::kLt)},
};

// \w. Rust has the joiners, too, and Oniguruma the superscripts and fractions of Latin-1.
CharSet Words(Pattern::Notation notation) {
  CharSet set = CharSet::Of(kAnyWord);
  for (const auto& [first, last] : kAlphabeticSymbols) set.Add(CharSet::Of(first, last));
  const bool is_rust = notation == Pattern::Notation::kRust;
  set.Add(is_rust ? CharSet::Of(0x200c, 0x200d)
                  : CharSet({{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}}));
  return set;
}

// How many characters a part of an expression may match.
struct Length {
  uint32_t min = 0;
  uint32_t max = 0;

  bool may_be_empty() const { return min == 0; }
  void Then(const Length& next) {
    min = Sum(min, next.min);
    max = Sum(max, next.max);
  }
  void Or(const Length& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  // At least `least` times, at most `most` times.
  void Times(uint32_t least, uint32_t most) {
    min = Product(min, least);
    max = Product(max, most);
  }

 private:
  static uint32_t Sum(uint32_t left, uint32_t right) {
    return left > kUnbounded - right ? kUnbounded : left + right;
  }
  static uint32_t Product(uint32_t left, uint32_t right) {
    uint32_t product = 0;
    return __builtin_mul_overflow(left, right, &product) ? kUnbounded : product;
  }
};

}  // namespace

// Makes steps of an expression.
class PatternParser {
 public:
  PatternParser(std::string_view text, Pattern::Notation notation, Pattern* pattern)
      : text_(text), notation_(notation), pattern_(pattern) {}

  void Parse() {
    if (text_.size() > kMostBytes) Refuse("it has more than ", kMostBytes, " bytes");
    if (EndOfUtf8(Bytes(), Bytes() + text_.size()) != Bytes() + text_.size()) {
      Refuse("it is not UTF-8");
    }
    const Length length = Alternatives(false, 0);
    if (at_ != text_.size()) Refuse("a ) ends no group");
    if (length.may_be_empty()) Refuse("all of it may match no character");
    Emit(Pattern::Op::kEnd);
    for (CharSet& set : pattern_->sets_) set.Index();
  }

 private:
  using Notation = Pattern::Notation;
  using Op = Pattern::Op;
  using Step = Pattern::Step;

  template <typename... Parts>
  [[noreturn]] void Refuse(const Parts&... parts) const {
    throw Error(ErrorCode::kInvalidArgument,
                StrCat("the regular expression '", Shown(text_),
                       "' is not supported: at character ", at_, ": ", parts...));
  }
  const uint8_t* Bytes() const { return reinterpret_cast<const uint8_t*>(text_.data()); }
  bool More() const { return at_ < text_.size(); }
  bool Next(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
  bool Take(std::string_view word) {
    if (!Next(word)) return false;
    at_ += word.size();
    return true;
  }
  uint32_t TakePoint() {
    if (!More()) Refuse("it ends too early");
    const uint32_t point = CodePointAt(Bytes() + at_);
    at_ += Utf8Length(Bytes()[at_]);
    return point;
  }

  std::vector<Step>& steps() { return pattern_->steps_; }
  uint32_t Here() { return static_cast<uint32_t>(steps().size()); }
  size_t Emit(Op op, uint32_t a = 0, uint32_t b = 0) {
    if (steps().size() >= kMostSteps) Refuse("it has more than ", kMostSteps, " steps");
    steps().push_back({op, a, b});
    return steps().size() - 1;
  }
  void Insert(uint32_t at, Step step) {
    if (steps().size() >= kMostSteps) Refuse("it has more than ", kMostSteps, " steps");
    // What lies before goes on at the new step, and what is moved goes on at what is moved.
    for (uint32_t i = 0; i < Here(); ++i) {
      Step& other = steps()[i];
      const uint32_t first_moved = i < at ? at + 1 : at;
      if (Jumps(other.op) && other.a >= first_moved) ++other.a;
      if (other.op == Op::kSplit && other.b >= first_moved) ++other.b;
    }
    steps().insert(steps().begin() + at, step);
  }
  static bool Jumps(Op op) {
    return op == Op::kSplit || op == Op::kJump || op == Op::kAhead || op == Op::kNotAhead ||
           op == Op::kBehind || op == Op::kNotBehind || op == Op::kAtomic;
  }

  // Alternatives up to a ) or the end.
  Length Alternatives(bool ignore_case, size_t depth) {
    if (depth > kMostDepth) Refuse("groups in more than ", kMostDepth, " groups");
    Length length{kUnbounded, 0};
    std::vector<size_t> ends;
    for (;;) {
      const uint32_t begin = Here();
      length.Or(Sequence(ignore_case, depth));
      if (!Take("|")) break;
      Insert(begin, {Op::kSplit, begin + 1, Here() + 2});
      ends.push_back(Emit(Op::kJump));
    }
    for (const size_t end : ends) steps()[end].a = Here();
    return length;
  }

  Length Sequence(bool ignore_case, size_t depth) {
    Length length;
    while (More() && !Next("|") && !Next(")")) {
      const uint32_t begin = Here();
      const Length atom = Atom(ignore_case, depth);
      length.Then(Quantifier(begin, atom));
    }
    return length;
  }

  // One set, group or place.
  Length Atom(bool ignore_case, size_t depth) {
    const uint32_t before = last_literal_;
    last_literal_ = 0;
    if (Take("(")) return Group(ignore_case, depth);
    if (Take("^")) return Place(notation_ == Notation::kRust ? Op::kTextBegin : Op::kLineBegin);
    if (Take("$")) return Place(notation_ == Notation::kRust ? Op::kTextEnd : Op::kLineEnd);
    if (Take("\\A")) return Place(Op::kTextBegin);
    if (Take("\\z")) return Place(Op::kTextEnd);
    CharSet set;
    if (Take("[")) {
      set = Bracket(ignore_case, depth);
    } else if (Take(".")) {
      set = CharSet::Of('\n', '\n');
      set.Negate();
    } else if (Next("*") || Next("+") || Next("?") || Next("{")) {
      Refuse("there is nothing to repeat");
    } else {
      set = OneOrClass(ignore_case, before);
    }
    Emit(Op::kSet, NumberOf(std::move(set)));
    return {1, 1};
  }

  Length Place(Op place) {
    Emit(place);
    return {};
  }

  // The number of a set; one that is equal may be there already.
  uint32_t NumberOf(CharSet set) {
    std::vector<CharSet>& sets = pattern_->sets_;
    const auto found = std::find(sets.begin(), sets.end(), set);
    const auto number = static_cast<uint32_t>(found - sets.begin());
    if (found != sets.end()) return number;
    if (sets.size() >= kMostSets) Refuse("it has more than ", kMostSets, " sets of characters");
    sets.push_back(std::move(set));
    return number;
  }

  Length Group(bool ignore_case, size_t depth) {
    struct Kind {
      std::string_view begin;
      Op op;  // which looks at what follows, up to kEnd
    };
    static constexpr Kind kEnclosed[] = {{"?=", Op::kAhead},
                                         {"?!", Op::kNotAhead},
                                         {"?<=", Op::kBehind},
                                         {"?<!", Op::kNotBehind},
                                         {"?>", Op::kAtomic}};
    const uint32_t begin = Here();
    const auto* const kind = std::find_if(std::begin(kEnclosed), std::end(kEnclosed),
                                          [this](const Kind& one) { return Take(one.begin); });
    const bool enclosed = kind != std::end(kEnclosed);
    if (enclosed) {
      Emit(kind->op);
    } else if (Take("?i:")) {
      ignore_case = true;
    } else if (!Take("?:") && Next("?")) {
      Refuse("this kind of group is not known");
    }
    const Length length = Alternatives(ignore_case, depth + 1);
    if (!Take(")")) Refuse("a group has no )");
    if (!enclosed) return length;
    if (kind->op == Op::kBehind || kind->op == Op::kNotBehind) {
      if (length.max > kMostBehind) {
        Refuse("a lookbehind of more than ", kMostBehind, " characters");
      }
      steps()[begin].min = length.min;
      steps()[begin].max = length.max;
      Emit(Op::kHere);
    }
    Emit(Op::kEnd);
    steps()[begin].a = Here();
    return kind->op == Op::kAtomic ? length : Length();
  }

  // What stands after an atom of this length, which begins at step `begin`. Returns the length of
  // both.
  Length Quantifier(uint32_t begin, Length length) {
    uint32_t min = 1;
    uint32_t max = 1;
    bool counted = false;
    if (Take("*")) {
      min = 0;
      max = kUnbounded;
    } else if (Take("+")) {
      max = kUnbounded;
    } else if (Take("?")) {
      min = 0;
    } else if (Take("{")) {
      counted = true;
      min = Number();
      max = min;
      if (Take(",")) max = Next("}") ? kUnbounded : Number();
      if (!Take("}") || max < min) Refuse("a count is {2}, {2,} or {2,3}");
    } else {
      return length;
    }
    if (length.may_be_empty()) Refuse("what may match no character is not repeated");
    Pattern::Way way = Pattern::kGreedy;
    if (Take("?")) {
      if (counted && notation_ == Notation::kOniguruma) Refuse("a ? after a count");
      way = Pattern::kLazy;
    } else if (Next("+")) {
      if (counted && notation_ == Notation::kOniguruma) Refuse("a + after a count");
      Take("+");
      way = Pattern::kPossessive;
    }
    if (Next("*") || Next("+") || Next("?") || Next("{"))
      Refuse("what is repeated is not repeated");
    if (Here() == begin + 1 && steps()[begin].op == Op::kSet) {
      steps()[begin] = {Op::kRepeat, steps()[begin].a, way, min, max};
    } else {
      RepeatGroup(begin, min, max, way);
    }
    length.Times(min, max);
    return length;
  }

  uint32_t Number() {
    uint32_t number = 0;
    bool any = false;
    while (More() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = number * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      any = true;
      if (number > 1000) Refuse("a count above 1000");
    }
    if (!any) Refuse("a count is {2}, {2,} or {2,3}");
    return number;
  }

  // The steps from `begin` on, several times: as many copies as must be, then those that may be.
  void RepeatGroup(uint32_t begin, uint32_t min, uint32_t max, Pattern::Way way) {
    const std::vector<Step> body(steps().begin() + begin, steps().end());
    steps().resize(begin);
    if (way == Pattern::kPossessive) Emit(Op::kAtomic);
    for (uint32_t i = 0; i < min; ++i) Copy(body, begin);
    const auto split = [&](uint32_t again, uint32_t after) {
      return way == Pattern::kLazy ? Step{Op::kSplit, after, again}
                                   : Step{Op::kSplit, again, after};
    };
    std::vector<size_t> splits;
    if (max == kUnbounded) {
      const size_t loop = Emit(Op::kSplit);
      Copy(body, begin);
      Emit(Op::kJump, static_cast<uint32_t>(loop));
      steps()[loop] = split(static_cast<uint32_t>(loop) + 1, Here());
    } else {
      for (uint32_t i = min; i < max; ++i) {
        splits.push_back(Emit(Op::kSplit));
        Copy(body, begin);
      }
      for (const size_t at : splits) steps()[at] = split(static_cast<uint32_t>(at) + 1, Here());
    }
    if (way != Pattern::kPossessive) return;
    Emit(Op::kEnd);
    steps()[begin].a = Here();
  }
  void Copy(const std::vector<Step>& body, uint32_t begin) {
    const uint32_t shift = Here() - begin;
    for (Step step : body) {
      if (Jumps(step.op)) step.a += shift;
      if (step.op == Op::kSplit) step.b += shift;
      const size_t at = Emit(step.op);
      steps()[at] = step;
    }
  }

  // The rest of [...], in which sets may stand, and && between what must both have a character.
  CharSet Bracket(bool ignore_case, size_t depth) {
    if (depth > kMostDepth) Refuse("sets in more than ", kMostDepth, " sets");
    const bool negate = Take("^");
    if (Next("]")) Refuse("a set is empty");
    CharSet both;
    bool is_first = true;
    do {
      CharSet set = Members(ignore_case, depth);
      if (!is_first) set.Intersect(both);
      both = std::move(set);
      is_first = false;
    } while (Take("&&"));
    Take("]");
    if (negate) both.Negate();
    return both;
  }

  // What a set has up to its ] or to &&.
  CharSet Members(bool ignore_case, size_t depth) {
    std::vector<CharSet::Run> runs;
    const auto add = [&runs](const CharSet& set) {
      runs.insert(runs.end(), set.runs().begin(), set.runs().end());
    };
    bool is_cased = false;
    const size_t begin = at_;
    while (!Next("]") && !Next("&&")) {
      if (!More()) Refuse("a set has no ]");
      const size_t before = at_;
      if (Take("[")) {
        if (ignore_case) Refuse("a set within a set without case");
        if (Next(":")) Refuse("a class such as [:alpha:]");
        add(Bracket(false, depth + 1));
        continue;
      }
      RefuseDifference();
      uint32_t first = 0;
      Class one;
      if (!PointOrClass(&first, &one)) {
        is_cased |= one.is_cased;
        add(one.set);
        continue;
      }
      RefuseDifference();
      uint32_t last = first;
      if (Next("-") && !Next("-]")) {
        Take("-");
        if (Next("[") || !PointOrClass(&last, &one) || last < first) {
          at_ = before;
          Refuse("this range is not known");
        }
      }
      is_cased |= last >= 0x80;
      runs.push_back({first, last});
    }
    if (at_ == begin) Refuse("a part of a set is empty");
    if (!ignore_case) return CharSet(std::move(runs));
    if (Next("&&")) Refuse("&& without case");
    return WithOtherCase({CharSet(std::move(runs)), is_cased});
  }

  void RefuseDifference() const {
    if (notation_ != Notation::kRust || (!Next("--") && !Next("~~"))) return;
    Refuse("a difference of sets");
  }

  // A class of characters, and whether letters of it, beyond ASCII, lack their other case.
  struct Class {
    CharSet set;
    bool is_cased = false;
  };

  // One character, or a class of them. `before` is the letter before, if case is ignored.
  CharSet OneOrClass(bool ignore_case, uint32_t before) {
    uint32_t point = 0;
    Class one;
    const bool is_point = PointOrClass(&point, &one);
    if (is_point) one = {CharSet::Of(point, point), point >= 0x80};
    if (!ignore_case) return std::move(one.set);
    if (is_point) {
      if (FoldsTogether(before, point)) Refuse("these letters without case are a ligature, too");
      last_literal_ = point | 0x20;
    }
    return WithOtherCase(one);
  }

  // Whether two letters are a ligature in another case: ss, ff, fi, fl, st.
  static bool FoldsTogether(uint32_t first, uint32_t second) {
    second |= 0x20;
    return (first == 's' && (second == 's' || second == 't')) ||
           (first == 'f' && (second == 'f' || second == 'i' || second == 'l'));
  }

  CharSet WithOtherCase(const Class& one) {
    if (one.is_cased) Refuse("characters without case beyond ASCII");
    std::vector<CharSet::Run> runs = one.set.runs();
    for (uint32_t lower = 'a'; lower <= 'z'; ++lower) {
      const uint32_t upper = lower - 0x20;
      if (!one.set.Has(lower) && !one.set.Has(upper)) continue;
      runs.push_back({lower, lower});
      runs.push_back({upper, upper});
      // The long s and the sign of Kelvin are the only others.
      if (lower == 's') runs.push_back({0x17f, 0x17f});
      if (lower == 'k') runs.push_back({0x212a, 0x212a});
    }
    return CharSet(std::move(runs));
  }

  // True for one character, false for a class such as \s.
  bool PointOrClass(uint32_t* point, Class* one) {
    if (!Take("\\")) {
      *point = TakePoint();
      return true;
    }
    if (!More()) Refuse("it ends too early");
    const char c = text_[at_++];
    switch (c) {
      case 'p':
      case 'P':
        *one = Property(c == 'P');
        return false;
      case 's':
      case 'S':
        *one = {CharSet::Spaces()};
        break;
      case 'd':
      case 'D':
        *one = {CharSet::Of(Only(Category::kNd))};
        break;
      case 'w':
      case 'W':
        *one = {Words(notation_)};
        break;
      case 'n':
        *point = '\n';
        return true;
      case 'r':
        *point = '\r';
        return true;
      case 't':
        *point = '\t';
        return true;
      case 'x':
      case 'u':
        *point = Hexadecimal(c == 'u');
        return true;
      default:
        if (static_cast<uint8_t>(c) >= 0x80 || IsWord(static_cast<uint8_t>(c))) {
          --at_;
          Refuse("\\", c, " is not known");
        }
        *point = static_cast<uint8_t>(c);
        return true;
    }
    if (c == 'S' || c == 'D' || c == 'W') one->set.Negate();
    return false;
  }

  // \x41, \x{1F600}, \u00e9.
  uint32_t Hexadecimal(bool is_u) {
    const bool braces = Take("{");
    const size_t most = braces ? 6 : is_u ? 4 : 2;
    uint32_t point = 0;
    size_t digits = 0;
    for (; More() && digits < most; ++digits, ++at_) {
      const char c = text_[at_];
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        point = point * 16 + static_cast<uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        point = point * 16 + static_cast<uint32_t>(lower - 'a' + 10);
      } else {
        break;
      }
    }
    const bool whole = braces ? Take("}") && digits > 0 : digits == most;
    if (!whole || point > 0x10ffff || (point >= 0x80 && !braces && !is_u)) {
      Refuse("a code point is \\x41, \\x{1F600} or \\u00e9");
    }
    return point;
  }

  Class Property(bool negate) {
    size_t size = 1;
    std::string_view name = text_.substr(at_, 1);
    if (Next("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) Refuse("a property has no }");
      name = text_.substr(at_ + 1, end - at_ - 1);
      size = name.size() + 2;
      if (!name.empty() && name[0] == '^') {
        negate = !negate;
        name.remove_prefix(1);
      }
    }
    Class one;
    if (!FindProperty(name, &one)) Refuse("the property '", Shown(name), "' is not known");
    at_ += size;
    if (negate) one.set.Negate();
    return one;
  }

  bool FindProperty(std::string_view name, Class* one) const {
    for (const NamedCategories& named : kNamed) {
      if (named.name != name) continue;
      constexpr Categories kCased = Between(Category::kLu, Category::kLt);
      const Categories cased = named.categories & kCased;
      *one = {CharSet::Of(named.categories), cased != 0 && cased != kCased};
      return true;
    }
    for (const std::string_view prefix : {"Script=", "sc="}) {
      if (notation_ == Notation::kRust && name.substr(0, prefix.size()) == prefix) {
        name.remove_prefix(prefix.size());
        break;
      }
    }
    // A sign such as that of Ohm is of another script than the letter in another case.
    one->is_cased = true;
    return CharSet::OfScript(name, &one->set);
  }

  const std::string_view text_;
  const Notation notation_;
  Pattern* const pattern_;
  size_t at_ = 0;
  uint32_t last_literal_ = 0;  // the letter before in (?i: ), else 0
};

Pattern::Pattern(std::string_view expression, Notation notation) {
  PatternParser(expression, notation, this).Parse();
}

// One attempt to match.
class Pattern::Matcher {
 public:
  // `choices` is memory that is used again.
  Matcher(const Pattern& pattern, const uint8_t* text, const uint8_t* end,
          std::vector<Choice>* choices)
      : pattern_(pattern), text_(text), end_(end), choices_(*choices) {}

  // Allows as much work as expressions need that do not try any text again and again.
  const uint8_t* Match(const uint8_t* here) {
    work_left_ = kMostWork + kMostWorkAByte * static_cast<size_t>(end_ - here);
    return Run(0, here);
  }

 private:
  // The end of what the steps from `at` up to their kEnd match, or null.
  const uint8_t* Run(uint32_t at, const uint8_t* here) {
    CheckStop();
    const size_t base = choices_.size();
    for (;;) {
      const Step& step = pattern_.steps_[at];
      Spend(1);
      bool matches = true;
      uint32_t next = at + 1;
      switch (step.op) {
        case Op::kSet:
          matches = TakeOne(pattern_.sets_[step.a], &here);
          break;
        case Op::kRepeat:
          matches = Repeat(step, at, &here);
          break;
        case Op::kSplit:
          Leave({step.b, 0, here, nullptr});
          next = step.a;
          break;
        case Op::kJump:
          next = step.a;
          break;
        case Op::kAhead:
        case Op::kNotAhead:
          matches = (Run(at + 1, here) != nullptr) == (step.op == Op::kAhead);
          next = step.a;
          break;
        case Op::kBehind:
        case Op::kNotBehind:
          matches = MatchesBefore(step, at + 1, here) == (step.op == Op::kBehind);
          next = step.a;
          break;
        case Op::kHere:
          matches = here == behind_;
          break;
        case Op::kAtomic:
          here = Run(at + 1, here);
          matches = here != nullptr;
          next = step.a;
          break;
        case Op::kEnd:
          choices_.resize(base);
          return here;
        default:
          matches = IsAt(step.op, here);
      }
      at = next;
      while (!matches) {
        if (choices_.size() == base) return nullptr;
        CheckStop();
        Spend(1);
        matches = GoBack(&at, &here);
      }
    }
  }

  void Spend(size_t work) {
    if (work > work_left_) ThrowTooManyWays();
    work_left_ -= work;
  }

  // Whether the steps from `at` on match characters before `here`, up to it: first as many as they
  // match at least.
  bool MatchesBefore(const Step& step, uint32_t at, const uint8_t* here) {
    const uint8_t* begin = here;
    const uint8_t* const outer = behind_;
    behind_ = here;
    bool matches = false;
    for (uint32_t back = 0; back <= step.max && !matches; ++back) {
      Spend(1);
      matches = back >= step.min && Run(at, begin) != nullptr;
      if (begin == text_) break;
      begin = BackOne(begin);
    }
    behind_ = outer;
    return matches;
  }

  bool TakeOne(const CharSet& set, const uint8_t** here) const {
    if (*here == end_) return false;
    const uint8_t first = **here;
    if (first < 0x80) {
      if (!set.Has(first)) return false;
      ++*here;
      return true;
    }
    if (!set.HasBeyondAscii(CodePointAt(*here))) return false;
    *here += Utf8Length(first);
    return true;
  }

  void Leave(const Choice& choice) {
    if (choices_.size() >= kMostChoices) ThrowTooManyWays();
    choices_.push_back(choice);
  }

  [[noreturn]] static void ThrowTooManyWays() {
    throw Error(ErrorCode::kResourceLimit,
                "a regular expression has too many ways to match the text");
  }

  bool Repeat(const Step& step, uint32_t at, const uint8_t** here) {
    const CharSet& set = pattern_.sets_[step.a];
    const uint32_t most = step.b == kLazy ? step.min : step.max;
    const uint8_t* least = *here;
    uint32_t count = 0;
    while (count < most && TakeOne(set, here)) {
      if (++count == step.min) least = *here;
    }
    Spend(count);
    if (count < step.min) return false;
    if (step.b == kGreedy && *here != least) Leave({at, 0, *here, least});
    if (step.b == kLazy && step.max > step.min) {
      Leave({at, step.max == kUnbounded ? kUnbounded : step.max - step.min, *here, *here});
    }
    return true;
  }

  // Goes on with the last choice; at a repetition with one character less, or one more. False if
  // that is not there.
  bool GoBack(uint32_t* at, const uint8_t** here) {
    Choice choice = choices_.back();
    choices_.pop_back();
    *at = choice.step;
    *here = choice.here;
    if (choice.least == nullptr) return true;
    ++*at;
    const Step& step = pattern_.steps_[choice.step];
    if (step.b == kGreedy) {
      choice.here = BackOne(choice.here);
      *here = choice.here;
      if (choice.here != choice.least) choices_.push_back(choice);
      return true;
    }
    if (!TakeOne(pattern_.sets_[step.a], here)) return false;
    if (choice.more != kUnbounded) --choice.more;
    choice.here = *here;
    if (choice.more > 0) choices_.push_back(choice);
    return true;
  }

  bool IsAt(Op place, const uint8_t* here) const {
    switch (place) {
      case Op::kLineBegin:
        return here == text_ || here[-1] == '\n';
      case Op::kLineEnd:
        return here == end_ || *here == '\n';
      case Op::kTextBegin:
        return here == text_;
      default:
        return here == end_;
    }
  }

  const Pattern& pattern_;
  const uint8_t* const text_;
  const uint8_t* const end_;
  std::vector<Choice>& choices_;
  size_t work_left_ = 0;
  const uint8_t* behind_ = nullptr;  // where the innermost lookbehind is
};

const uint8_t* Pattern::MatchAt(const uint8_t* text, const uint8_t* here,
                                const uint8_t* end) const {
  thread_local std::vector<Choice> choices;
  choices.clear();
  return Matcher(*this, text, end, &choices).Match(here);
}

}  // namespace millhopper
