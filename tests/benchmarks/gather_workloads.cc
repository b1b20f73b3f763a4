// SPDX-License-Identifier: Apache-2.0
// Workloads that pack sequences of tokens into rows, and batch them by length.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/bucket_reader.h"
#include "readers/pack_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr uint64_t kSequences = 400000;
constexpr int64_t kLength = 512;
constexpr int64_t kRowsAtOnce = 16;
constexpr int64_t kSequencesAtOnce = 64;

DataSet Tokens() { return TokenSequences(kSequences); }

ReaderPtr Packed() {
  PackOptions options;
  options.length = kLength;
  return Batched(std::make_unique<PackReader>(OpenOne(Tokens()), options), kRowsAtOnce);
}

ReaderPtr Bucketed() {
  BucketOptions options;
  options.boundaries = {16, 32, 48};
  options.batch_sizes = {kSequencesAtOnce};
  options.collation.pad = true;
  return std::make_unique<BucketReader>(OpenOne(Tokens()), options);
}

uint64_t RowsOf(ReaderBase* reader) {
  Consumer consumer;
  std::vector<LoDTensor> batch;
  while (reader->HasNext()) {
    reader->ReadNext(&batch);
    consumer.Take(batch);
  }
  return consumer.records;
}

// Rows that `make` makes of all sequences. The limit is that of reading the file: a checksum and
// one copy of each sequence.
ChainSpec SpecOf(const std::function<ReaderPtr()>& make) {
  ChainSpec spec;
  spec.make = make;
  spec.records = RowsOf(make().get());
  return spec;
}

void AddGathering(const std::string& name, const std::string& what,
                  const std::function<ReaderPtr()>& make, double target, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = what;
  if (target > 0) AimAtRatio(target, &workload);
  workload.measure = [make] {
    ChainSpec spec = SpecOf(make);
    std::shared_ptr<FileLimit> limit;
    const double sequences_a_row =
        static_cast<double>(kSequences) / static_cast<double>(spec.records);
    spec.limit = [limit, sequences_a_row]() mutable {
      if (!limit) limit = std::make_shared<FileLimit>(Tokens());
      return sequences_a_row * limit->SecondsPerRecord();
    };
    Measured measured = MeasureChain(spec);
    measured.note = StrCat(sequences_a_row, " sequences a row");
    return measured;
  };
  workload.copy = [make] { return CopyChain(SpecOf(make)); };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddGatherWorkloads(Workloads* workloads) {
  AddGathering("pack", "row", &Packed, 0, workloads);
  AddGathering("bucket", "rec", &Bucketed, 0, workloads);
}

}  // namespace millhopper
