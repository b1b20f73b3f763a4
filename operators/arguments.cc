// SPDX-License-Identifier: Apache-2.0
#include "operators/arguments.h"

#include <string>

namespace millhopper {

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
