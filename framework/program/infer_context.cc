// SPDX-License-Identifier: Apache-2.0
#include "framework/program/infer_context.h"

#include "framework/base/error.h"

namespace millhopper {

std::string ToString(const TensorSpec& spec) {
  std::string text;
  if (spec.dtype) text = ToString(*spec.dtype);
  if (spec.dims) text += (text.empty() ? "" : " ") + ToString(*spec.dims);
  if (spec.lod_level.value_or(0) > 0) {
    text += StrCat(text.empty() ? "" : " with ", *spec.lod_level,
                   *spec.lod_level == 1 ? " level of detail" : " levels of detail");
  }
  return text.empty() ? "unknown" : text;
}

TensorSpec SpecOf(const SlotSpec& slot) {
  if (!slot.known) return {std::nullopt, std::nullopt, slot.lod_level};
  return {slot.dtype, slot.dims, slot.lod_level};
}

TensorSpec SpecOf(const LoDTensor& tensor) {
  return {tensor.dtype(), tensor.dims(), static_cast<int>(tensor.lod().size())};
}

std::optional<SlotSpec> SlotOf(const TensorSpec& spec) {
  if (!spec.dtype || !spec.dims || !spec.lod_level) return std::nullopt;
  SlotSpec slot;
  slot.dtype = *spec.dtype;
  slot.dims = *spec.dims;
  slot.lod_level = *spec.lod_level;
  return slot;
}

bool MayBeSame(const TensorSpec& left, const TensorSpec& right) {
  if (left.dtype && right.dtype && *left.dtype != *right.dtype) return false;
  if (left.lod_level && right.lod_level && *left.lod_level != *right.lod_level) return false;
  return !left.dims || !right.dims || MayBeSame(*left.dims, *right.dims);
}

std::optional<int64_t> KnownProduct(const Dims& dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) {
    if (dims[i] < 0 || __builtin_mul_overflow(product, dims[i], &product)) return std::nullopt;
  }
  return product;
}

const VariableSpec& InferContext::InVar(std::string_view parameter, size_t i) const {
  static const VariableSpec unknown;
  const auto found = inputs_.find(parameter);
  return found == inputs_.end() || i >= found->second.size() ? unknown : found->second[i].spec;
}

size_t InferContext::InCount(std::string_view parameter) const {
  const auto found = inputs_.find(parameter);
  return found == inputs_.end() ? 0 : found->second.size();
}

size_t InferContext::OutCount(std::string_view parameter) const {
  const auto found = outputs_.find(parameter);
  return found == outputs_.end() ? 0 : found->second.size();
}

void InferContext::SetOutVar(std::string_view parameter, VariableSpec spec, size_t i) {
  const auto found = outputs_.find(parameter);
  if (found != outputs_.end() && i < found->second.size()) found->second[i].spec = std::move(spec);
}

void InferContext::SetOut(std::string_view parameter, TensorSpec spec, size_t i) {
  SetOutVar(parameter, {spec, std::nullopt}, i);
}

void InferContext::SetMayStay(std::string_view parameter) {
  const auto found = outputs_.find(parameter);
  if (found == outputs_.end()) return;
  for (Argument& output : found->second) output.may_stay = true;
}

const std::string& InferContext::InName(std::string_view parameter, size_t i) const {
  return inputs_.find(parameter)->second.at(i).name;
}

std::string InferContext::Describe(std::string_view parameter, size_t i) const {
  return StrCat("'", parameter, "' (variable '", Escaped(InName(parameter, i)), "'), ",
                ToString(In(parameter, i)));
}

void InferContext::ThrowUnfit(std::string_view parameter, const std::string& wanted,
                              size_t i) const {
  Throw(ErrorCode::kInvalidArgument, "input '", parameter, "' (variable '",
        Escaped(InName(parameter, i)), "') is ", ToString(In(parameter, i)), "; ", wanted);
}

void InferContext::RequireSameType(std::string_view parameter, std::string_view like,
                                   size_t i) const {
  const TensorSpec& tensor = In(parameter, i);
  const TensorSpec& wanted = In(like);
  if (!tensor.dtype || !wanted.dtype || *tensor.dtype == *wanted.dtype) return;
  ThrowUnfit(parameter, StrCat("its type must be that of ", Describe(like)), i);
}

void InferContext::RequireSameShape(std::string_view parameter, std::string_view like,
                                    size_t i) const {
  RequireSameType(parameter, like, i);
  const TensorSpec& tensor = In(parameter, i);
  const TensorSpec& wanted = In(like);
  if (!tensor.dims || !wanted.dims || MayBeSame(*tensor.dims, *wanted.dims)) return;
  ThrowUnfit(parameter, StrCat("its dims must be those of ", Describe(like)), i);
}

}  // namespace millhopper
