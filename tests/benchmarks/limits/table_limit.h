// SPDX-License-Identifier: Apache-2.0
// The limit of the workload that reads a table of text: what no reader of it can leave out.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_TABLE_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_TABLE_LIMIT_H_

#include <string>
#include <vector>

#include "tests/benchmarks/data.h"

namespace millhopper {

// Finds the ends of all cells, 64 bytes at a time, turns the digits of each into a number, all of
// them together, and writes it where a batch has it; from memory to memory. It knows which columns
// there are (CriteoTsv), and checks nothing: any byte is a digit, and no number is too long.
class TableLimit {
 public:
  explicit TableLimit(const DataSet& data);

  // Does all of the work once more, on the calling thread. Returns its processor time in seconds
  // per record.
  double SecondsPerRecord();

 private:
  std::string text_;
  std::vector<char> out_;
  double records_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_TABLE_LIMIT_H_
