// SPDX-License-Identifier: Apache-2.0
// Workloads that read one file, shuffle and make batches.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/limit.h"
#include "tests/benchmarks/limits/random_order_limit.h"
#include "tests/benchmarks/limits/table_limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

// Fewer images, since compressing takes long.
constexpr uint64_t kGzipImages = 50000;

// The readers that are put on the reader of a file.
struct Shape {
  int64_t window = 8192;      // 0 is no shuffle
  bool full_shuffle = false;  // the source reads the records in a random order
  int64_t batch = 128;
  bool buffered = false;
  bool one_thread = false;
  uint64_t kept_one_in = 1;  // a filter keeps one record of so many
  int64_t unbatched = 0;     // batches of so many are made first, and taken apart; 0 is none
};

// The chain of this shape on a reader of `data`.
ChainSpec SpecOf(const DataSet& data, const Shape& shape) {
  ChainSpec spec;
  spec.records = data.records / shape.kept_one_in;
  spec.one_thread = shape.one_thread;
  spec.make = [data, shape]() -> ReaderPtr {
    ReaderPtr reader = shape.full_shuffle ? OpenInRandomOrder(data) : OpenOne(data);
    if (shape.kept_one_in > 1) {
      reader = std::make_unique<FilterReader>(
          std::move(reader), [one_in = shape.kept_one_in](const RecordId& id, const auto&) {
            return id.sample % one_in == 0;
          });
    }
    if (shape.unbatched > 0) {
      reader = std::make_unique<UnbatchReader>(Batched(std::move(reader), shape.unbatched),
                                               BatchMode::kConcat);
    }
    if (shape.window > 0) reader = Shuffled(std::move(reader), shape.window);
    reader = Batched(std::move(reader), shape.batch);
    if (!shape.buffered) return reader;
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 2);
  };
  return spec;
}

// A target of 0 is none. `data` is called, and writes the files, when the workload is measured.
template <typename Limit = FileLimit>
void AddOneFile(const std::string& name, const std::function<DataSet()>& data, const Shape& shape,
                double target, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  if (target > 0) AimAtRatio(target, &workload);
  workload.measure = [data, shape] {
    ChainSpec spec = SpecOf(data(), shape);
    // Made when it is first used. By then the memory that the chain needs has been measured.
    std::shared_ptr<Limit> limit;
    spec.limit = [data, limit, one_in = shape.kept_one_in]() mutable {
      if (!limit) limit = std::make_shared<Limit>(data());
      return static_cast<double>(one_in) * limit->SecondsPerRecord();
    };
    return MeasureChain(spec);
  };
  workload.copy = [data, shape] { return CopyChain(SpecOf(data(), shape)); };
  workloads->push_back(std::move(workload));
}

// Measures a chain without a shuffle.
void AddScaling(const std::string& name, const std::function<DataSet()>& data,
                Workloads* workloads) {
  Shape shape;
  shape.window = 0;
  Workload workload;
  workload.name = name;
  workload.unit = Unit::kFactor;
  AimAtFactor(1.7, &workload);
  workload.measure = [data, shape] { return MeasureScaling(SpecOf(data(), shape)); };
  workload.copy = [data, shape] { return CopyChain(SpecOf(data(), shape)); };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddFileWorkloads(Workloads* workloads) {
  const Shape usual;
  Shape unshuffled, buffered, one_thread, large_batches, filtered, unbatched, full_shuffle;
  unshuffled.window = 0;
  buffered.buffered = true;
  one_thread.one_thread = true;
  large_batches.batch = 4096;
  filtered.window = unbatched.window = full_shuffle.window = 0;
  full_shuffle.full_shuffle = true;
  filtered.kept_one_in = 2;
  unbatched.unbatched = 128;

  const auto images = [](RecordIOCompressor compressor, uint64_t records) {
    return [compressor, records] { return MnistRecords(compressor, records); };
  };
  const auto plain = images(RecordIOCompressor::kNone, SharedData::kImages);
  const auto mapped = [](const std::function<DataSet()>& data) {
    return [data] {
      DataSet set = data();
      set.buffer_type = BufferType::kMmap;
      return set;
    };
  };
  const auto snappy = images(RecordIOCompressor::kSnappy, SharedData::kImages);
  const auto gzip = images(RecordIOCompressor::kGzip, kGzipImages);
  const auto idx = [] { return MnistIdx(SharedData::kImages); };
  const auto tiny = [] { return Tiny64Fixed(SharedData::kTinyRecords); };
  const auto tiny_records = [] { return Tiny64Records(SharedData::kTinyRecords); };
  const auto tokens = [] { return TokenSequences(SharedData::kSequences); };

  AddOneFile("rio_mnist", plain, usual, 0.30, workloads);
  AddOneFile("rio_mnist_1_thread", plain, one_thread, 0, workloads);
  AddOneFile("rio_mnist_unshuffled", plain, unshuffled, 0, workloads);
  AddOneFile("rio_mnist_double_buffer", plain, buffered, 0, workloads);
  AddOneFile("rio_mnist_mmap", mapped(plain), usual, 0, workloads);
  AddOneFile("rio_mnist_mmap_1_thread", mapped(plain), one_thread, 0, workloads);
  AddOneFile("rio_mnist_snappy", snappy, usual, 0.70, workloads);
  AddOneFile("rio_mnist_gzip", gzip, usual, 0.70, workloads);
  AddOneFile("idx", idx, usual, 0, workloads);
  AddOneFile<RandomOrderLimit>("idx_full_shuffle", idx, full_shuffle, 0, workloads);
  AddOneFile(
      "npy", [] { return MnistNpy(SharedData::kImages); }, usual, 0, workloads);
  AddOneFile(
      "tar", [] { return MnistTar(SharedData::kImages); }, usual, 0, workloads);
  AddOneFile("tiny64", tiny, usual, 0.15, workloads);
  AddOneFile("tiny64_1_thread", tiny, one_thread, 0, workloads);
  AddOneFile("tiny64_batch_4096", tiny, large_batches, 0.15, workloads);
  AddOneFile("tiny64_mmap", mapped(tiny), usual, 0, workloads);
  AddOneFile<RandomOrderLimit>("tiny64_full_shuffle", tiny, full_shuffle, 0.02, workloads);
  AddOneFile<RandomOrderLimit>("tiny64_mmap_full_shuffle", mapped(tiny), full_shuffle, 0.20,
                               workloads);
  AddOneFile("tiny64_recordio", tiny_records, usual, 0.15, workloads);
  AddOneFile("lod_tokens", tokens, usual, 0.20, workloads);
  AddOneFile<TableLimit>(
      "criteo_tsv", [] { return CriteoTsv(SharedData::kRows); }, large_batches, 0.30, workloads);
  AddOneFile(
      "jsonl", [] { return CriteoJsonl(SharedData::kRows); }, usual, 0, workloads);
  AddOneFile(
      "tfrecord_examples", [] { return CriteoExamples(SharedData::kRows); }, usual, 0, workloads);
  AddOneFile("filter", plain, filtered, 0, workloads);
  AddOneFile("unbatch", plain, unbatched, 0, workloads);
  // Reading alone, with checking, and with decompressing too.
  AddScaling("scaling_read", idx, workloads);
  AddScaling("scaling_check", plain, workloads);
  AddScaling("scaling_decompress", snappy, workloads);
}

}  // namespace millhopper
