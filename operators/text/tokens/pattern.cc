// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/pattern.h"

#include <algorithm>
#include <string>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr uint32_t kUnbounded = UINT32_MAX;
constexpr size_t kMostSteps = 10000;
constexpr size_t kMostDepth = 50;                 // of groups in groups
constexpr size_t kMostChoices = size_t{1} << 20;  // that a match leaves open
// That a match may go back to, and more for each byte of the text.
constexpr size_t kMostAttempts = size_t{1} << 22;
constexpr size_t kMostAttemptsAByte = 16;

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
    {"Cc", Only(Category::kCc) | Only(Category::kNextLine)},
    {"Cf", Only(Category::kCf)},
};

constexpr Categories kEveryCategory = Between(Category::kCn, Category::kNextLine);

// The characters of these categories, and no others.
CharSet OfCategories(Categories categories) {
  CharSet set;
  for (uint32_t point = 0; point < set.ascii.size(); ++point) {
    set.ascii[point] = Has(categories, CategoryOf(point));
  }
  set.others = categories;
  return set;
}

CharSet SpaceSet() {
  CharSet set = OfCategories(kAnySpace);
  for (uint32_t point = '\t'; point <= '\r'; ++point) set.ascii[point] = true;
  return set;
}

// Adds what is in `other`; false if it cannot be said as one set.
bool Unite(const CharSet& other, CharSet* set) {
  for (size_t i = 0; i < set->ascii.size(); ++i) set->ascii[i] |= other.ascii[i];
  if (other.negated) {
    if (!other.ranges.empty()) return false;
    set->others |= kEveryCategory & ~other.others;
    return true;
  }
  set->others |= other.others;
  set->ranges.insert(set->ranges.end(), other.ranges.begin(), other.ranges.end());
  return true;
}

void Negate(CharSet* set) {
  for (bool& has : set->ascii) has = !has;
  set->negated = !set->negated;
}

void AddRange(uint32_t first, uint32_t last, CharSet* set) {
  for (uint32_t point = first; point <= last && point < 0x80; ++point) set->ascii[point] = true;
  if (last >= 0x80) set->ranges.emplace_back(std::max(first, 0x80u), last);
}

}  // namespace

bool CharSet::HasBeyondAscii(uint32_t point) const {
  bool has = millhopper::Has(others, CategoryOf(point));
  for (size_t i = 0; i < ranges.size() && !has; ++i) {
    has = point >= ranges[i].first && point <= ranges[i].second;
  }
  return has != negated;
}

// Makes steps of an expression.
class PatternParser {
 public:
  PatternParser(std::string_view text, Pattern::Notation notation, Pattern* pattern)
      : text_(text), notation_(notation), pattern_(pattern) {}

  void Parse() {
    if (EndOfUtf8(Bytes(), Bytes() + text_.size()) != Bytes() + text_.size()) {
      Refuse("it is not UTF-8");
    }
    const bool may_be_empty = Alternatives(false, 0);
    if (at_ != text_.size()) Refuse("a ) ends no group");
    if (may_be_empty) Refuse("all of it may match no character");
    Emit(Pattern::Op::kEnd);
  }

 private:
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
           op == Op::kAtomic;
  }

  // Alternatives up to a ) or the end. Returns whether they may match no character.
  bool Alternatives(bool ignore_case, size_t depth) {
    if (depth > kMostDepth) Refuse("groups in more than ", kMostDepth, " groups");
    bool may_be_empty = false;
    std::vector<size_t> ends;
    for (;;) {
      const uint32_t begin = Here();
      may_be_empty |= Sequence(ignore_case, depth);
      if (!Take("|")) break;
      Insert(begin, {Op::kSplit, begin + 1, Here() + 2});
      ends.push_back(Emit(Op::kJump));
    }
    for (const size_t end : ends) steps()[end].a = Here();
    return may_be_empty;
  }

  bool Sequence(bool ignore_case, size_t depth) {
    bool may_be_empty = true;
    while (More() && !Next("|") && !Next(")")) {
      const uint32_t begin = Here();
      const bool empty = Atom(ignore_case, depth);
      may_be_empty &= Quantifier(begin, empty);
    }
    return may_be_empty;
  }

  // One set, group or place. Returns whether it may match no character.
  bool Atom(bool ignore_case, size_t depth) {
    const uint32_t before = last_literal_;
    last_literal_ = 0;
    if (Take("(")) return Group(ignore_case, depth);
    if (Take("^")) {
      Emit(notation_ == Pattern::Notation::kRust ? Op::kTextBegin : Op::kLineBegin);
      return true;
    }
    if (Take("$")) {
      Emit(notation_ == Pattern::Notation::kRust ? Op::kTextEnd : Op::kLineEnd);
      return true;
    }
    if (Take("\\A")) {
      Emit(Op::kTextBegin);
      return true;
    }
    if (Take("\\z")) {
      Emit(Op::kTextEnd);
      return true;
    }
    CharSet set;
    if (Take("[")) {
      set = Bracket(ignore_case);
    } else if (Take(".")) {
      set.ascii['\n'] = true;
      Negate(&set);
    } else if (Next("*") || Next("+") || Next("?") || Next("{")) {
      Refuse("there is nothing to repeat");
    } else {
      set = OneOrClass(ignore_case, before);
    }
    pattern_->sets_.push_back(std::move(set));
    Emit(Op::kSet, static_cast<uint32_t>(pattern_->sets_.size() - 1));
    return false;
  }

  bool Group(bool ignore_case, size_t depth) {
    const uint32_t begin = Here();
    bool enclosed = false;  // by a step that looks at it, and kEnd
    bool looks = false;
    const auto enclose = [&](Op op) {
      enclosed = true;
      looks = op != Op::kAtomic;
      Emit(op);
    };
    if (Take("?i:")) {
      ignore_case = true;
    } else if (Take("?=")) {
      enclose(Op::kAhead);
    } else if (Take("?!")) {
      enclose(Op::kNotAhead);
    } else if (Take("?>")) {
      enclose(Op::kAtomic);
    } else if (!Take("?:") && Next("?")) {
      Refuse("this kind of group is not known");
    }
    const bool may_be_empty = Alternatives(ignore_case, depth + 1);
    if (!Take(")")) Refuse("a group has no )");
    if (enclosed) {
      Emit(Op::kEnd);
      steps()[begin].a = Here();
    }
    return may_be_empty || looks;
  }

  // What stands after an atom, which begins at step `begin`. Returns whether all of it may match no
  // character.
  bool Quantifier(uint32_t begin, bool empty) {
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
      return empty;
    }
    if (empty) Refuse("what may match no character is not repeated");
    Pattern::Way way = Pattern::kGreedy;
    if (Take("?")) {
      if (counted && notation_ == Pattern::Notation::kOniguruma) Refuse("a ? after a count");
      way = Pattern::kLazy;
    } else if (Next("+")) {
      if (counted && notation_ == Pattern::Notation::kOniguruma) Refuse("a + after a count");
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
    return min == 0;
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

  // The rest of [...].
  CharSet Bracket(bool ignore_case) {
    const bool negate = Take("^");
    CharSet set;
    if (Next("]")) Refuse("a set is empty");
    while (!Take("]")) {
      if (!More()) Refuse("a set has no ]");
      if (Next("[") || Next("&&")) Refuse("a set within a set");
      const size_t before = at_;
      uint32_t first = 0;
      CharSet one;
      if (!PointOrClass(&first, &one)) {
        if (!Unite(one, &set)) Refuse("this set is not known");
        continue;
      }
      uint32_t last = first;
      if (Next("-") && !Next("-]")) {
        Take("-");
        if (Next("[") || !PointOrClass(&last, &one) || last < first) {
          at_ = before;
          Refuse("this range is not known");
        }
      }
      AddRange(first, last, &set);
    }
    if (ignore_case) AddOtherCase(&set);
    if (negate) Negate(&set);
    return set;
  }

  // One character, or a class of them. `before` is the letter before, if case is ignored.
  CharSet OneOrClass(bool ignore_case, uint32_t before) {
    uint32_t point = 0;
    CharSet set;
    if (!PointOrClass(&point, &set)) {
      if (ignore_case) AddOtherCase(&set);
      return set;
    }
    AddRange(point, point, &set);
    if (ignore_case) {
      if (FoldsTogether(before, point)) Refuse("these letters without case are a ligature, too");
      AddOtherCase(&set);
      last_literal_ = point | 0x20;
    }
    return set;
  }

  // Whether two letters are a ligature in another case: ss, ff, fi, fl, st.
  static bool FoldsTogether(uint32_t first, uint32_t second) {
    second |= 0x20;
    return (first == 's' && (second == 's' || second == 't')) ||
           (first == 'f' && (second == 'f' || second == 'i' || second == 'l'));
  }

  void AddOtherCase(CharSet* set) {
    const Categories cased = Between(Category::kLu, Category::kLt) & set->others;
    if (!set->ranges.empty() || (cased != 0 && cased != Between(Category::kLu, Category::kLt))) {
      Refuse("characters without case beyond ASCII");
    }
    if (set->others != 0 || set->negated) return;  // a class, which has both cases of its letters
    for (uint32_t lower = 'a'; lower <= 'z'; ++lower) {
      const bool has = set->ascii[lower] || set->ascii[lower - 0x20];
      set->ascii[lower] = has;
      set->ascii[lower - 0x20] = has;
    }
    // The long s and the sign of Kelvin are the only others.
    if (set->ascii['s']) set->ranges.emplace_back(0x17f, 0x17f);
    if (set->ascii['k']) set->ranges.emplace_back(0x212a, 0x212a);
  }

  // True for one character, false for a class such as \s.
  bool PointOrClass(uint32_t* point, CharSet* set) {
    if (!Take("\\")) {
      *point = TakePoint();
      return true;
    }
    if (!More()) Refuse("it ends too early");
    const char c = text_[at_];
    switch (c) {
      case 'p':
      case 'P':
        ++at_;
        *set = Property(c == 'P');
        return false;
      case 's':
      case 'S':
        *set = SpaceSet();
        break;
      case 'd':
      case 'D':
        *set = OfCategories(Only(Category::kNd));
        break;
      case 'n':
        *point = '\n';
        break;
      case 'r':
        *point = '\r';
        break;
      case 't':
        *point = '\t';
        break;
      case 'x':
      case 'u':
        ++at_;
        *point = Hexadecimal(c == 'u');
        return true;
      default:
        if (static_cast<uint8_t>(c) >= 0x80 || IsWord(static_cast<uint8_t>(c))) {
          Refuse("\\", c, " is not known");
        }
        *point = static_cast<uint8_t>(c);
    }
    ++at_;
    if (c != 's' && c != 'S' && c != 'd' && c != 'D') return true;
    if (c == 'S' || c == 'D') Negate(set);
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

  CharSet Property(bool negate) {
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
    for (const NamedCategories& named : kNamed) {
      if (named.name != name) continue;
      at_ += size;
      CharSet set = OfCategories(named.categories);
      if (negate) Negate(&set);
      return set;
    }
    Refuse("the property '", Shown(name), "' is not known");
  }

  const std::string_view text_;
  const Pattern::Notation notation_;
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

  // Allows as many ways to be tried as expressions need that do not try any text again and again.
  const uint8_t* Match(const uint8_t* here) {
    attempts_left_ = kMostAttempts + kMostAttemptsAByte * static_cast<size_t>(end_ - here);
    return Run(0, here);
  }

 private:
  // The end of what the steps from `at` up to their kEnd match, or null.
  const uint8_t* Run(uint32_t at, const uint8_t* here) {
    const size_t base = choices_.size();
    for (;;) {
      const Step& step = pattern_.steps_[at];
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
        if (attempts_left_-- == 0) ThrowTooManyWays();
        matches = GoBack(&at, &here);
      }
    }
  }

  bool TakeOne(const CharSet& set, const uint8_t** here) const {
    if (*here == end_) return false;
    const uint8_t first = **here;
    if (first < 0x80) {
      if (!set.ascii[first]) return false;
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
  size_t attempts_left_ = 0;
};

const uint8_t* Pattern::MatchAt(const uint8_t* text, const uint8_t* here,
                                const uint8_t* end) const {
  thread_local std::vector<Choice> choices;
  choices.clear();
  return Matcher(*this, text, end, &choices).Match(here);
}

}  // namespace millhopper
