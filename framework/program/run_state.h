// SPDX-License-Identifier: Apache-2.0
// The settings and counters of one run of a program.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_

#include <cstdint>
#include <iosfwd>
#include <map>
#include <vector>

#include "framework/memory/place.h"

namespace millhopper::proto {
class OpDesc;
}  // namespace millhopper::proto

namespace millhopper {

class OpContext;
struct RecordId;

// An operator of a program, by the numbers of its block and within it.
struct OperatorNumber {
  int block = 0;
  int op = 0;
};

// Is called at the places where a run can be saved and resumed.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // Called when the outermost loop stands before a step, or before its end: then the whole state of
  // the run is in variables, readers and RunState. `loop` is the operator of the loop. On the
  // thread that runs the program. May set variables, readers and counters; what it throws ends the
  // run.
  virtual void BetweenSteps(OpContext& loop) = 0;
};

// One per run of a program or of an element block; the blocks inside share it.
struct RunState {
  Place place;             // where a double buffer with place "AUTO" leaves batches
  uint64_t seed = 0;       // as --seed gives it
  int64_t max_steps = -1;  // limit on the steps of all loops together; -1 is no limit
  int64_t steps = 0;       // steps of all loops so far
  // How often each operator has run so far; only of operators that count their runs (print).
  std::map<const millhopper::proto::OpDesc*, int64_t> times;
  // The element that an element block runs for: random operators derive their numbers from this
  // id, so that the order in which worker threads run elements has no effect. Null elsewhere.
  const RecordId* record = nullptr;
  std::ostream* output = nullptr;  // what `print` prints to; null is standard output
  RunWatcher* watcher = nullptr;   // may be null
  int loops = 0;                   // loops that are in the middle of a step
  // In a resumed run, the operators to resume in, the innermost first. The block of the last one
  // removes it and begins there.
  std::vector<OperatorNumber> resume_at;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_RUN_STATE_H_
