// SPDX-License-Identifier: Apache-2.0
// What the machine is like, whatever we do with it.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_
#define MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_

namespace millhopper {

// How long a line of the cache takes from the calling thread to another and back, in seconds. Where
// processors are virtual it may change from minute to minute, as they come to share a cache or not,
// and with it whatever two threads do for one another. 0 where there is one processor.
double RoundTripSeconds();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_
