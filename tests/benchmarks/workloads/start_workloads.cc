// SPDX-License-Identifier: Apache-2.0
// How long it takes to begin: a process up to its first batch, and a chain of very many files.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "readers/decorate/double_buffer_reader.h"
#include "tests/benchmarks/chain.h"
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

extern "C" char** environ;

// Runs a command; returns the seconds until its first output, or until its end if it has none.
double SecondsToOutput(const std::vector<std::string>& command, std::string* output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Throw(ErrorCode::kIo, "no pipe");
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const double begin = WallSeconds();
  pid_t child = 0;
  const int error =
      posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  output->clear();
  double seconds = 0;
  char bytes[4096];
  for (ssize_t got = 1; error == 0 && got > 0;) {
    got = read(ends[0], bytes, sizeof(bytes));
    if (seconds == 0) seconds = WallSeconds() - begin;
    if (got > 0) output->append(bytes, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child || status != 0) {
    Throw(ErrorCode::kInternal, command[0], " failed");
  }
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
