// SPDX-License-Identifier: Apache-2.0
// Windows that slide over the last two axes of images [N, C, H, W], in convolutions and poolings.
#ifndef MILLHOPPER_OPERATORS_NN_IMAGE_WINDOW_H_
#define MILLHOPPER_OPERATORS_NN_IMAGE_WINDOW_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"
#include "operators/support/arguments.h"

namespace millhopper {

// The windows along one axis.
struct ImageWindow {
  int64_t size = 1;      // values of a window
  int64_t stride = 1;    // from one window to the next
  int64_t padding = 0;   // places in front of the axis, and as many after it
  int64_t dilation = 1;  // from one value of a window to the next

  // Where window i begins; below 0 in the padding.
  int64_t Begin(int64_t i) const { return i * stride - padding; }
  // From the first value of a window to just after its last one.
  int64_t extent() const { return dilation * (size - 1) + 1; }
  // How many windows an axis of some length has, 0 if none fits. The last one may reach beyond the
  // padding if `ceil` is true.
  int64_t Count(int64_t length, bool ceil) const;
};

// The attribute of two values, for the height and for the width.
AttributeSchema PairAttr(const std::string& name, int32_t default_value, std::string doc);
// Throws kInvalidArgument unless each of these attributes has two values that fit.
void CheckPairs(const AttributeMap& attributes, std::initializer_list<const char*> names);
// Adds attributes that programs of Paddle Fluid may have and that have no effect here.
OpSchema WithLineageAttrs(OpSchema schema);

// Says that an input does not fit: throws ThrowUnfit's error, before a run or in it.
using Refusal = std::function<void(std::string_view parameter, const std::string& wanted)>;
inline Refusal RefusalOf(const InferContext& context) {
  return [&context](std::string_view parameter, const std::string& wanted) {
    context.ThrowUnfit(parameter, wanted);
  };
}
inline Refusal RefusalOf(const OpContext& context) {
  return [&context](std::string_view parameter, const std::string& wanted) {
    ThrowUnfit(context, parameter, wanted);
  };
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_IMAGE_WINDOW_H_
