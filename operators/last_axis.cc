// SPDX-License-Identifier: Apache-2.0
#include "operators/last_axis.h"

namespace millhopper {

LastAxis RowsOf(const OpContext& context, std::string_view slot) {
  const LoDTensor& tensor = context.In(slot);
  const Dims& dims = tensor.dims();
  RequireInput(!dims.empty() && dims[dims.size() - 1] > 0, context, slot,
               "a last axis of at least 1 value is needed");
  const int64_t length = dims[dims.size() - 1];
  return {tensor.numel() / length, length};
}

Dims WithLastAxis(Dims dims, int64_t length) {
  dims[dims.size() - 1] = length;
  return dims;
}

const int64_t* ClassLabels(const OpContext& context, std::string_view of) {
  const LoDTensor& label = context.In("Label");
  const LastAxis shape = RowsOf(context, of);
  const Dims wanted = WithLastAxis(context.In(of).dims(), 1);
  if (label.dtype() != DataType::kInt64 || label.dims() != wanted) {
    ThrowUnfit(
        context, "Label",
        StrCat("int64 ", ToString(wanted), " is needed, one class for each row of '", of, "'"));
  }
  const auto* labels = label.data<int64_t>();
  for (int64_t i = 0; i < shape.rows; ++i) {
    RequireInput(labels[i] >= 0 && labels[i] < shape.length, context, "Label", "label ", i, " is ",
                 labels[i], " but the classes are 0 to ", shape.length - 1);
  }
  return labels;
}

AttributeSchema SoftLabelAttr() {
  return {"soft_label", false, "whether Label holds a weight for each class"};
}

}  // namespace millhopper
