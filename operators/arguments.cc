// SPDX-License-Identifier: Apache-2.0
#include "operators/arguments.h"

#include <string>

#include "framework/program/infer_context.h"
#include "framework/program/scope.h"

namespace millhopper {

InferRule Like(std::string output, std::string input, std::optional<DataType> type) {
  return [output = std::move(output), input = std::move(input), type](InferContext& context) {
    TensorSpec spec = context.In(input);
    if (type) spec.dtype = type;
    context.SetOut(output, spec);
  };
}

InferRule Like(std::vector<std::pair<std::string, std::string>> outputs) {
  return [outputs = std::move(outputs)](InferContext& context) {
    for (const auto& [output, input] : outputs) context.SetOut(output, context.In(input));
  };
}

InferRule OneLike(std::string output, std::string input) {
  return [output = std::move(output), input = std::move(input)](InferContext& context) {
    context.SetOut(output, {context.In(input).dtype, Dims{1}, 0});
  };
}

InferRule One(std::vector<std::pair<std::string, DataType>> outputs) {
  return [outputs = std::move(outputs)](InferContext& context) {
    for (const auto& [output, type] : outputs) context.SetOut(output, {type, Dims{1}, 0});
  };
}

void ThrowUnfit(const OpContext& context, std::string_view slot, const std::string& wanted) {
  Throw(ErrorCode::kInvalidArgument, "input '", slot, "' (variable '", context.InVar(slot).name(),
        "') is ", Describe(context.In(slot)), "; ", wanted);
}

void RequireSameType(const OpContext& context, std::string_view slot, std::string_view like_slot) {
  const LoDTensor& like = context.In(like_slot);
  RequireInput(context.In(slot).dtype() == like.dtype(), context, slot, ToString(like.dtype()),
               " is needed, the type of '", like_slot, "'");
}

void RequireSameShape(const OpContext& context, std::string_view slot, std::string_view like_slot) {
  const LoDTensor& like = context.In(like_slot);
  const LoDTensor& tensor = context.In(slot);
  if (tensor.dtype() != like.dtype() || tensor.dims() != like.dims()) {
    ThrowUnfit(context, slot, StrCat(Describe(like), " is needed, as '", like_slot, "' is"));
  }
}

void CopyLod(const LoDTensor& from, LoDTensor* to) {
  if (from.lod().empty() && to->lod().empty()) return;
  const bool same_rows =
      !from.dims().empty() && !to->dims().empty() && from.dims()[0] == to->dims()[0];
  *to->mutable_lod_unchecked() = same_rows ? from.lod() : Lod();
}

}  // namespace millhopper
