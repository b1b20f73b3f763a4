// SPDX-License-Identifier: Apache-2.0
// The limits of workloads that read records in a random order: the work that no reader can leave
// out.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_RANDOM_ORDER_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_RANDOM_ORDER_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/benchmarks/data.h"

namespace millhopper {

// Copies all records of a file, and those of its companion, out of the pages in which the kernel
// keeps them, in a random order that was listed beforehand, to a batch that stays in the cache.
// Records are prefetched. Nothing is planned, and no system call is made, so that this is the limit
// of readers that make one, too. A copy in order (FileLimit) is faster, because the processor sees
// what comes next; no reader that has to follow the order can do that.
class RandomOrderLimit {
 public:
  explicit RandomOrderLimit(const DataSet& data) : RandomOrderLimit(data, 0, data.records) {}
  // Of the records at these places of the order alone.
  RandomOrderLimit(const DataSet& data, uint64_t first, uint64_t count);
  ~RandomOrderLimit();
  RandomOrderLimit(const RandomOrderLimit&) = delete;
  RandomOrderLimit& operator=(const RandomOrderLimit&) = delete;

  // Does all of the work once more, on the calling thread. Returns its processor time in seconds
  // per record.
  double SecondsPerRecord();

 private:
  // A file as memory, with all its pages loaded beforehand.
  struct Column {
    char* begin;
    size_t size;
    const char* records;
    size_t record_bytes;
  };

  std::vector<Column> columns_;
  const std::vector<uint32_t> order_;
  std::vector<char> batch_;
};

// Reads the records at these places of the order by a call of the system for each, into a batch
// that stays in the cache: the limit of readers that read so. The data set is one file of bare
// records.
class RandomReadsLimit {
 public:
  RandomReadsLimit(const DataSet& data, uint64_t first, uint64_t count);
  ~RandomReadsLimit();
  RandomReadsLimit(const RandomReadsLimit&) = delete;
  RandomReadsLimit& operator=(const RandomReadsLimit&) = delete;

  // As above.
  double SecondsPerRecord();

 private:
  const int descriptor_;
  const size_t record_bytes_;
  const std::vector<uint32_t> order_;
  std::vector<char> batch_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_RANDOM_ORDER_LIMIT_H_
