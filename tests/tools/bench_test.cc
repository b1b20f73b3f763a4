// SPDX-License-Identifier: Apache-2.0
// Runs the benchmarks as tools/bench does, on workloads that take a moment. Checks the table and
// the JSON, not the rates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

ChildResult RunBench(const std::string& filter, const std::string& json) {
  return RunChild({"tests/bench", "--benchmark_filter=" + filter, "--benchmark_out=" + json,
                   "--benchmark_out_format=json", "--data=" + NewFolder("bench"), "--min_time=0.01",
                   "--rounds=1"});
}

TEST(Bench, WritesATableAndTheCountersOfEachWorkload) {
  const std::string path = TempName("bench.json");
  const ChildResult result = RunBench("^(custom_map|exec_reader_loop)$", path);
  ASSERT_EQ(result.exit_code, 0) << result.errors << result.output;
  EXPECT_NE(result.output.find("1,000 records, stream "), std::string::npos) << result.output;
  const auto entries = nlohmann::json::parse(ReadFile(path)).at("benchmarks");
  ASSERT_EQ(entries.size(), 2u);
  for (const auto& entry : entries) {
    const std::string name = entry.at("name");
    EXPECT_NE(result.output.find("\n" + name + " "), std::string::npos) << result.output;
    for (const char* counter : {"rate", "limit", "ratio", "peak_bytes", "cpu_s_per_million"}) {
      ASSERT_TRUE(entry.contains(counter)) << entry;
      EXPECT_GT(entry.at(counter).get<double>(), 0) << name << " " << counter;
    }
    for (const char* counter : {"allocations_per_batch", "page_faults_per_batch"}) {
      EXPECT_TRUE(entry.contains(counter)) << entry;
    }
    EXPECT_NEAR(entry.at("ratio").get<double>(),
                entry.at("rate").get<double>() / entry.at("limit").get<double>(), 1e-6);
  }
}

TEST(Bench, FailsIfNoWorkloadIsCalledSo) {
  EXPECT_NE(RunBench("^no_such_workload$", TempName("bench.json")).exit_code, 0);
}

}  // namespace
}  // namespace millhopper
