// SPDX-License-Identifier: Apache-2.0
// A block of operators that works for 200 us on every record.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr double kWorkSeconds = 200e-6;
constexpr int64_t kRecords = 1000;

uint64_t Mix(uint64_t value, int64_t rounds) {
  for (int64_t i = 0; i < rounds; ++i) value = MixBits(value + 1);
  return value;
}

OpSchema WorkSchema() {
  return OpSchema("Keeps a processor busy: for benchmarks.")
      .Input("X", "int64 values")
      .Output("Out", "the first of them and one, dims of X")
      .Attr({"rounds", int64_t{1}, "how often"});
}

void Work(OpContext& context) {
  const LoDTensor& in = context.In("X");
  const int64_t value = in.data<int64_t>()[0];
  benchmark::DoNotOptimize(Mix(static_cast<uint64_t>(value), context.Attr<int64_t>("rounds")));
  *context.Out("Out")->Allocate<int64_t>(in.dims()) = value + 1;
}

REGISTER_OPERATOR(benchmark_work, WorkSchema, Work);

constexpr char kProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "mapped" type { type: READER } persistable: true }
  ops { type: "create_custom_reader"
        inputs { parameter: "UnderlyingReader" arguments: "source" }
        outputs { parameter: "Out" arguments: "mapped" }
        attrs { name: "sub_block" block_idx: 1 }
        attrs { name: "source_var_names" strings: "x" }
        attrs { name: "sink_var_names" strings: "y" } }
}
blocks {
  idx: 1 parent_idx: 0
  vars { name: "x" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: [1, 1] } } } }
  vars { name: "y" type { type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: [1, 1] } } } }
  ops { type: "benchmark_work" inputs { parameter: "X" arguments: "x" }
        outputs { parameter: "Out" arguments: "y" } attrs { name: "rounds" l: ${rounds} } }
}
)";

// How many rounds of mixing take one thread 200 us.
int64_t RoundsOfWork() {
  constexpr int64_t kTried = 10000000;
  const double begin = ThreadSeconds();
  benchmark::DoNotOptimize(Mix(1, kTried));
  return static_cast<int64_t>(kTried * kWorkSeconds / (ThreadSeconds() - begin));
}

// The reader outlives the scope that it was made in.
ReaderPtr Mapped(int64_t rounds) {
  LoDTensor element;
  *element.Allocate<int64_t>({1, 1}) = 7;
  Scope scope;
  scope.Var("source")->GetMutable<ReaderHolder>()->Reset(Resident(element, kRecords));
  Executor().Run(
      Program::FromString(kProgram, "startup.pbtxt", {{"rounds", std::to_string(rounds)}}),
      ProgramRole::kStartup, &scope);
  return Batched(scope.Find("mapped")->Get<ReaderHolder>().NewHandle(), 32);
}

ChainSpec MapSpec() {
  const int64_t rounds = RoundsOfWork();
  ChainSpec spec;
  spec.records = kRecords;
  spec.make = [rounds] { return Mapped(rounds); };
  return spec;
}

}  // namespace

void AddMapWorkloads(Workloads* workloads) {
  Workload map;
  map.name = "custom_map";
  map.unit = Unit::kFactor;
  AimAtFactor(1.8, &map);
  map.measure = [] { return MeasureScaling(MapSpec()); };
  map.copy = [] { return CopyChain(MapSpec()); };
  workloads->push_back(std::move(map));
}

}  // namespace millhopper
