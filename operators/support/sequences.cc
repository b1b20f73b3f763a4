// SPDX-License-Identifier: Apache-2.0
#include "operators/support/sequences.h"

#include <algorithm>
#include <utility>

namespace millhopper {
namespace {

constexpr char kText[] =
    "text is uint8 [n], the bytes of one or, with levels of detail, of several";

bool MayBeText(const TensorSpec& spec) {
  return spec.dtype.value_or(DataType::kUint8) == DataType::kUint8 &&
         (!spec.dims || spec.dims->size() == 1);
}

}  // namespace

uint64_t Sequences::longest() const {
  uint64_t longest = 0;
  for (size_t i = 0; i < size(); ++i) longest = std::max(longest, length(i));
  return longest;
}

void SetOuterLevels(const LoDTensor& x, LoDTensor* out) {
  Lod* const lod = out->mutable_lod_unchecked();
  if (x.lod().size() > 1) {
    lod->assign(x.lod().begin(), x.lod().end() - 1);
  } else {
    lod->clear();
  }
}

void SetLastLevel(const LoDTensor& x, LodLevel offsets, LoDTensor* out) {
  SetOuterLevels(x, out);
  out->mutable_lod_unchecked()->push_back(std::move(offsets));
}

TensorSpec RowForEachSequence(const TensorSpec& x, DataType type, Dims row) {
  TensorSpec spec;
  spec.dtype = type;
  Dims dims = {-1};
  if (x.lod_level) {
    spec.lod_level = std::max(*x.lod_level - 1, 0);
    if (*x.lod_level == 0) dims[0] = 1;
  }
  for (const int64_t dim : row) dims.push_back(dim);
  spec.dims = dims;
  return spec;
}

std::optional<int> LevelsOfSequences(const TensorSpec& x) {
  if (!x.lod_level) return {};
  return std::max(*x.lod_level, 1);
}

void RequireText(const InferContext& context, std::string_view parameter) {
  if (!MayBeText(context.In(parameter))) context.ThrowUnfit(parameter, kText);
}

void RequireText(const OpContext& context, std::string_view parameter) {
  RequireInput(MayBeText(SpecOf(context.In(parameter))) && context.In(parameter).on_host(), context,
               parameter, kText);
}

std::string_view TextOf(const LoDTensor& x, const Sequences& sequences, size_t i) {
  const auto* const bytes = static_cast<const char*>(x.raw_data());
  return {bytes + sequences.begin(i), sequences.length(i)};
}

}  // namespace millhopper
