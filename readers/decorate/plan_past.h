// SPDX-License-Identifier: Apache-2.0
// Passes over elements of a reader.
#ifndef MILLHOPPER_READERS_DECORATE_PLAN_PAST_H_
#define MILLHOPPER_READERS_DECORATE_PLAN_PAST_H_

#include <cstddef>

#include "framework/reader/reader.h"

namespace millhopper {

// Plans elements and drops them, without loading them, until *left is 0. Returns false if the pass
// ends before. Throws what Plan throws; *left then says how many are still to be passed over.
bool PlanPast(ReaderBase* reader, size_t* left);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_PLAN_PAST_H_
