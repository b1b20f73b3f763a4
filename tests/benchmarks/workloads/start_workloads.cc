// SPDX-License-Identifier: Apache-2.0
// How long it takes to begin: a process up to its first batch, and a chain of very many files.
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "readers/decorate/double_buffer_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/process.h"
#include "tests/benchmarks/workload.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

constexpr uint64_t kImages = 200000;

constexpr char kProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "files" persistable: true type { type: READER reader {
         lod_tensor { tensor { data_type: FP32 dims: [1, 784] } }
         lod_tensor { tensor { data_type: INT64 dims: [1, 1] } } } } }
  vars { name: "shuffled" persistable: true type { type: READER } }
  vars { name: "batches" persistable: true type { type: READER } }
  ops { type: "create_recordio_file_reader" outputs { parameter: "Out" arguments: "files" }
        attrs { name: "filename" s: "${file}" } }
  ops { type: "create_shuffle_reader" inputs { parameter: "UnderlyingReader" arguments: "files" }
        outputs { parameter: "Out" arguments: "shuffled" }
        attrs { name: "buffer_size" i: 8192 } attrs { name: "seed" l: 7 } }
  ops { type: "create_batch_reader" inputs { parameter: "UnderlyingReader" arguments: "shuffled" }
        outputs { parameter: "Out" arguments: "batches" }
        attrs { name: "batch_size" i: 128 } }
}
)";

// Runs a command; returns the seconds until its first output, or until its end if it has none.
double SecondsToOutput(const std::vector<std::string>& command, std::string* output) {
  const double begin = WallSeconds();
  Process process(command);
  *output = process.Read();
  const double seconds = WallSeconds() - begin;
  for (std::string more = *output; !more.empty(); *output += more) more = process.Read();
  process.Wait();
  return seconds;
}

// Runs the command and a chain in this process in turn. The stream of the command must begin with
// the first batch of this process.
Measured MeasureColdStart() {
  Require(!Options().peek.empty(), "--peek does not name the command");
  const DataSet data = MnistRecords(RecordIOCompressor::kNone, kImages);
  const std::string startup = DataFolder() + "/cold_start.pbtxt";
  std::ofstream(startup) << kProgram << std::flush;
  const ReaderPtr reader = Batched(Shuffled(OpenOne(data), 8192), 128);
  std::vector<LoDTensor> batch;
  reader->ReadNext(&batch);
  const std::string expected = "0 " + ToHex(DigestOf(batch)) + "\n";

  Measured measured;
  const Usage before = Usage::Now();
  constexpr int kStartsARound = 5;
  for (int round = 0; round < Options().rounds; ++round) {
    double command_seconds = 0;
    double nothing_seconds = 0;
    for (int i = 0; i < kStartsARound; ++i) {
      std::string output;
      nothing_seconds += SecondsToOutput({"/bin/true"}, &output);
      command_seconds +=
          SecondsToOutput({Options().peek, "--startup=" + startup, "--set=file=" + data.files[0],
                           "--reader=batches", "--digest", "--count=1"},
                          &output);
      Require(output.compare(0, expected.size(), expected) == 0, "the first batch is '", output,
              "' instead of ", expected);
    }
    measured.rates.push_back(kStartsARound / command_seconds);
    measured.limits.push_back(kStartsARound / nothing_seconds);
  }
  measured.note = "limit: a process that does nothing";
  measured.foreign_share = (Usage::Now() - before).foreign_share();
  measured.records = 128;
  measured.digest = ToHex(DigestOf(batch)) + " (the first batch)";
  return measured;
}

// Makes the chain, reads a batch through it, and destroys it.
Measured MeasureManyFiles() {
  constexpr int kFiles = 10000;
  const DataSet data = ManySmallFiles(kFiles);
  ThreadPool::Get().SetSize(Options().workers);
  Measured measured;
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    const double started = WallSeconds();
    std::vector<LoDTensor> batch;
    {
      DoubleBufferReader reader(Batched(Shuffled(OpenAll(data, {}), 8192), 128), Place(), 2);
      reader.ReadNext(&batch);
    }
    measured.rates.push_back(1 / (WallSeconds() - started));
    const std::string digest = ToHex(DigestOf(batch)) + " (the first batch)";
    Require(round == 0 || digest == measured.digest, "another first batch: ", digest);
    measured.digest = digest;
  }
  measured.records = 128;
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  return measured;
}

}  // namespace

void AddStartWorkloads(Workloads* workloads) {
  Workload cold;
  cold.name = "cold_start";
  cold.unit = Unit::kTime;
  AimAtTime(0.03, &cold);
  cold.measure = MeasureColdStart;
  workloads->push_back(std::move(cold));

  Workload files;
  files.name = "start_stop_10000_files";
  files.unit = Unit::kTime;
  AimAtTime(1, &files);
  files.measure = MeasureManyFiles;
  workloads->push_back(std::move(files));
}

}  // namespace millhopper
