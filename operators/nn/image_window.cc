// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/image_window.h"

#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {

int64_t ImageWindow::Count(int64_t length, bool ceil) const {
  const int64_t room = length + 2 * padding - extent();
  if (room < 0) return 0;
  return (ceil ? room + stride - 1 : room) / stride + 1;
}

AttributeSchema PairAttr(const std::string& name, int32_t default_value, std::string doc) {
  return AttributeSchema(name, std::vector<int32_t>{default_value, default_value}, std::move(doc))
      .AtLeast(default_value);
}

void CheckPairs(const AttributeMap& attributes, std::initializer_list<const char*> names) {
  constexpr int32_t kMost = 1 << 20;  // so that products with the dims of a tensor do not overflow
  for (const char* name : names) {
    const auto& values = attributes.Get<std::vector<int32_t>>(name);
    Require(values.size() == 2, "attribute '", name, "' has ", values.size(),
            " values; it takes two, for the height and for the width");
    for (const int32_t value : values) {
      Require(value <= kMost, "attribute '", name, "' is ", ToString(values), "; at most ", kMost,
              " is taken");
    }
  }
}

OpSchema WithLineageAttrs(OpSchema schema) {
  return schema.Attr({"use_cudnn", false, "accepted for older programs; without effect"})
      .Attr({"use_mkldnn", false, "accepted for older programs; without effect"})
      .Attr(AttributeSchema("data_format", std::string("NCHW"), "accepted for older programs")
                .OneOf({"NCHW", "AnyLayout"}));
}

}  // namespace millhopper
