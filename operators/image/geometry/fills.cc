// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/fills.h"

#include "operators/image/image_argument.h"
#include "operators/support/arguments.h"

namespace millhopper {

void RequireFill(const OpContext& context, const char* parameter, const Fill& fill,
                 const char* attribute) {
  for (size_t i = 0; i < context.InCount(parameter); ++i) {
    const auto channels = static_cast<size_t>(ShapeOfImages(context, parameter, i).channels);
    Require(fill.size() == 1 || fill.size() == channels, "attribute '", attribute, "' has ",
            fill.size(), " values, and images have ", channels, " channels");
    const DataType type = context.In(parameter, i).dtype();
    const float most = type == DataType::kUint8 ? 255 : 65535;
    for (const float value : fill) {
      if (type == DataType::kFp32 || (value >= 0 && value <= most)) continue;
      ThrowUnfit(context, parameter, StrCat("attribute '", attribute, "' is ", value), i);
    }
  }
}

}  // namespace millhopper
