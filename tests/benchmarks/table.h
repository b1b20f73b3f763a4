// SPDX-License-Identifier: Apache-2.0
// The table that benchmarks are shown in.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_TABLE_H_
#define MILLHOPPER_TESTS_BENCHMARKS_TABLE_H_

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "tests/benchmarks/workload.h"

namespace millhopper {

std::string Digits(double value);      // three significant digits: "1.23", "0.0312", "145"
std::string TimeText(double seconds);  // "31.2 ns"

// Shows a row for each workload as soon as it is measured: the result beside the limit and the
// target, and below it what was counted and checked.
class TableReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& report) override;

  void Show(const Workload& workload, const Measured& measured);
  // Whether a workload failed or could not be checked.
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_TABLE_H_
