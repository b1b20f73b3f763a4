// SPDX-License-Identifier: Apache-2.0
// Lanes of any source of records: each of them has every so many records.
#ifndef MILLHOPPER_READERS_LANES_RECORD_LANES_H_
#define MILLHOPPER_READERS_LANES_RECORD_LANES_H_

#include <cstddef>
#include <memory>

#include "framework/reader/reader.h"

namespace millhopper {

// Deals the records of a source to lanes by turns: record r, which must be sample r of the pass,
// goes to lane r modulo their number. For sources without chunks that could be dealt, such as
// arrays; of files, readers/sources/file_lanes.h deals chunks, whose bytes then stay with one
// thread.
//
// The source plans under a lock that a lane takes once for many records; lanes load. What other
// lanes have not taken yet waits for them, so a lane that leaves most of its records out, as below
// a filter, lets those of the others wait in memory. Throws kInvalidArgument for no lane and for
// more than kMaxLanes; Plan of a lane throws it for a source that numbers its records otherwise,
// such as one that is shuffled already.
LaneSet MakeRecordLanes(std::unique_ptr<ReaderBase> source, size_t lanes);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_RECORD_LANES_H_
