// SPDX-License-Identifier: Apache-2.0
// The limit of the workload that makes tokens of text: what no tokenizer can leave out.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_WORD_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_WORD_LIMIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/benchmarks/data.h"

namespace millhopper {

// Finds the ends of words, 16 bytes at a time, hashes each word once, looks at its one place in a
// table and writes the number that stands there; from memory to memory. It takes every word for a
// token, knows that words end at spaces and lines at line ends (WordLines), compares no bytes and
// merges nothing.
class WordLimit {
 public:
  explicit WordLimit(const DataSet& data);

  // Does all of the work once more, on the calling thread. Returns its processor time in seconds
  // per record.
  double SecondsPerRecord();

 private:
  std::string text_;
  std::vector<int64_t> table_;
  std::vector<int64_t> out_;
  double records_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_WORD_LIMIT_H_
