// SPDX-License-Identifier: Apache-2.0
#include "tools/slots_text.h"

#include <regex>

#include "framework/base/error.h"
#include "framework/base/spelling.h"

namespace millhopper {
namespace {

DataType DataTypeFromName(const std::string& name) {
  std::vector<std::string> known;
  for (const DataType type : kDataTypes) {
    if (name == ToString(type)) return type;
    known.emplace_back(ToString(type));
  }
  Throw(ErrorCode::kInvalidArgument, "--slots: no type '", name, "'", DidYouMean(name, known));
}

}  // namespace

std::vector<SlotSpec> ParseSlots(const std::string& text) {
  static const std::regex slot_pattern(
      R"([\s,;]*([a-z0-9]+)\[(-?\d{1,18}(?:\s*,\s*-?\d{1,18})*)\](?::(\d{1,2}))?[\s,;]*)");
  static const std::regex dim_pattern(R"(-?\d+)");
  std::vector<SlotSpec> slots;
  size_t parsed = 0;
  for (std::sregex_iterator slot(text.begin(), text.end(), slot_pattern,
                                 std::regex_constants::match_continuous);
       slot != std::sregex_iterator(); ++slot) {
    const std::string dims = (*slot)[2];
    SlotSpec spec;
    spec.dtype = DataTypeFromName((*slot)[1]);
    for (std::sregex_iterator dim(dims.begin(), dims.end(), dim_pattern);
         dim != std::sregex_iterator(); ++dim) {
      spec.dims.push_back(std::stoll(dim->str()));
    }
    if ((*slot)[3].matched) spec.lod_level = std::stoi((*slot)[3]);
    slots.push_back(spec);
    parsed = static_cast<size_t>(slot->position() + slot->length());
  }
  Require(parsed == text.size(), "--slots: '", text.substr(parsed),
          "' is no slot; one looks like float32[1,784] or, with a level of detail, uint8[-1]:1");
  if (!slots.empty()) CheckSlots(slots);
  return slots;
}

}  // namespace millhopper
