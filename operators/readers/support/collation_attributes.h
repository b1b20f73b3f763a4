// SPDX-License-Identifier: Apache-2.0
// The attributes of operators that make batches of whole elements, with or without padding.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_COLLATION_ATTRIBUTES_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_COLLATION_ATTRIBUTES_H_

#include "framework/base/attribute.h"
#include "framework/program/operator.h"
#include "readers/gather/collating_reader.h"

namespace millhopper {

// Adds the attributes that say how sequences are padded, and the rule for the slots. If padding is
// a choice, the attribute `pad` makes it.
OpSchema WithCollation(OpSchema schema, bool is_choice);
// What the attributes say.
CollationOptions CollationOf(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_COLLATION_ATTRIBUTES_H_
