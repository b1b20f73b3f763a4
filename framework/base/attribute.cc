// SPDX-License-Identifier: Apache-2.0
// Attribute values, their checks, and suggestions for misspelt words.
#include "framework/base/attribute.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

namespace millhopper {
namespace {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

constexpr size_t kLongestWord = 100;        // nobody mistypes more
constexpr uint64_t kMostSteps = 100000000;  // of comparing words: a fraction of a second

// Of the innermost SpellingLimit.
thread_local uint64_t* shared_steps = nullptr;

std::string Print(const std::string& value) { return "\"" + Escaped(value) + "\""; }
std::string Print(bool value) { return value ? "true" : "false"; }
std::string Print(BlockIndex value) { return StrCat("block ", value.value); }
template <typename T>
std::string Print(const T& value) {
  return StrCat(value);
}
template <typename T>
std::string Print(const std::vector<T>& values) {
  constexpr size_t kMost = 16;
  std::string text = "[";
  for (size_t i = 0; i < values.size() && i < kMost; ++i) {
    if (i > 0) text += ", ";
    text += Print(static_cast<const T&>(values[i]));
  }
  if (values.size() > kMost) text += StrCat(", ... ", values.size(), " in all");
  return text + "]";
}

void CheckLowest(const AttributeSchema& schema, double value) {
  Require(value >= *schema.lowest, "attribute '", schema.name, "' is ", value,
          "; it must be at least ", *schema.lowest);
}

}  // namespace

const char* AttributeTypeName(const Attribute& attribute) {
  static const char* const kNames[] = {"INT",     "FLOAT",   "STRING",   "INTS",    "FLOATS",
                                       "STRINGS", "BOOLEAN", "BOOLEANS", "BLOCK",   "LONG",
                                       "BLOCKS",  "LONGS",   "FLOAT64",  "FLOAT64S"};
  static_assert(std::variant_size_v<Attribute> == sizeof(kNames) / sizeof(kNames[0]));
  return kNames[attribute.index()];
}

std::string ToString(const Attribute& attribute) {
  return std::visit([](const auto& value) { return Print(value); }, attribute);
}

AttributeSchema::AttributeSchema(std::string attribute_name, Attribute value, std::string text)
    : name(std::move(attribute_name)), default_value(std::move(value)), doc(std::move(text)) {}

AttributeSchema& AttributeSchema::Required() {
  required = true;
  return *this;
}

AttributeSchema& AttributeSchema::AtLeast(double value) {
  lowest = value;
  return *this;
}

AttributeSchema& AttributeSchema::OneOf(std::vector<std::string> choices) {
  words = std::move(choices);
  return *this;
}

Attribute AttributeSchema::Check(const Attribute& given) const {
  Attribute value = given;
  const auto* ints = std::get_if<std::vector<int32_t>>(&given);
  if (std::holds_alternative<int64_t>(default_value) && std::holds_alternative<int32_t>(given)) {
    value = static_cast<int64_t>(std::get<int32_t>(given));
  } else if (std::holds_alternative<std::vector<int64_t>>(default_value) && ints != nullptr) {
    value = std::vector<int64_t>(ints->begin(), ints->end());
  }
  Require(value.index() == default_value.index(), "attribute '", name, "' is ",
          AttributeTypeName(given), " ", ToString(given), "; it must be ",
          AttributeTypeName(default_value));
  if (lowest.has_value()) {
    std::visit(
        [this](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_arithmetic_v<T>) {
            CheckLowest(*this, static_cast<double>(v));
          } else if constexpr (IsVector<T>::value) {
            if constexpr (std::is_arithmetic_v<typename T::value_type>) {
              for (const auto element : v) CheckLowest(*this, static_cast<double>(element));
            }
          }
        },
        value);
  }
  if (!words.empty()) {
    const std::string& word = std::get<std::string>(value);
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      Throw(ErrorCode::kInvalidArgument, "attribute '", name, "' is ", ToString(value),
            "; it must be one of ", Print(words), DidYouMean(word, words));
    }
  }
  return value;
}

WordSearch::WordSearch(std::string word)
    : word_(std::move(word)),
      own_steps_(kMostSteps),
      steps_(shared_steps == nullptr ? &own_steps_ : shared_steps),
      best_(word_.size() > kLongestWord ? 0 : std::max<size_t>(1, word_.size() / 3) + 1) {}

void WordSearch::Try(const std::string& candidate) {
  const auto [shorter, longer] = std::minmax({word_.size(), candidate.size()});
  if (longer - shorter >= best_) return;  // as many letters differ at least
  const size_t distance = Distance(candidate);
  if (*steps_ == 0 || distance >= best_) return;
  best_ = distance;
  found_ = candidate;
}

const std::string& WordSearch::found() const {
  static const std::string nothing;
  return *steps_ == 0 ? nothing : found_;
}

// Edit distance by rows (Wagner and Fischer, 1974), two neighbours swapped being one edit. Stops
// where it can only be best_ or more.
size_t WordSearch::Distance(const std::string& candidate) {
  row_.resize(candidate.size() + 1);
  above_.resize(row_.size());
  above_that_.resize(row_.size());
  std::iota(row_.begin(), row_.end(), size_t{0});
  size_t least_above = 0;
  for (size_t i = 1; i <= word_.size(); ++i) {
    *steps_ -= std::min<uint64_t>(*steps_, row_.size());
    if (*steps_ == 0) return best_;
    above_that_.swap(above_);
    above_.swap(row_);
    row_[0] = i;
    for (size_t k = 1; k <= candidate.size(); ++k) {
      const size_t replaced = above_[k - 1] + (word_[i - 1] == candidate[k - 1] ? 0 : 1);
      row_[k] = std::min({replaced, above_[k] + 1, row_[k - 1] + 1});
      if (i > 1 && k > 1 && word_[i - 1] == candidate[k - 2] && word_[i - 2] == candidate[k - 1]) {
        row_[k] = std::min(row_[k], above_that_[k - 2] + 1);
      }
    }
    const size_t least = *std::min_element(row_.begin(), row_.end());
    if (std::min(least, least_above) >= best_) return best_;
    least_above = least;
  }
  return row_.back();
}

SpellingLimit::SpellingLimit()
    : steps_(kMostSteps), before_(std::exchange(shared_steps, &steps_)) {}

SpellingLimit::~SpellingLimit() { shared_steps = before_; }

std::string NearestWord(const std::string& word, const std::vector<std::string>& candidates) {
  WordSearch search(word);
  for (const std::string& candidate : candidates) search.Try(candidate);
  return search.found();
}

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean '" + Escaped(nearest) + "'?";
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  return DidYouMean(NearestWord(word, candidates));
}

}  // namespace millhopper
