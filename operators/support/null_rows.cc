// SPDX-License-Identifier: Apache-2.0
#include "operators/support/null_rows.h"

namespace millhopper {

NullRows::NullRows(const OpContext& context, const LoDTensor& x, const LoDTensor* out,
                   size_t number)
    : rows_(x.rows()) {
  if (number >= context.InCount("Valid")) return;
  const LoDTensor& given = context.In("Valid", number);
  if (given.dtype() != DataType::kBool || given.numel() != static_cast<int64_t>(rows_)) {
    ThrowUnfit(context, "Valid", StrCat("bool [", rows_, "] is needed, one for each row"), number);
  }
  mask_.emplace(given, out);
  valid_ = (*mask_)->data<bool>();
  if (rows_ > 0) width_ = static_cast<size_t>(x.numel()) / rows_;
}

}  // namespace millhopper
