// SPDX-License-Identifier: Apache-2.0
// Lines of text that become tokens of a byte pair encoding, and batches.
#include <memory>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/limits/word_limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr uint64_t kLines = 40000;
constexpr int64_t kLinesAtOnce = 64;

constexpr char kProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "tokens" type { type: READER } persistable: true }
  ops { type: "create_custom_reader"
        inputs { parameter: "UnderlyingReader" arguments: "lines" }
        outputs { parameter: "Out" arguments: "tokens" }
        attrs { name: "sub_block" block_idx: 1 }
        attrs { name: "source_var_names" strings: "text" }
        attrs { name: "sink_var_names" strings: "ids" } }
}
blocks {
  idx: 1 parent_idx: 0
  vars { name: "text" type { type: LOD_TENSOR } }
  vars { name: "ids" type { type: LOD_TENSOR } }
  ops { type: "tokenize" inputs { parameter: "X" arguments: "text" }
        outputs { parameter: "Out" arguments: "ids" }
        attrs { name: "mode" s: "bpe" } attrs { name: "merges" s: "${merges}" } }
}
)";

// The reader outlives the scope that it was made in.
ReaderPtr Tokenized() {
  Scope scope;
  scope.Var("lines")->GetMutable<ReaderHolder>()->Reset(OpenOne(WordLines(kLines)));
  Executor().Run(Program::FromString(kProgram, "startup.pbtxt", {{"merges", WordTokens()}}),
                 ProgramRole::kStartup, &scope);
  return Batched(scope.Find("tokens")->Get<ReaderHolder>().NewHandle(), kLinesAtOnce);
}

ChainSpec TokenizeSpec() {
  ChainSpec spec;
  spec.records = kLines;
  spec.make = Tokenized;
  return spec;
}

}  // namespace

void AddTextWorkloads(Workloads* workloads) {
  Workload tokenize;
  tokenize.name = "tokenize";
  tokenize.what = "rec";
  tokenize.measure = [] {
    ChainSpec spec = TokenizeSpec();
    std::shared_ptr<WordLimit> limit;
    spec.limit = [limit]() mutable {
      if (!limit) limit = std::make_shared<WordLimit>(WordLines(kLines));
      return limit->SecondsPerRecord();
    };
    return MeasureChain(spec);
  };
  tokenize.copy = [] { return CopyChain(TokenizeSpec()); };
  workloads->push_back(std::move(tokenize));
}

}  // namespace millhopper
