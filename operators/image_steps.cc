// SPDX-License-Identifier: Apache-2.0
#include "operators/image_steps.h"

#include <string>

#include "framework/base/attribute.h"
#include "operators/image/orientation.h"

namespace millhopper {

DecodeStep::DecodeStep(const AttributeMap& attributes)
    : channels(attributes.Get<int32_t>("channels")),
      orient(attributes.Get<bool>("orientation")),
      partial(attributes.Get<bool>("partial")),
      max_pixels(attributes.Get<int64_t>("max_pixels")),
      exact(attributes.Get<bool>("exact")) {}

ImageShape DecodeStep::ShapeOf(const ImageHeader& header) const {
  ImageShape shape = Upright(header.stored, OrientationOf(header));
  shape.channels = ChannelsOf(header);
  return shape;
}

FlipStep::FlipStep(const AttributeMap& attributes)
    : horizontal(attributes.Get<std::string>("axis") == "horizontal"),
      p(attributes.Get<float>("p")) {}

}  // namespace millhopper
