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
constexpr uint64_t kTinyRecords = 4000000;
constexpr uint64_t kSequences = 1000000;
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

void AddScaling(const std::string& name, const std::function<DataSet()>& data,
                Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.unit = Unit::kFactor;
  AimAtFactor(1.7, &workload);
  workload.measure = [data] { return MeasureScaling(OneFileSpec(data(), 0, kBatch)); };
  workload.copy = [data] { return CopyChain(OneFileSpec(data(), 0, kBatch)); };
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
  const auto idx = [] { return MnistIdx(kImages); };
  AddOneFile("idx", idx, kWindow, kBatch, 0, workloads);
  const auto tiny = [] { return Tiny64Fixed(kTinyRecords); };
  AddOneFile("tiny64", tiny, kWindow, kBatch, 0.15, workloads);
  AddOneFile("tiny64_batch_4096", tiny, kWindow, 4096, 0.15, workloads);
  const auto tiny_records = [] { return Tiny64Records(kTinyRecords); };
  AddOneFile("tiny64_recordio", tiny_records, kWindow, kBatch, 0.15, workloads);
  const auto tokens = [] { return TokenSequences(kSequences); };
  AddOneFile("lod_tokens", tokens, kWindow, kBatch, 0.20, workloads);
  // Reading, and with it checking, and decompressing too, without a window in between.
  AddScaling("scaling_read", idx, workloads);
  AddScaling("scaling_check", plain, workloads);
  AddScaling("scaling_decompress", images(RecordIOCompressor::kSnappy, kImages), workloads);
}

}  // namespace millrace
