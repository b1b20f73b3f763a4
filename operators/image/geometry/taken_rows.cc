// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/taken_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace millhopper {

LoDTensor Taken(const LoDTensor& tensor, size_t depth, const RowPlaces& places) {
  Lod lod;
  for (size_t i = 0; i < depth; ++i) lod.push_back(tensor.lod()[i]);
  if (depth > 0) {
    for (uint64_t& offset : lod.back()) {
      offset = static_cast<uint64_t>(std::lower_bound(places.begin(), places.end(), offset) -
                                     places.begin());
    }
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of units of the next level
  for (const size_t place : places) ranges.emplace_back(place, place + 1);
  for (size_t i = depth; i < tensor.lod().size(); ++i) {
    const LodLevel& level = tensor.lod()[i];
    LodLevel offsets(1, 0);
    for (auto& [begin, end] : ranges) {
      for (uint64_t unit = begin; unit < end; ++unit) {
        offsets.push_back(offsets.back() + level[unit + 1] - level[unit]);
      }
      begin = level[begin], end = level[end];
    }
    lod.push_back(std::move(offsets));
  }
  uint64_t rows = 0;
  for (const auto& [begin, end] : ranges) rows += end - begin;
  Dims dims = tensor.dims();
  dims[0] = static_cast<int64_t>(rows);
  LoDTensor taken;
  taken.Allocate(tensor.dtype(), dims);
  const size_t row = tensor.rows() == 0 ? 0 : tensor.bytes() / tensor.rows();
  const auto* const from = static_cast<const char*>(tensor.raw_data());
  auto* to = static_cast<char*>(taken.mutable_raw_data());
  for (const auto& [begin, end] : ranges) {
    if (begin == end) continue;
    std::memcpy(to, from + begin * row, (end - begin) * row);
    to += (end - begin) * row;
  }
  *taken.mutable_lod_unchecked() = std::move(lod);
  return taken;
}

}  // namespace millhopper
