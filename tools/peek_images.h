// SPDX-License-Identifier: Apache-2.0
// Images as files have them, for peek --png.
#ifndef MILLHOPPER_TOOLS_PEEK_IMAGES_H_
#define MILLHOPPER_TOOLS_PEEK_IMAGES_H_

#include <vector>

#include "framework/tensor/tensor.h"

namespace millhopper {

// The JPEG, PNG and WebP images in the slots of an element, in order: for each of them an element
// with the decoded image, uint8 [1, height, width, 3], in its slot and nothing in the others. Bytes
// that are no whole image are passed over.
std::vector<std::vector<LoDTensor>> DecodedImages(const std::vector<LoDTensor>& element);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_PEEK_IMAGES_H_
