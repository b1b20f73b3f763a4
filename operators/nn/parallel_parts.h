// SPDX-License-Identifier: Apache-2.0
// Parts of the work of one operator, on the threads of the pool.
#ifndef MILLHOPPER_OPERATORS_NN_PARALLEL_PARTS_H_
#define MILLHOPPER_OPERATORS_NN_PARALLEL_PARTS_H_

#include <cstddef>

#include "framework/base/thread_pool.h"
#include "framework/memory/attempt.h"

namespace millhopper {

// Calls part(0) ... part(n - 1), on idle workers too; the caller takes part and waits. A part may
// take memory to work in. If the memory limit leaves no room for the work of several threads at
// once, the caller calls all parts again, one by one; so each part must write all of its results
// each time. How the work is divided must not depend on the number of threads.
template <typename Part>
void ParallelParts(size_t n, const Part& part) {
  if (TryAhead([&] { ParallelFor(n, part); })) return;
  for (size_t i = 0; i < n; ++i) part(i);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_PARALLEL_PARTS_H_
