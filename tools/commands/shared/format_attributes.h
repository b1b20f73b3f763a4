// SPDX-License-Identifier: Apache-2.0
// What the flags --attribute say.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_FORMAT_ATTRIBUTES_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_FORMAT_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/reader/file_format.h"
#include "proto/framework.pb.h"

namespace millhopper {

// The attributes of a format that texts such as "delimiter=;" name: texts ("\t" is a tab), ints,
// true and false, and lists of texts, to which each such text adds one. Throws kInvalidArgument,
// naming the flag, for what is none.
AttributeMap AttributesOfFlags(const FormatSchema& format, const std::vector<std::string>& texts);

// Gives such attributes to the operator that reads the files.
void SetAttributes(const AttributeMap& attributes, millhopper::proto::OpDesc* op);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_FORMAT_ATTRIBUTES_H_
