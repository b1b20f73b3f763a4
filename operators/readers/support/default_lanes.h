// SPDX-License-Identifier: Apache-2.0
// How many lanes files have in chains that methods build, where nobody says it.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_DEFAULT_LANES_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_DEFAULT_LANES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "proto/framework.pb.h"

namespace millhopper {

constexpr size_t kDefaultLanes = 16;

// A program says how many lanes its files have, or they are one stream. What builds programs
// (Reader in Python, operators/fluent) calls this, which states `lanes` for those open_files
// operators that create one of `sources` and do not, where that changes nothing but an order that
// is random anyway. So it must be that
// - a create_shuffle_reader that draws another order in each pass stands on the files, whose window
//   has 4 elements for each lane or more;
// - a create_batch_reader runs the lanes, and all readers between it and the files look at one
//   element at a time (OpSchema::ByElement), or shuffle;
// - open_files says nothing that has no meaning for lanes (thread_num, buffer_size, deterministic,
//   shuffle_chunks, shuffle_records, pass_num);
// - its files can be read again, and have 4 records for each lane or more, since lanes of fewer
//   have no choice to draw from. Local files of less than 16 MiB together are opened to see that;
//   those that do not tell how many records they have must have 4 KiB. So the program depends on
//   the files that there are when it is built.
//
// Where create_shard_reader divides lanes among ranks, a batch on top is that of all of them, of
// which each has its share. `shares_batches` says that whoever makes the batches means that, and
// will share the lanes; if not, files below create_shard_reader stay one stream.
//
// Returns whether it has stated any.
bool StateLanes(const std::vector<std::string>& sources, size_t lanes, bool shares_batches,
                proto::ProgramDesc* program);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_DEFAULT_LANES_H_
