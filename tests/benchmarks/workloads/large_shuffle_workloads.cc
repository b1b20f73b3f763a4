// SPDX-License-Identifier: Apache-2.0
// A full shuffle of a file that is much larger than all caches: 10^8 records of 64 bytes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/random_order_limit.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr uint64_t kRecords = 100000000;
constexpr int64_t kBytes = 64;
constexpr int64_t kBatch = 128;
constexpr double kRatio = 0.2;
constexpr double kMostMemory = 60e6;

// One pass, of which each round reads the next part, behind a limit that gathers the same records.
template <typename Limit>
Measured Measure(BufferType buffer_type) {
  DataSet data = SparseFixed(kRecords, DataType::kUint8, kBytes);
  data.buffer_type = buffer_type;
  RandomOrderLimit(data, 0, 1);  // maps the file with all its pages: from now on they are loaded
  ThreadPool::Get().SetSize(Options().workers);
  DropIdleMemory();
  const uint64_t program = MappedBytes();
  const ReaderPtr reader = Batched(OpenInRandomOrder(data), kBatch);
  Measured measured;
  Consumer consumer;
  std::vector<LoDTensor> batch;
  Usage used;
  uint64_t peak = 0;
  for (int round = 0; round < Options().rounds; ++round) {
    const uint64_t first = consumer.records;
    const uint64_t end =
        kRecords * static_cast<uint64_t>(round + 1) / static_cast<uint64_t>(Options().rounds);
    const double limit = Limit(data, first, end - first).SecondsPerRecord();
    measured.limits.push_back(Options().threads() / limit);
    const OwnMemoryWatch watch;
    const Usage before = Usage::Now();
    while (consumer.records < end && reader->HasNext()) {
      reader->ReadNext(&batch);
      consumer.Take(batch);
    }
    const Usage spent = Usage::Now() - before;
    measured.rates.push_back(static_cast<double>(consumer.records - first) / spent.wall_seconds);
    used += spent;
    peak = std::max(peak, watch.peak());
  }
  measured.records = consumer.records;
  if (measured.records != kRecords || reader->HasNext()) {
    Throw(ErrorCode::kInternal, "a pass of ", measured.records, " records, or more, instead of ",
          kRecords);
  }
  measured.foreign_share = used.foreign_share();
  measured.counters = {{"peak_bytes", static_cast<double>(peak + program)},
                       {"cpu_s_per_million", 1e6 * used.cpu_seconds / kRecords}};
  measured.note = "peak without pages of the data";
  return measured;
}

void Add(const std::string& name, Measured (*measure)(BufferType), BufferType buffer_type,
         Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  workload.on_request = true;  // it needs 6.4 GB of page cache, and reads by calls take minutes
  workload.target = StrCat(Digits(kRatio), " 60 MB");
  workload.reached = [](const Measured& measured) {
    return measured.ratio() >= kRatio && measured.counter("peak_bytes") < kMostMemory;
  };
  workload.measure = [measure, buffer_type] { return measure(buffer_type); };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddLargeShuffleWorkloads(Workloads* workloads) {
  Add("large_mmap_full_shuffle", &Measure<RandomOrderLimit>, BufferType::kMmap, workloads);
  Add("large_full_shuffle", &Measure<RandomReadsLimit>, BufferType::kMemory, workloads);
}

}  // namespace millhopper
