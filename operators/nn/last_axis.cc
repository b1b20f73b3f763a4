// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/last_axis.h"

namespace millhopper {

LastAxis RowsOf(const OpContext& context, std::string_view parameter) {
  const LoDTensor& tensor = context.In(parameter);
  const Dims& dims = tensor.dims();
  RequireInput(!dims.empty() && dims[dims.size() - 1] > 0, context, parameter,
               "a last axis of at least 1 value is needed");
  const int64_t length = dims[dims.size() - 1];
  return {tensor.numel() / length, length};
}

Dims WithLastAxis(Dims dims, int64_t length) {
  dims[dims.size() - 1] = length;
  return dims;
}

TensorSpec WithLastAxis(TensorSpec spec, int64_t length) {
  if (!spec.dims) return spec;
  if (spec.dims->empty()) {
    spec.dims.reset();  // rows need an axis; the operator throws when it runs
    return spec;
  }
  if (spec.dims->size() == 1 && (*spec.dims)[0] != length) {
    // The levels of detail divide this axis, and they do not fit another length of it.
    if (spec.lod_level != 0) spec.lod_level = (*spec.dims)[0] < 0 ? std::nullopt : std::optional(0);
  }
  spec.dims = WithLastAxis(*spec.dims, length);
  return spec;
}

void RequireLabels(const InferContext& context, std::string_view of) {
  if (context.Attr<bool>("soft_label")) {
    context.RequireSameShape("Label", of);
    return;
  }
  TensorSpec wanted = WithLastAxis(context.In(of), 1);
  wanted.dtype = DataType::kInt64;
  wanted.lod_level.reset();
  if (MayBeSame(context.In("Label"), wanted)) return;
  context.ThrowUnfit("Label", StrCat(ToString(wanted), " is needed, one class for each row of ",
                                     context.Describe(of)));
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

bool HasSoftLabels(const OpContext& context, std::string_view of) {
  const bool soft = context.Attr<bool>("soft_label");
  if (soft) RequireSameShape(context, "Label", of);
  return soft;
}

void RequireValuePerRow(const OpContext& context, std::string_view parameter, std::string_view of,
                        int64_t rows) {
  RequireSameType(context, parameter, of);
  RequireInput(context.In(parameter).numel() == rows, context, parameter,
               "one value for each row of '", of, "' is needed, ", rows);
}

AttributeSchema SoftLabelAttr() {
  return {"soft_label", false, "whether Label holds a weight for each class"};
}

}  // namespace millhopper
