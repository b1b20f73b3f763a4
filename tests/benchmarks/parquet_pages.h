// SPDX-License-Identifier: Apache-2.0
// Pages of a Parquet file in memory, as pyarrow writes them unless told otherwise: a row group of a
// label, 13 numbers and 26 categories, whose columns have a dictionary and places in it, compressed
// by snappy.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_PARQUET_PAGES_H_
#define MILLHOPPER_TESTS_BENCHMARKS_PARQUET_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

struct ParquetPage {
  bool dictionary = false;
  std::string stored;
  size_t expanded = 0;
  size_t values = 0;
};

struct ParquetColumn {
  size_t value_bytes = 0;  // 4 or 8
  std::vector<ParquetPage> pages;
  uint64_t sum = 0;  // of the values, which are taken as whole numbers of their size
};

// The columns of `rows` rows like those that bench_peers compares readers with.
std::vector<ParquetColumn> ParquetTable(size_t rows);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_PARQUET_PAGES_H_
