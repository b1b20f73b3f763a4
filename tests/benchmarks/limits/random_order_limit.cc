// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/random_order_limit.h"

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
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

// What stands at these places of the order in which OpenInRandomOrder reads.
std::vector<uint32_t> OrderOf(const DataSet& data, uint64_t first, uint64_t count) {
  const Permutation order(data.records, RandomKey(0, 7, "files"), 0);
  std::vector<uint64_t> some(kBatch);
  std::vector<uint32_t> list;
  list.reserve(count);
  for (uint64_t at = 0; at < count; at += kBatch) {
    some.resize(std::min<uint64_t>(kBatch, count - at));
    order.List(first + at, some.size(), some.data());
    for (const uint64_t number : some) list.push_back(static_cast<uint32_t>(number));
  }
  return list;
}

int Opened(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) Throw(ErrorCode::kIo, path, " cannot be opened");
  return descriptor;
}

}  // namespace

RandomOrderLimit::RandomOrderLimit(const DataSet& data, uint64_t first, uint64_t count)
    : order_(OrderOf(data, first, count)) {
  std::vector<std::string> paths = data.files;
  paths.insert(paths.end(), data.companions.begin(), data.companions.end());
  size_t widest = 0;
  for (const std::string& path : paths) {
    const size_t size = std::filesystem::file_size(path);
    const int descriptor = Opened(path);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) Throw(ErrorCode::kIo, path, " cannot be mapped");
    auto* const begin = static_cast<char*>(memory);
    const size_t record_bytes = size / data.records;  // a header is shorter than the records
    columns_.push_back({begin, size, begin + size - data.records * record_bytes, record_bytes});
    widest = std::max(widest, record_bytes);
  }
  batch_.resize(kBatch * widest);
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

RandomReadsLimit::RandomReadsLimit(const DataSet& data, uint64_t first, uint64_t count)
    : descriptor_(Opened(data.files.front())),
      record_bytes_(std::filesystem::file_size(data.files.front()) / data.records),
      order_(OrderOf(data, first, count)),
      batch_(kBatch * record_bytes_) {}

RandomReadsLimit::~RandomReadsLimit() { close(descriptor_); }

double RandomReadsLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  for (size_t i = 0; i < order_.size(); ++i) {
    const auto offset = static_cast<off_t>(order_[i] * record_bytes_);
    const ssize_t got =
        pread(descriptor_, &batch_[i % kBatch * record_bytes_], record_bytes_, offset);
    if (got != static_cast<ssize_t>(record_bytes_)) Throw(ErrorCode::kIo, "a read failed");
  }
  benchmark::ClobberMemory();
  return (ThreadSeconds() - begin) / static_cast<double>(order_.size());
}

}  // namespace millhopper
