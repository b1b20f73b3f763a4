// SPDX-License-Identifier: Apache-2.0
// Workloads that pack sequences of tokens into rows, batch them by length, and mix files of them.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "readers/combine/mix_reader.h"
#include "readers/gather/bucket_reader.h"
#include "readers/gather/pack_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/limit.h"
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

// Two readers of the file, by weights.
ReaderPtr Mixed() {
  std::vector<ReaderPtr> readers;
  readers.push_back(OpenOne(Tokens()));
  readers.push_back(OpenOne(Tokens()));
  MixOptions options;
  options.steps = {{0, {0.7, 0.3}}};
  options.end = MixEnd::kContinue;
  return Batched(
      std::make_unique<MixReader>(std::move(readers), std::move(options), RandomKey(0, 0, "mix")),
      kSequencesAtOnce);
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

// Rows that `make` makes of so many sequences. The limit is that of reading the file: a checksum
// and one copy of each sequence.
ChainSpec SpecOf(const std::function<ReaderPtr()>& make) {
  ChainSpec spec;
  spec.make = make;
  spec.records = RowsOf(make().get());
  return spec;
}

void AddGathering(const std::string& name, const std::string& what,
                  const std::function<ReaderPtr()>& make, uint64_t sequences,
                  Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = what;
  workload.measure = [make, sequences] {
    ChainSpec spec = SpecOf(make);
    std::shared_ptr<FileLimit> limit;
    const double sequences_a_row =
        static_cast<double>(sequences) / static_cast<double>(spec.records);
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
  AddGathering("pack", "row", &Packed, kSequences, workloads);
  AddGathering("bucket", "rec", &Bucketed, kSequences, workloads);
  AddGathering("mix", "rec", &Mixed, 2 * kSequences, workloads);
}

}  // namespace millhopper
