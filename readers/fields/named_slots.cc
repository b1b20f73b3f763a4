// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/named_slots.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr std::string_view kBetween = " \t\r\n,;";
constexpr std::string_view kText = "str";

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || std::string_view("._-/#").find(c) != std::string_view::npos;
  });
}

bool AreNames(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size() &&
         std::find(names.begin(), names.end(), "") == names.end();
}

// In quotes a backslash stands before quotes and backslashes.
std::string Quoted(const std::string& name) {
  if (IsWord(name)) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text.push_back('\\');
    text.push_back(c);
  }
  return text + "\"";
}

// Cuts the text of slots into pieces.
class SlotsParser {
 public:
  explicit SlotsParser(std::string_view text) : rest_(text) {}

  // Reads the next slot; false at the end. *name is "" if it has none.
  bool Next(std::string* name, SlotSpec* slot) {
    SkipBetween();
    if (rest_.empty()) return false;
    slot_ = rest_;
    *name = "";
    if (rest_.front() == '"') {
      *name = TakeQuoted();
      SkipBetween();
    } else if (const std::string_view word = Word(); AfterWord(word) != '[') {
      name->assign(word);
      rest_.remove_prefix(word.size());
      SkipBetween();
    }
    slot->dtype = TakeType(slot);
    TakeDims(slot);
    if (slot->text && (slot->dims != Dims{-1} || slot->lod_level == 0)) {
      Throw(ErrorCode::kInvalidArgument, "'", Shown(slot_),
            "' is no slot of text; one is str[-1]:1, and str[-1]:2 is one of lists of texts");
    }
    return true;
  }

 private:
  [[noreturn]] void Refuse() const {
    Throw(ErrorCode::kInvalidArgument, "'", Shown(slot_),
          "' is no slot; one looks like float32[1,784] or, with a name and a level of detail, "
          "title uint8[-1]:1");
  }

  void SkipBetween() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBetween), rest_.size()));
  }

  // What comes before a space or a sign.
  std::string_view Word() const {
    size_t end = 0;
    while (end < rest_.size() && IsWord(rest_.substr(end, 1))) ++end;
    return rest_.substr(0, end);
  }

  char AfterWord(std::string_view word) const {
    if (word.empty()) Refuse();
    return word.size() < rest_.size() ? rest_[word.size()] : '\0';
  }

  std::string TakeQuoted() {
    std::string name;
    size_t at = 1;
    for (; at < rest_.size() && rest_[at] != '"'; ++at) {
      if (rest_[at] == '\\') ++at;
      if (at < rest_.size()) name.push_back(rest_[at]);
    }
    if (at >= rest_.size() || name.empty()) Refuse();
    rest_.remove_prefix(at + 1);
    return name;
  }

  // Also says whether it is text.
  DataType TakeType(SlotSpec* slot) {
    const std::string name(Word());
    if (AfterWord(name) != '[') Refuse();
    slot->text = name == kText;
    if (slot->text) {
      rest_.remove_prefix(kText.size() + 1);
      return DataType::kUint8;
    }
    std::vector<std::string> known{std::string(kText)};
    for (const DataType type : kDataTypes) {
      known.emplace_back(ToString(type));
      if (name != known.back()) continue;
      rest_.remove_prefix(name.size() + 1);
      return type;
    }
    Throw(ErrorCode::kInvalidArgument, "no type '", Shown(name), "'", DidYouMean(name, known));
  }

  template <typename T>
  T TakeNumber() {
    T number{};
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (read.ec != std::errc()) Refuse();
    rest_.remove_prefix(static_cast<size_t>(read.ptr - rest_.data()));
    return number;
  }

  void TakeDims(SlotSpec* slot) {
    const auto skip_spaces = [this] {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    };
    for (char sign = ','; sign == ',';) {
      skip_spaces();
      slot->dims.push_back(TakeNumber<int64_t>());
      skip_spaces();
      sign = rest_.empty() ? '\0' : rest_.front();
      if (sign != ',' && sign != ']') Refuse();
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && rest_.front() == ':') {
      rest_.remove_prefix(1);
      slot->lod_level = TakeNumber<int>();
    }
    if (!rest_.empty() && kBetween.find(rest_.front()) == std::string_view::npos) Refuse();
  }

  std::string_view rest_;
  std::string_view slot_;  // from the slot that is being read to the end
};

}  // namespace

std::string ToText(const NamedSlots& slots) {
  std::vector<std::string> names;
  for (const std::string& name : slots.names) names.push_back(Escaped(name));
  if (!AreNames(names)) names.clear();
  std::string text;
  for (size_t i = 0; i < slots.slots.size(); ++i) {
    const SlotSpec& slot = slots.slots[i];
    if (i > 0) text += " ";
    if (i < names.size()) text += Quoted(names[i]) + " ";
    const bool is_text = slot.text && slot.dims == Dims{-1} && slot.lod_level > 0;
    text += StrCat(is_text ? kText : std::string_view(ToString(slot.dtype)), "[");
    for (size_t axis = 0; axis < slot.dims.size(); ++axis) {
      text += StrCat(axis == 0 ? "" : ",", slot.dims[axis]);
    }
    text += "]";
    if (slot.lod_level > 0) text += StrCat(":", slot.lod_level);
  }
  return text;
}

NamedSlots ParseSlots(const std::string& text) {
  NamedSlots parsed;
  SlotsParser parser(text);
  std::string name;
  for (SlotSpec slot; parser.Next(&name, &slot); slot = SlotSpec()) {
    parsed.slots.push_back(slot);
    if (!name.empty()) parsed.names.push_back(name);
    if (parsed.slots.size() > kMaxSlots) break;  // CheckSlots refuses them
  }
  if (!parsed.slots.empty()) CheckSlots(parsed.slots);
  Require(parsed.names.empty() || parsed.names.size() == parsed.slots.size(),
          "only some of the slots have names");
  Require(AreNames(parsed.names), "two slots have one name");
  return parsed;
}

void CommonSlots::Add(const std::vector<SlotSpec>& element) {
  if (slots_.empty()) slots_ = element;
  differ_ = differ_ || element.empty() || element.size() != slots_.size();
  for (size_t i = 0; !differ_ && i < element.size(); ++i) {
    Widen(i, element[i].dtype, element[i].dims, static_cast<size_t>(element[i].lod_level));
    slots_[i].text = slots_[i].text && element[i].text;
  }
}

void CommonSlots::Add(const std::vector<LoDTensor>& element) {
  if (slots_.empty()) {
    for (const LoDTensor& tensor : element) {
      slots_.push_back({tensor.dtype(), tensor.dims(), static_cast<int>(tensor.lod().size())});
    }
  }
  differ_ = differ_ || element.empty() || element.size() != slots_.size();
  for (size_t i = 0; !differ_ && i < element.size(); ++i) {
    Widen(i, element[i].dtype(), element[i].dims(), element[i].lod().size());
  }
}

void CommonSlots::Widen(size_t slot, DataType dtype, const Dims& dims, size_t levels) {
  SlotSpec& common = slots_[slot];
  differ_ = differ_ || common.dtype != dtype || dims.empty() || common.dims.size() != dims.size() ||
            static_cast<size_t>(common.lod_level) != levels;
  if (differ_) return;
  if (levels > 0) common.dims[0] = -1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (common.dims[axis] != dims[axis]) common.dims[axis] = -1;
  }
}

std::optional<std::vector<SlotSpec>> CommonSlots::slots() const {
  if (slots_.empty() || differ_) return std::nullopt;
  return slots_;
}

}  // namespace millhopper
