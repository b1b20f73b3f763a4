// SPDX-License-Identifier: Apache-2.0
// What it costs to save where a chain of readers stands, to continue from there, and to train with
// checkpoints.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/run_checkpoints.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/skip_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr int64_t kWindow = 10000;
constexpr int64_t kBatch = 128;
constexpr int64_t kFar = 100000000;
constexpr uint64_t kManyRecords = kFar + 10 * kWindow;

// Numbers in a file of zeros.
DataSet SparseNumbers(uint64_t records) { return SparseFixed(records, DataType::kInt64, 1); }

// Batches of a shuffle, loaded ahead, after `skipped` records.
ReaderPtr Numbers(const DataSet& data, int64_t skipped) {
  ReaderPtr records = std::make_unique<SkipReader>(OpenOne(data), skipped);
  return std::make_unique<DoubleBufferReader>(
      Batched(Shuffled(std::move(records), kWindow), kBatch), Place(), 2);
}

// Where such a chain stands after some batches.
Position PositionBehind(const DataSet& data, int64_t skipped) {
  const ReaderPtr reader = Numbers(data, skipped);
  reader->ExpectSave();
  std::vector<LoDTensor> batch;
  for (int i = 0; i < 10; ++i) reader->ReadNext(&batch);
  return reader->Save();
}

Measured MeasureSave() {
  const DataSet data = SparseNumbers(kManyRecords);
  const ReaderPtr reader = Numbers(data, 0);
  reader->ExpectSave();
  std::vector<LoDTensor> batch;
  for (int i = 0; i < 10; ++i) reader->ReadNext(&batch);
  Measured measured;
  const Usage begin = Usage::Now();
  uint64_t bytes = 0;
  for (int round = 0; round < Options().rounds; ++round) {
    measured.rates.push_back(RateOf(1, [&] { bytes = reader->Save().Serialize().size(); }));
  }
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  measured.counters = {{"bytes", static_cast<double>(bytes)},
                       {"bytes_per_windowed_record", static_cast<double>(bytes) / kWindow}};
  measured.note = StrCat(bytes, " bytes for a window of ", kWindow, " records");
  return measured;
}

double SecondsToRestore(const DataSet& data, int64_t skipped, const Position& position) {
  const ReaderPtr reader = Numbers(data, skipped);
  std::vector<LoDTensor> batch;
  const double begin = WallSeconds();
  reader->Restore(position);
  reader->ReadNext(&batch);
  return WallSeconds() - begin;
}

// Resumes at record 10^8; the limit is to go on at record 100.
Measured MeasureRestore() {
  const DataSet data = SparseNumbers(kManyRecords);
  const std::vector<int64_t> distances = {100, 100000, kFar};
  std::vector<Position> positions;
  positions.reserve(distances.size());
  for (const int64_t distance : distances) positions.push_back(PositionBehind(data, distance));
  Measured measured;
  std::vector<double> between;
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    // By turns, so that what else the machine does slows all of them.
    std::vector<double> seconds(distances.size());
    double times = 0;
    RateOf(1, [&] {
      for (size_t i = 0; i < distances.size(); ++i) {
        seconds[i] += SecondsToRestore(data, distances[i], positions[i]);
      }
      ++times;
    });
    measured.limits.push_back(times / seconds[0]);
    between.push_back(seconds[1] / times);
    measured.rates.push_back(times / seconds[2]);
  }
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  measured.note =
      StrCat("at record 10^8; 10^5: ", TimeText(Median(between)), "; limit: at record 100");
  return measured;
}

constexpr int64_t kSteps = 8000;  // some seconds

// Multiplies a model of 10 MB by a number for each batch.
constexpr char kTraining[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "more" type { type: LOD_TENSOR lod_tensor { tensor { data_type: BOOL dims: 1 } } } }
  vars { name: "x" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: [-1, 1] } } } }
  vars { name: "model" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: 2500000 } } } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "model" }
        attrs { name: "shape" ints: 2500000 } attrs { name: "value" f: 1 } }
  ops { type: "has_next" inputs { parameter: "Reader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "more" } }
  ops { type: "while" inputs { parameter: "Condition" arguments: "more" }
        attrs { name: "sub_block" block_idx: 1 } }
}
blocks {
  idx: 1 parent_idx: 0
  ops { type: "read" inputs { parameter: "Reader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "x" } }
  ops { type: "scale" inputs { parameter: "X" arguments: "model" }
        outputs { parameter: "Out" arguments: "model" } attrs { name: "scale" f: 0.999 } }
  ops { type: "has_next" inputs { parameter: "Reader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "more" } }
}
)";

// Steps a second, with a checkpoint after every `every_seconds`, or none if that is 0.
double TrainingRate(const DataSet& data, double every_seconds) {
  RunCheckpointOptions options;
  options.folder = DataFolder() + "/checkpoints";
  options.every_seconds = every_seconds;
  RunCheckpoints checkpoints(options, {});
  checkpoints.Clear();
  Scope scope;
  scope.Var("batches")->GetMutable<ReaderHolder>()->Reset(Numbers(data, 0));
  RunState run;
  if (every_seconds > 0) {
    run.watcher = &checkpoints;
    checkpoints.Watch(&scope);
  }
  const auto program = Program::FromString(kTraining, "training.pbtxt");
  const auto prepared = Executor(run).Prepare(program, ProgramRole::kMain, &scope);
  const double begin = WallSeconds();
  if (every_seconds > 0) {
    checkpoints.Run(program, prepared.get());
    checkpoints.Finish();
    Require(checkpoints.HasAny(), "nothing was saved in ", WallSeconds() - begin, " s");
  } else {
    prepared->Run();
  }
  return static_cast<double>(kSteps) / (WallSeconds() - begin);
}

Measured MeasureTraining() {
  const DataSet data = SparseNumbers(kSteps * kBatch);
  Measured measured;
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    measured.limits.push_back(TrainingRate(data, 0));
    measured.rates.push_back(TrainingRate(data, 1));
  }
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  measured.note = "a checkpoint of 10 MB a second; limit: none";
  return measured;
}

}  // namespace

void AddResumeWorkloads(Workloads* workloads) {
  Workload save;
  save.name = "save";
  save.unit = Unit::kTime;
  save.target = "12 B/rec";
  save.reached = [](const Measured& measured) {
    constexpr double kChainBytes = 10240;
    return measured.counter("bytes") <= 12.0 * kWindow + kChainBytes;
  };
  save.measure = MeasureSave;
  workloads->push_back(std::move(save));

  Workload restore;
  restore.name = "restore";
  restore.unit = Unit::kTime;
  AimAtRatio(1 / 1.2, &restore);
  restore.measure = MeasureRestore;
  workloads->push_back(std::move(restore));

  Workload training;
  training.name = "training_saved_each_second";
  training.what = "step";
  training.measure = MeasureTraining;
  workloads->push_back(std::move(training));
}

}  // namespace millhopper
