// SPDX-License-Identifier: Apache-2.0
// Properties of the machine that do not depend on our code.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_
#define MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_

namespace millhopper {

// How long a cache line takes from the calling thread to another and back, in seconds; 0 if there
// is only one processor. With virtual processors it may change from minute to minute, since they
// share a cache at times; so may the speed of all work that two threads share.
double RoundTripSeconds();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_MACHINE_H_
