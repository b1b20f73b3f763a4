// SPDX-License-Identifier: Apache-2.0
// The limit of chains with lanes: what as many processes make as there are threads.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_PROCESS_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_PROCESS_LIMIT_H_

#include <cstdint>
#include <list>
#include <string>

#include "framework/reader/reader.h"
#include "tests/benchmarks/process.h"

namespace millhopper {

// Processes that share nothing: each of them has its own share of what a workload reads, and reads
// it on one thread without lanes (Workload::read_share).
class ProcessLimit {
 public:
  // Starts them. The workload has so many records; those of all shares together must be as many.
  ProcessLimit(const std::string& workload, int processes, uint64_t records);

  // Has each read a pass of its share, all at once. Returns the time until the last of them has
  // done so, in seconds per record that one reads.
  double SecondsPerRecord();

 private:
  const std::string workload_;
  const uint64_t records_;
  std::list<Process> processes_;
};

// Runs in such a process: reads a pass for each line of input, and prints how many records it had.
void ReadForEachLine(ReaderBase* reader);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_PROCESS_LIMIT_H_
