// SPDX-License-Identifier: Apache-2.0
// What programs cost: operators on single values in a loop, and reading in a loop.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr int kWhileOperators = 5;
constexpr int64_t kWhileSteps = 1000000;

// Runs five operators on single values per step: the counter, three of arithmetic, the condition.
constexpr char kWhileProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "i" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } } } }
  vars { name: "n" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } } } }
  vars { name: "x" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: 1 } } } }
  vars { name: "y" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: 1 } } } }
  vars { name: "z" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: 1 } } } }
  vars { name: "more" type { type: LOD_TENSOR lod_tensor { tensor { data_type: BOOL dims: 1 } } } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "i" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 3 } attrs { name: "value" f: 0 } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "n" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 3 }
        attrs { name: "value" f: ${steps} } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "x" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 5 } attrs { name: "value" f: 1 } }
  ops { type: "less_than" inputs { parameter: "X" arguments: "i" }
        inputs { parameter: "Y" arguments: "n" } outputs { parameter: "Out" arguments: "more" } }
  ops { type: "while" inputs { parameter: "Condition" arguments: "more" }
        attrs { name: "sub_block" block_idx: 1 } }
}
blocks {
  idx: 1 parent_idx: 0
  ops { type: "increment" inputs { parameter: "X" arguments: "i" }
        outputs { parameter: "Out" arguments: "i" } }
  ops { type: "scale" inputs { parameter: "X" arguments: "x" }
        outputs { parameter: "Out" arguments: "y" } attrs { name: "scale" f: 0.5 } }
  ops { type: "elementwise_add" inputs { parameter: "X" arguments: "x" }
        inputs { parameter: "Y" arguments: "y" } outputs { parameter: "Out" arguments: "z" } }
  ops { type: "elementwise_mul" inputs { parameter: "X" arguments: "y" }
        inputs { parameter: "Y" arguments: "z" } outputs { parameter: "Out" arguments: "x" } }
  ops { type: "less_than" inputs { parameter: "X" arguments: "i" }
        inputs { parameter: "Y" arguments: "n" } outputs { parameter: "Out" arguments: "more" } }
}
)";

// The least that a loop does: it counts.
constexpr char kEmptyProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "i" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } } } }
  vars { name: "n" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } } } }
  vars { name: "more" type { type: LOD_TENSOR lod_tensor { tensor { data_type: BOOL dims: 1 } } } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "i" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 3 } attrs { name: "value" f: 0 } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "n" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 3 }
        attrs { name: "value" f: ${steps} } }
  ops { type: "less_than" inputs { parameter: "X" arguments: "i" }
        inputs { parameter: "Y" arguments: "n" } outputs { parameter: "Out" arguments: "more" } }
  ops { type: "while" inputs { parameter: "Condition" arguments: "more" }
        attrs { name: "sub_block" block_idx: 1 } }
}
blocks {
  idx: 1 parent_idx: 0
  ops { type: "increment" inputs { parameter: "X" arguments: "i" }
        outputs { parameter: "Out" arguments: "i" } }
  ops { type: "less_than" inputs { parameter: "X" arguments: "i" }
        inputs { parameter: "Y" arguments: "n" } outputs { parameter: "Out" arguments: "more" } }
}
)";

// Reads a whole pass and does a little with each batch.
constexpr char kReadProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "more" type { type: LOD_TENSOR lod_tensor { tensor { data_type: BOOL dims: 1 } } } }
  vars { name: "x" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: [-1, 16] } } } }
  vars { name: "y" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: [-1, 16] } } } }
  ops { type: "reset" inputs { parameter: "Reader" arguments: "batches" } }
  ops { type: "fill_constant" outputs { parameter: "Out" arguments: "more" }
        attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 0 } attrs { name: "value" f: 1 } }
  ops { type: "while" inputs { parameter: "Condition" arguments: "more" }
        attrs { name: "sub_block" block_idx: 1 } }
}
blocks {
  idx: 1 parent_idx: 0
  ops { type: "read" inputs { parameter: "Reader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "x" }
        outputs { parameter: "HasData" arguments: "more" } }
  ops { type: "scale" inputs { parameter: "X" arguments: "x" }
        outputs { parameter: "Out" arguments: "y" } attrs { name: "scale" f: 2 } }
}
)";

// The least that an operator can be: a function and the addresses of its values.
struct BoundCall {
  void (*run)(const BoundCall& call);
  void* x;
  void* y;
  void* out;
};

template <typename T>
T& At(void* place) {
  return *static_cast<T*>(place);
}

// Runs the same five operators, bound to their values beforehand; returns calls per second.
double BoundCallRate() {
  int64_t i = 0;
  int64_t n = kWhileSteps;
  float x = 1;
  float y = 0;
  float z = 0;
  bool more = true;
  std::array<BoundCall, kWhileOperators> calls = {{
      {[](const BoundCall& c) { At<int64_t>(c.out) = At<int64_t>(c.x) + 1; }, &i, nullptr, &i},
      {[](const BoundCall& c) { At<float>(c.out) = At<float>(c.x) * 0.5f; }, &x, nullptr, &y},
      {[](const BoundCall& c) { At<float>(c.out) = At<float>(c.x) + At<float>(c.y); }, &x, &y, &z},
      {[](const BoundCall& c) { At<float>(c.out) = At<float>(c.x) * At<float>(c.y); }, &y, &z, &x},
      {[](const BoundCall& c) { At<bool>(c.out) = At<int64_t>(c.x) < At<int64_t>(c.y); }, &i, &n,
       &more},
  }};
  benchmark::DoNotOptimize(calls.data());
  const double begin = ThreadSeconds();
  while (more) {
    for (const BoundCall& call : calls) call.run(call);
  }
  return kWhileOperators * static_cast<double>(kWhileSteps) / (ThreadSeconds() - begin);
}

// A main program that is run again and again.
class ProgramRun {
 public:
  ProgramRun(const char* text, int64_t steps)
      : ProgramRun(text, {{"steps", std::to_string(steps)}}, nullptr) {}
  ProgramRun(const char* text, const Settings& settings, ReaderPtr reader) {
    if (reader) scope_.Var("batches")->GetMutable<ReaderHolder>()->Reset(std::move(reader));
    prepared_ = Executor().Prepare(Program::FromString(text, "main.pbtxt", settings),
                                   ProgramRole::kMain, &scope_);
  }

  void Run() { prepared_->Run(); }
  // The value of a counter.
  int64_t Count(const std::string& name) {
    return prepared_->Find(name)->Get<LoDTensor>().scalar<int64_t>();
  }
  const ReaderHolder& reader() { return scope_.Find("batches")->Get<ReaderHolder>(); }

 private:
  Scope scope_;
  std::unique_ptr<PreparedProgram> prepared_;
};

void RunChecked(ProgramRun* program, int64_t steps) {
  program->Run();
  if (program->Count("i") != steps) {
    Throw(ErrorCode::kInternal, "the loop counted to ", program->Count("i"), " instead of ", steps);
  }
}

// Runs the program once more. Adds what it allocates per batch, or per step, and what it costs per
// thing.
void AddSteadyCounters(ProgramRun* program, int64_t batches, int64_t things, Measured* measured) {
  const Usage begin = Usage::Now();
  const SteadyCounts before = SteadyCounts::Now();
  program->Run();
  const SteadyCounts spent = SteadyCounts::Now() - before;
  const Usage used = Usage::Now() - begin;
  const auto count = static_cast<double>(batches);
  measured->counters = {
      {"allocations_per_batch", static_cast<double>(spent.allocations) / count},
      {"page_faults_per_batch", static_cast<double>(spent.page_faults) / count},
      {"cpu_s_per_million", 1e6 * used.cpu_seconds / static_cast<double>(things)},
  };
}

Measured MeasureWhile() {
  Measured measured;
  ProgramRun program(kWhileProgram, kWhileSteps);
  RunChecked(&program, kWhileSteps);
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    measured.limits.push_back(BoundCallRate());
    measured.rates.push_back(RateOf(kWhileOperators * static_cast<double>(kWhileSteps),
                                    [&] { RunChecked(&program, kWhileSteps); }));
  }
  const Usage used = Usage::Now() - begin;
  measured.foreign_share = used.foreign_share();
  AddSteadyCounters(&program, kWhileSteps, kWhileOperators * kWhileSteps, &measured);
  measured.note = StrCat("counted to ", program.Count("i"));
  return measured;
}

Measured MeasureWhileMemory() {
  Measured measured;
  const int64_t steps = Options().while_steps;
  ProgramRun program(kEmptyProgram, steps);
  ProgramRun warm(kEmptyProgram, 1000);
  warm.Run();
  ResetPeak();
  const uint64_t before = PeakBytes();
  const Usage begin = Usage::Now();
  RunChecked(&program, steps);
  const Usage used = Usage::Now() - begin;
  measured.rates = {static_cast<double>(steps) / used.wall_seconds};
  measured.foreign_share = used.foreign_share();
  const uint64_t after = PeakBytes();
  measured.counters = {{"steps", static_cast<double>(steps)},
                       {"grown_bytes", static_cast<double>(after - before)}};
  return measured;
}

constexpr int64_t kBatches = 100000;
constexpr int64_t kRows = 128;
constexpr int64_t kColumns = 16;

LoDTensor SmallBatch() {
  LoDTensor batch;
  float* values = batch.Allocate<float>({kRows, kColumns});
  for (int64_t i = 0; i < batch.numel(); ++i) values[i] = static_cast<float>(i);
  return batch;
}

// Reads a pass without a program and without its arithmetic.
void ReadBare(ReaderBase* reader) {
  std::vector<LoDTensor> element;
  int64_t batches = 0;
  reader->ReInit();
  for (; reader->HasNext(); ++batches) reader->ReadNext(&element);
  Require(batches == kBatches, "the reader ended after ", batches, " batches");
}

Measured MeasureReadLoop() {
  Measured measured;
  ProgramRun program(kReadProgram, {}, Resident(SmallBatch(), kBatches));
  const ReaderPtr bare = Resident(SmallBatch(), kBatches);
  program.Run();
  ReadBare(bare.get());
  const Usage begin = Usage::Now();
  for (int round = 0; round < Options().rounds; ++round) {
    measured.limits.push_back(RateOf(kBatches, [&] { ReadBare(bare.get()); }));
    measured.rates.push_back(RateOf(kBatches, [&] { program.Run(); }));
  }
  measured.foreign_share = (Usage::Now() - begin).foreign_share();
  const uint64_t read = program.reader().stats().elements;
  AddSteadyCounters(&program, kBatches, kBatches, &measured);
  measured.records = program.reader().stats().elements - read;
  Require(measured.records == static_cast<uint64_t>(kBatches), "the loop read ", measured.records,
          " batches");
  measured.counters.emplace_back("seconds_over_bare", 1 / measured.rate() - 1 / measured.limit());
  measured.note = TimeText(measured.counter("seconds_over_bare")) + " over the bare reader";
  return measured;
}

}  // namespace

void AddExecutorWorkloads(Workloads* workloads) {
  Workload loop;
  loop.name = "exec_while";
  loop.unit = Unit::kTime;
  loop.what = "op";
  AimAtTime(30e-9, &loop);
  loop.measure = MeasureWhile;
  workloads->push_back(std::move(loop));

  Workload memory;
  memory.name = "while_memory";
  memory.unit = Unit::kTime;
  memory.what = "step";
  memory.target = "flat";
  memory.reached = [](const Measured& measured) {
    return measured.counter("grown_bytes") < static_cast<double>(1 << 20);
  };
  memory.measure = MeasureWhileMemory;
  workloads->push_back(std::move(memory));

  Workload read;
  read.name = "exec_reader_loop";
  read.unit = Unit::kTime;
  read.what = "batch";
  read.target = "+3 us";
  read.reached = [](const Measured& measured) {
    return measured.counter("seconds_over_bare") <= 3e-6;
  };
  read.measure = MeasureReadLoop;
  workloads->push_back(std::move(read));
}

}  // namespace millhopper
