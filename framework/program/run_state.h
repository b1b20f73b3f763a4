// SPDX-License-Identifier: Apache-2.0
// What a run of a program is given, and counts.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_

#include <cstdint>
#include <iosfwd>
#include <map>

#include "framework/base/place.h"

namespace paddle::framework::proto {
class OpDesc;
}  // namespace paddle::framework::proto

namespace millhopper {

struct RecordId;

// One a run; sub-blocks share it.
struct RunState {
  Place place;             // of the executor: what a double buffer's place "AUTO" means
  uint64_t seed = 0;       // --seed
  int64_t max_steps = -1;  // of all loops together; -1 is any number
  int64_t steps = 0;       // so far
  // How often operators that count themselves have run so far.
  std::map<const paddle::framework::proto::OpDesc*, int64_t> times;
  // The element that a block is run for, in parallel with others: what is random is drawn by its
  // name. Null where there is none.
  const RecordId* record = nullptr;
  std::ostream* output = nullptr;  // what `print` prints to; null is standard output
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_
