// SPDX-License-Identifier: Apache-2.0
// Pages of a Parquet file that become columns of numbers, one column after another: what the plugin
// of the format does with them. The plugin itself needs Arrow; tools/benchmarks/bench_peers
// measures it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/arrow/flat_pages.h"
#include "readers/support/snappy_block.h"
#include "tests/benchmarks/parquet_pages.h"
#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr size_t kRows = 1 << 16;

PackedBytes BytesOf(const ParquetPage& page) {
  const auto* begin = reinterpret_cast<const uint8_t*>(page.stored.data());
  return {begin, begin + page.stored.size()};
}

bool Expand(PackedBytes stored, uint8_t* out, size_t expanded) {
  return ExpandSnappyBlock(reinterpret_cast<const char*>(stored.begin), stored.size(),
                           reinterpret_cast<char*>(out), expanded);
}

class PageWork {
 public:
  PageWork() : columns_(ParquetTable(kRows)) {
    size_t most = 0;
    for (const ParquetColumn& column : columns_) {
      for (const ParquetPage& page : column.pages) most = std::max(most, page.expanded);
    }
    for (Room& room : rooms_) room.resize(most);
    values_.resize(kRows);
  }

  // Decodes all columns.
  void Decode() {
    for (const ParquetColumn& column : columns_) Decode(column);
  }

  // Whether the columns have their values.
  bool IsRight() {
    return std::all_of(columns_.begin(), columns_.end(), [&](const ParquetColumn& column) {
      Decode(column);
      return (column.value_bytes == sizeof(uint64_t) ? Sum<uint64_t>() : Sum<uint32_t>()) ==
             column.sum;
    });
  }

  // What cannot be left out: expands all pages, and copies as many bytes as there are values.
  double SecondsPerRow() {
    const double begin = ThreadSeconds();
    for (const ParquetColumn& column : columns_) {
      for (const ParquetPage& page : column.pages) {
        Expand(BytesOf(page), rooms_[0].data(), page.expanded);
      }
      std::memcpy(values_.data(), rooms_[1].data(), kRows * column.value_bytes);
      benchmark::ClobberMemory();
    }
    return (ThreadSeconds() - begin) / kRows;
  }

 private:
  using Room = std::vector<uint8_t>;

  template <typename T>
  T* values() {
    return reinterpret_cast<T*>(values_.data());
  }

  template <typename T>
  uint64_t Sum() {
    return std::accumulate(values<T>(), values<T>() + kRows, uint64_t{0});
  }

  void Decode(const ParquetColumn& column) {
    column.value_bytes == sizeof(uint64_t) ? DecodeAs<uint64_t>(column)
                                           : DecodeAs<uint32_t>(column);
  }

  template <typename T>
  void DecodeAs(const ParquetColumn& column) {
    Room* room = rooms_;
    const auto allocate = [&](size_t) {
      std::shared_ptr<uint8_t> memory(std::shared_ptr<void>(), room->data());
      room = rooms_ + 1;
      return memory;
    };
    FlatPages<T> pages({allocate, &Expand}, true, kRows, values<T>());
    for (const ParquetPage& page : column.pages) {
      FlatPage flat;
      flat.kind = page.dictionary ? FlatPageKind::kDictionary : FlatPageKind::kPlaces;
      flat.stored = BytesOf(page);
      flat.expanded = static_cast<int64_t>(page.expanded);
      flat.values = static_cast<int64_t>(page.values);
      Require(pages.Take(flat), "a page of the benchmark is refused");
    }
    benchmark::ClobberMemory();
  }

  const std::vector<ParquetColumn> columns_;
  Room rooms_[2];                 // of a dictionary, and of a page
  std::vector<uint64_t> values_;  // of a column
};

// Rows a second of processor time, since one thread does all of it.
double RateOfDecoding(PageWork* work) {
  const double begin = ThreadSeconds();
  double rows = 0, spent = 0;
  for (; spent < Options().min_seconds / Options().rounds; spent = ThreadSeconds() - begin) {
    work->Decode();
    rows += kRows;
  }
  return rows / spent;
}

Measured MeasurePages() {
  PageWork work;
  Require(work.IsRight(), "the pages have other values than were stored");
  Measured measured;
  measured.records = kRows;
  const Usage before = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    measured.limits.push_back(1 / work.SecondsPerRow());
    measured.rates.push_back(RateOfDecoding(&work));
  }
  measured.foreign_share = (Usage::Now() - before).foreign_share();
  return measured;
}

}  // namespace

void AddParquetWorkloads(Workloads* workloads) {
  Workload pages;
  pages.name = "parquet_pages";
  pages.what = "row";
  AimAtRatio(0.70, &pages);
  pages.measure = MeasurePages;
  workloads->push_back(std::move(pages));
}

}  // namespace millhopper
