// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/random_order_limit.h"

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "framework/base/error.h"
#include "framework/base/permutation.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {
namespace {

constexpr size_t kBatch = 128;
constexpr size_t kPrefetched = 32;  // records ahead
constexpr size_t kPrefetchedBytes = 384;
constexpr size_t kCacheLine = 64;

}  // namespace

RandomOrderLimit::RandomOrderLimit(const DataSet& data) {
  std::vector<std::string> paths = data.files;
  paths.insert(paths.end(), data.companions.begin(), data.companions.end());
  size_t widest = 0;
  for (const std::string& path : paths) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
      Throw(ErrorCode::kIo, path, " cannot be opened");
    }
    const auto size = static_cast<size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) Throw(ErrorCode::kIo, path, " cannot be mapped");
    auto* const begin = static_cast<char*>(memory);
    const size_t record_bytes = size / data.records;  // a header is shorter than the records
    columns_.push_back({begin, size, begin + size - data.records * record_bytes, record_bytes});
    widest = std::max(widest, record_bytes);
  }
  batch_.resize(kBatch * widest);
  const Permutation order(data.records, RandomKey(0, 7, "files"), 0);
  order_.reserve(data.records);
  for (uint64_t i = 0; i < data.records; ++i) order_.push_back(static_cast<uint32_t>(order[i]));
}

RandomOrderLimit::~RandomOrderLimit() {
  for (const Column& column : columns_) munmap(column.begin, column.size);
}

double RandomOrderLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  for (const Column& column : columns_) {
    const size_t size = column.record_bytes;
    for (size_t i = 0; i < order_.size(); ++i) {
      const size_t ahead = order_[std::min(i + kPrefetched, order_.size() - 1)];
      for (size_t at = 0; at < std::min(size, kPrefetchedBytes); at += kCacheLine) {
        __builtin_prefetch(column.records + ahead * size + at);
      }
      std::memcpy(&batch_[i % kBatch * size], column.records + order_[i] * size, size);
    }
    benchmark::ClobberMemory();
  }
  return (ThreadSeconds() - begin) / static_cast<double>(order_.size());
}

}  // namespace millhopper
