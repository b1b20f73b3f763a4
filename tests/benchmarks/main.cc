// SPDX-License-Identifier: Apache-2.0
// The benchmarks as one program, which tools/bench builds and runs. Flags of Google Benchmark
// choose workloads and write JSON.
#include <benchmark/benchmark.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/chunk_queue.h"
#include "tests/benchmarks/copied_bytes.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/machine.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"

DEFINE_double(min_time, 2, "seconds that each workload is timed for, at least");
DEFINE_int32(rounds, 5, "rounds that this time is divided into");
DECLARE_int32(threads);  // a flag of every command: workers of the loading pool
DEFINE_string(data, "", "folder for the data, which is kept; by default one that is removed");
DEFINE_string(peek, "", "the peek command, for workloads that start a process");
DEFINE_string(programs, "tools/programs", "the folder of the programs of the quickstart");
DEFINE_int64(while_steps, 100000000, "steps of the loop whose memory is measured");
DEFINE_string(count_copies, "", "print what a workload copies, and its payload, in bytes");
DEFINE_string(read_share, "", "read a share of what a workload reads, for each line of input");
DEFINE_uint64(share, 0, "which share that is");
DEFINE_uint64(shares, 1, "how many of them there are");

namespace millhopper {
namespace {

namespace fs = std::filesystem;

// The folder of the data: the one that was given, or a new one that the destructor removes.
class BenchmarkFolder {
 public:
  BenchmarkFolder()
      : path_(FLAGS_data.empty() ? fs::temp_directory_path() / StrCat("millhopper-bench-", getpid())
                                 : fs::path(FLAGS_data)) {
    fs::create_directories(path_);
    SetDataFolder(path_.string());
  }
  ~BenchmarkFolder() {
    std::error_code ignored;
    if (FLAGS_data.empty()) fs::remove_all(path_, ignored);
  }
  BenchmarkFolder(const BenchmarkFolder&) = delete;
  BenchmarkFolder& operator=(const BenchmarkFolder&) = delete;

 private:
  const fs::path path_;
};

Measured MeasureWithCopies(const Workload& workload) {
  ResetPeak();
  Measured measured = workload.measure();
  if (!measured.has_counter("peak_bytes")) {
    measured.counters.emplace_back("peak_bytes", static_cast<double>(PeakBytes()));
  }
  if (!workload.copy) return measured;
  if (const std::optional<CopiedBytes> bytes = CountCopies(workload.name)) {
    measured.counters.emplace_back("copies_per_byte", static_cast<double>(bytes->copied) /
                                                          static_cast<double>(bytes->payload));
  }
  return measured;
}

void RunWorkload(const Workload& workload, TableReporter* table, benchmark::State* state) {
  for (auto _ : *state) {
    try {
      DropIdleMemory();
      const double apart = RoundTripSeconds();
      Measured measured = MeasureWithCopies(workload);
      measured.counters.emplace_back("core_round_trip_s", std::max(apart, RoundTripSeconds()));
      table->Show(workload, measured);
      state->SetLabel(StrCat(measured.records, " records, stream ", measured.digest));
      state->counters["rate"] = measured.rate();
      if (!measured.limits.empty()) {
        state->counters["limit"] = measured.limit();
        state->counters["ratio"] = measured.ratio();
      }
      for (const auto& [name, value] : measured.counters) state->counters[name] = value;
      state->counters["foreign_share"] = measured.foreign_share;
    } catch (const std::exception& error) {
      state->SkipWithError(error.what());
    }
  }
}

Workloads AllWorkloads() {
  Workloads workloads;
  AddMachineWorkloads(&workloads);
  AddFileWorkloads(&workloads);
  AddLanesWorkloads(&workloads);
  AddLargeShuffleWorkloads(&workloads);
  AddMultiFileWorkloads(&workloads);
  AddExecutorWorkloads(&workloads);
  AddHandoffWorkloads(&workloads);
  AddDeviceWorkloads(&workloads);
  AddMapWorkloads(&workloads);
  AddImageWorkloads(&workloads);
  AddGatherWorkloads(&workloads);
  AddParquetWorkloads(&workloads);
  AddTextWorkloads(&workloads);
  AddStartWorkloads(&workloads);
  AddResumeWorkloads(&workloads);
  AddTrainingWorkloads(&workloads);
  AddHttpWorkloads(&workloads);
  return workloads;
}

int RunAll() {
  Options().min_seconds = FLAGS_min_time;
  Options().rounds = std::max(1, FLAGS_rounds);
  Options().workers = FLAGS_threads >= 0 ? FLAGS_threads : ThreadPool::DefaultSize();
  Options().peek = FLAGS_peek;
  Options().programs = FLAGS_programs;
  Options().while_steps = FLAGS_while_steps;
  const BenchmarkFolder folder;
  const Workloads workloads = AllWorkloads();
  for (const Workload& workload : workloads) {
    if (workload.name == FLAGS_count_copies) {
      PrintCopies(workload);
      return 0;
    }
    if (workload.name == FLAGS_read_share) {
      workload.read_share({FLAGS_shares, FLAGS_share});
      return 0;
    }
  }
  TableReporter table;
  const bool filtered = !benchmark::GetBenchmarkFilter().empty();
  for (const Workload& workload : workloads) {
    if (workload.on_request && !filtered) continue;
    benchmark::RegisterBenchmark(workload.name.c_str(), [&](benchmark::State& state) {
      RunWorkload(workload, &table, &state);
    });
  }
  const size_t ran = benchmark::RunSpecifiedBenchmarks(&table);
  return ran == 0 || table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  // A workload repeats itself as often as it needs, so Google Benchmark must run it only once.
  std::vector<char*> arguments(argv, argv + argc);
  char once[] = "--benchmark_min_time=0";
  arguments.insert(arguments.begin() + 1, once);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  char** rest = arguments.data();
  gflags::ParseCommandLineFlags(&count, &rest, true);
  try {
    return millhopper::RunAll();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
