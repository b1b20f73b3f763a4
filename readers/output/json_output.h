// SPDX-License-Identifier: Apache-2.0
// Elements as JSON, as the formats that are read with JsonParser (readers/fields/json_fields.h)
// have it.
#ifndef MILLHOPPER_READERS_OUTPUT_JSON_OUTPUT_H_
#define MILLHOPPER_READERS_OUTPUT_JSON_OUTPUT_H_

#include <string>
#include <vector>

#include "framework/tensor/tensor.h"
#include "readers/output/output_slots.h"

namespace millhopper {

// Throws kInvalidArgument, naming the slot, if no field of JSON can be it.
void CheckJsonHolds(const char* format, const OutputSlot& slot);
// Appends an object with a member for each slot. Throws kInvalidArgument for bytes that are no
// UTF-8, and for elements of several records.
void AppendJsonObject(const char* format, const std::vector<OutputSlot>& slots,
                      const std::vector<LoDTensor>& element, std::string* out);
// The name of the field of a member of the outermost object: what begins as a JSON pointer does is
// written as one.
std::string JsonFieldName(const std::string& name);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_OUTPUT_JSON_OUTPUT_H_
