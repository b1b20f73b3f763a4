// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/slots.h"

#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

DataType DtypeNamed(const std::string& name) {
  for (const DataType type : kDataTypes) {
    if (ToString(type) == name) return type;
  }
  Throw(ErrorCode::kInvalidArgument, "no dtype '", Escaped(name), "'");
}

}  // namespace

std::vector<SlotSpec> SpecsOf(const std::vector<Slot>& slots) {
  std::vector<SlotSpec> specs;
  specs.reserve(slots.size());
  for (const auto& [dtype, dims, lod_level] : slots) {
    specs.push_back({DtypeNamed(dtype), Dims(dims), lod_level});
  }
  return specs;
}

std::vector<std::optional<Slot>> SlotsOf(const std::vector<SlotSpec>& specs) {
  std::vector<std::optional<Slot>> slots;
  for (const SlotSpec& spec : specs) {
    if (!spec.known) {
      slots.emplace_back();
      continue;
    }
    slots.emplace_back(std::in_place, ToString(spec.dtype),
                       std::vector<int64_t>(spec.dims.begin(), spec.dims.end()), spec.lod_level);
  }
  return slots;
}

}  // namespace millhopper
