// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/tensor_text.h"

#include <algorithm>

#include "framework/base/error.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

constexpr size_t kShownTexts = 8;
constexpr size_t kShownBytes = 64;  // of one text

// The beginning of a sequence of bytes.
struct Beginning {
  std::string text;
  bool cut = false;
};

std::vector<Beginning> Beginnings(const LoDTensor& tensor) {
  const auto* const bytes = static_cast<const char*>(tensor.raw_data());
  const LodLevel& offsets = tensor.lod().back();
  std::vector<Beginning> texts;
  for (size_t i = 0; i + 1 < offsets.size() && texts.size() < kShownTexts; ++i) {
    const size_t begin = offsets[i], size = offsets[i + 1] - begin;
    size_t shown = std::min(size, kShownBytes);
    // A character is not cut in two: bytes within one have these upper bits.
    constexpr unsigned char kUpperBits = 0xc0, kWithin = 0x80;
    while (shown > 0 && shown < size &&
           (static_cast<unsigned char>(bytes[begin + shown]) & kUpperBits) == kWithin) {
      --shown;
    }
    if (size == 0) {
      texts.emplace_back();
    } else {
      texts.push_back({std::string(bytes + begin, shown), shown < size});
    }
  }
  return texts;
}

}  // namespace

std::string SlotTitle(size_t slot, const std::vector<std::string>& names) {
  if (slot >= names.size()) return StrCat("slot ", slot);
  return StrCat("slot ", slot, " (", Escaped(names[slot]), ")");
}

bool IsText(const LoDTensor& tensor) {
  if (tensor.dtype() != DataType::kUint8 || tensor.lod().empty() || tensor.dims().size() != 1) {
    return false;
  }
  const std::vector<Beginning> texts = Beginnings(tensor);
  return std::all_of(texts.begin(), texts.end(), [](const Beginning& beginning) {
    std::string line = beginning.text;
    line.erase(std::remove_if(line.begin(), line.end(),
                              [](char c) { return c == '\n' || c == '\r' || c == '\t'; }),
               line.end());
    return Escaped(line) == line;
  });
}

std::string ValuesText(const LoDTensor& tensor, int64_t most) {
  std::string text;
  if (IsText(tensor)) {
    for (const Beginning& beginning : Beginnings(tensor)) {
      text += StrCat(" \"", Escaped(beginning.text), beginning.cut ? "\"..." : "\"");
    }
    return text;
  }
  for (int64_t i = 0; i < std::min(tensor.numel(), most); ++i) {
    text += " " + ValueText(tensor, i);
  }
  return text;
}

}  // namespace millhopper
