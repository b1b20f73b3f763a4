// SPDX-License-Identifier: Apache-2.0
#include "operators/support/arguments.h"

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

void ThrowUnfit(const OpContext& context, std::string_view parameter, const std::string& wanted,
                size_t i) {
  Throw(ErrorCode::kInvalidArgument, "input '", parameter, "' (variable '",
        context.InVar(parameter, i).name(), "') is ", Describe(context.In(parameter, i)), "; ",
        wanted);
}

void RequireSameType(const OpContext& context, std::string_view parameter, std::string_view like) {
  const DataType wanted = context.In(like).dtype();
  RequireInput(context.In(parameter).dtype() == wanted, context, parameter, ToString(wanted),
               " is needed, the type of '", like, "'");
}

void RequireSameShape(const OpContext& context, std::string_view parameter, std::string_view like) {
  const LoDTensor& wanted = context.In(like);
  const LoDTensor& tensor = context.In(parameter);
  if (tensor.dtype() != wanted.dtype() || tensor.dims() != wanted.dims()) {
    ThrowUnfit(context, parameter, StrCat(Describe(wanted), " is needed, as '", like, "' is"));
  }
}

void CopyLod(const LoDTensor& from, LoDTensor* to) {
  if (from.lod().empty() && to->lod().empty()) return;
  const bool same_rows =
      !from.dims().empty() && !to->dims().empty() && from.dims()[0] == to->dims()[0];
  *to->mutable_lod_unchecked() = same_rows ? from.lod() : Lod();
}

}  // namespace millhopper
