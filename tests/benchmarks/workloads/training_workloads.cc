// SPDX-License-Identifier: Apache-2.0
// Training on photographs with the programs of tools/quickstart --images: how long the loop waits
// for data if the network takes as long as the loading.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/reader_holder.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr uint64_t kPhotos = 512;
constexpr int64_t kBatch = 32;  // as in the programs
constexpr int kPasses = 8;
constexpr double kMostWaiting = 0.05;

// What a run of the main program took, and how much of it was spent in reading.
struct TrainingTime {
  double seconds = 0;
  double waited = 0;

  double computed() const { return seconds - waited; }
};

// Trains on images of size x size. Without workers one thread does everything.
TrainingTime Train(const DataSet& data, int64_t size, int passes, int workers) {
  ThreadPool::Get().SetSize(workers);
  const std::string images = data.format + ":" + data.files.front();
  const Settings settings = {
      {"train", images},
      {"test", images},
      {"classes", "10"},
      {"window", "1024"},
      {"size", std::to_string(size)},
      {"features", std::to_string(32 * (size / 8) * (size / 8))},
      {"smallest", "0.25"},
      {"mirrored", "0.5"},
      {"passes", std::to_string(passes)},
      {"batches", std::to_string(kPhotos / kBatch)},
      {"rate", "0.002"},
      {"decay", "0.95"},
  };
  const auto program = [&](const char* name) {
    return Program::FromFile(StrCat(Options().programs, "/", name), settings);
  };
  std::ostringstream losses;
  RunState run;
  run.output = &losses;
  const Executor executor(run);
  Scope scope;
  executor.Run(program("images_startup.pbtxt"), ProgramRole::kStartup, &scope);
  const auto main = executor.Prepare(program("images_main.pbtxt"), ProgramRole::kMain, &scope);
  const double begin = WallSeconds();
  main->Run();
  TrainingTime time;
  time.seconds = WallSeconds() - begin;
  const ReaderStats stats = scope.Find("train")->Get<ReaderHolder>().stats();
  time.waited = stats.wait_seconds;
  Require(stats.records == kPhotos * passes, "the loop read ", stats.records, " photographs");
  return time;
}

// The network takes the longer the larger the images are that it sees, and loading takes about the
// same for all of these sizes. Returns the least one for which the network takes no less time.
int64_t BalancedSize(const DataSet& data) {
  constexpr int64_t kLargest = 160;
  int64_t size = 48;
  for (; size < kLargest; size += 8) {
    const TrainingTime time = Train(data, size, 1, 0);
    if (time.computed() >= time.waited) break;
  }
  return size;
}

Measured MeasureTrainingOnImages() {
  const DataSet data = PhotoFolder(kPhotos);
  Train(data, 48, 1, 0);  // the first one finds nothing in caches
  const int64_t size = BalancedSize(data);
  Measured measured;
  std::vector<double> shares, balances;
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    // If two threads never waited, they would take half of the time of one.
    const TrainingTime alone = Train(data, size, 2, 0);
    measured.limits.push_back(2 * 2 * kPhotos / alone.seconds);
    balances.push_back(alone.computed() / alone.waited);
    const TrainingTime both = Train(data, size, kPasses, 1);
    measured.rates.push_back(kPasses * kPhotos / both.seconds);
    shares.push_back(both.waited / both.seconds);
  }
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  measured.records = kPhotos;
  measured.counters = {{"wait_share", Median(shares)}, {"network_over_loading", Median(balances)}};
  measured.note = StrCat("waited for data ", Digits(100 * Median(shares)), " % of the time, size ",
                         size, ", 1 worker");
  return measured;
}

}  // namespace

void AddTrainingWorkloads(Workloads* workloads) {
  Workload training;
  training.name = "image_training";
  training.what = "img";
  training.target = "wait 5 %";
  training.reached = [](const Measured& measured) {
    return measured.counter("wait_share") < kMostWaiting;
  };
  training.measure = MeasureTrainingOnImages;
  workloads->push_back(std::move(training));
}

}  // namespace millhopper
