// SPDX-License-Identifier: Apache-2.0
// Workloads that read one file, shuffle and make batches.
#include <memory>
#include <string>
#include <utility>

#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limit.h"
#include "tests/benchmarks/workload.h"

namespace millrace {
namespace {

constexpr int64_t kWindow = 8192;
constexpr int64_t kBatch = 128;
constexpr uint64_t kImages = 200000;
// Compressing takes its time.
constexpr uint64_t kGzipImages = 50000;

// A chain on one file; the data is written when it is first needed.
ChainSpec OneFileSpec(const DataSet& data, int64_t window, int64_t batch) {
  ChainSpec spec;
  spec.records = data.records;
  spec.make = [data, window, batch] {
    ReaderPtr reader = OpenOne(data);
    if (window > 0) reader = Shuffled(std::move(reader), window);
    return Batched(std::move(reader), batch);
  };
  return spec;
}

void AddOneFile(const std::string& name, const std::function<DataSet()>& data, int64_t window,
                int64_t batch, double target, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  if (target > 0) AimAtRatio(target, &workload);
  workload.measure = [data, window, batch] {
    ChainSpec spec = OneFileSpec(data(), window, batch);
    // Made when it is first used, behind the look at how much memory the chain needs.
    std::shared_ptr<FileLimit> limit;
    spec.limit = [data, limit]() mutable {
      if (!limit) limit = std::make_shared<FileLimit>(data());
      return limit->SecondsPerRecord();
    };
    return MeasureChain(spec);
  };
  workload.copy = [data, window, batch] { return CopyChain(OneFileSpec(data(), window, batch)); };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddFileWorkloads(Workloads* workloads) {
  const auto images = [](RecordIOCompressor compressor, uint64_t records) {
    return [compressor, records] { return MnistRecords(compressor, records); };
  };
  const auto plain = images(RecordIOCompressor::kNone, kImages);
  AddOneFile("rio_mnist", plain, kWindow, kBatch, 0.30, workloads);
  AddOneFile("rio_mnist_unshuffled", plain, 0, kBatch, 0, workloads);
  AddOneFile("rio_mnist_snappy", images(RecordIOCompressor::kSnappy, kImages), kWindow, kBatch,
             0.70, workloads);
  AddOneFile("rio_mnist_gzip", images(RecordIOCompressor::kGzip, kGzipImages), kWindow, kBatch,
             0.70, workloads);
  AddOneFile(
      "idx", [] { return MnistIdx(kImages); }, kWindow, kBatch, 0, workloads);
}

}  // namespace millrace
