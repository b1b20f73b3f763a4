// SPDX-License-Identifier: Apache-2.0
#include "operators/image_steps.h"

#include <string>

#include "framework/base/attribute.h"

namespace millhopper {

FlipStep::FlipStep(const AttributeMap& attributes)
    : horizontal(attributes.Get<std::string>("axis") == "horizontal"),
      p(attributes.Get<float>("p")) {}

}  // namespace millhopper
