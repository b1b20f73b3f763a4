// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/workload.h"

#include <algorithm>
#include <thread>

#include "framework/base/error.h"
#include "tests/benchmarks/table.h"

namespace millhopper {

int BenchmarkOptions::threads() const {
  const auto processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(workers + 1, processors);
}

BenchmarkOptions& Options() {
  static auto* options = new BenchmarkOptions;
  return *options;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Measured::rate() const { return Median(rates); }
double Measured::limit() const { return Median(limits); }
double Measured::ratio() const { return limits.empty() ? 0 : rate() / limit(); }

bool Measured::has_counter(const std::string& name) const {
  return std::any_of(counters.begin(), counters.end(),
                     [&](const auto& counter) { return counter.first == name; });
}

double Measured::counter(const std::string& name) const {
  for (const auto& [candidate, value] : counters) {
    if (candidate == name) return value;
  }
  return 0;
}

void AimAtRatio(double ratio, Workload* workload) {
  workload->target = Digits(ratio);
  workload->reached = [ratio](const Measured& measured) { return measured.ratio() >= ratio; };
}

void AimAtFactor(double factor, Workload* workload) {
  workload->target = Digits(factor) + " x";
  workload->reached = [factor](const Measured& measured) { return measured.rate() >= factor; };
}

void AimAtTime(double seconds, Workload* workload) {
  workload->target = TimeText(seconds);
  workload->reached = [seconds](const Measured& measured) {
    return measured.rate() >= 1 / seconds;
  };
}

}  // namespace millhopper
