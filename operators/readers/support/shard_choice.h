// SPDX-License-Identifier: Apache-2.0
// The number of shards and the index of this process's shard, for create_shard_reader.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_SHARD_CHOICE_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_SHARD_CHOICE_H_

#include <cstdint>

#include "framework/base/attribute.h"

namespace millhopper {

struct ShardChoice {
  int64_t shards;
  int64_t index;
};

// What the attributes num_shards and index of create_shard_reader say; where they leave it to the
// environment (0 and -1), what a launcher has set there now. Throws kInvalidArgument if no launcher
// has set it, or if it is no number. ShardReader checks that the index is below the number of
// shards.
ShardChoice ShardChoiceOf(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_SHARD_CHOICE_H_
