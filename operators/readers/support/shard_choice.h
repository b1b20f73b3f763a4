// SPDX-License-Identifier: Apache-2.0
// Which of several processes create_shard_reader reads for.
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
// has, or if it has set what is no number. Whether the index is one of that many shards is not
// checked here: ShardReader does.
ShardChoice ShardChoiceOf(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_SHARD_CHOICE_H_
