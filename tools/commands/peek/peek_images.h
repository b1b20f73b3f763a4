// SPDX-License-Identifier: Apache-2.0
// The images of elements, for peek --png.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_IMAGES_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_IMAGES_H_

#include <cstddef>
#include <vector>

#include "framework/tensor/tensor.h"
#include "tools/commands/peek/peek_marks.h"
#include "tools/commands/pictures/contact_sheet.h"

namespace millhopper {

// Adds the images in the slots of an element with what is marked in them, in order, until a slot
// has `most` of them in all: those that a sheet takes, and encoded ones as files have them. An
// encoded image with a side of more than 256 pixels is reduced by a whole number, so that a full
// sheet takes little memory. Passed over are bytes that are no whole image, images of more than
// 64 Mi pixels, and those that are too narrow for a sheet.
void AddImages(const std::vector<LoDTensor>& element, const MarkSlots& marks, size_t most,
               ContactSheet* sheet);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_IMAGES_H_
