// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "framework/base/error.h"
#include "tools/commands/shared/amounts.h"

namespace millhopper {
namespace {

constexpr double kNoisy = 0.05;

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Scaled(double value) {
  if (value >= 1e9) return Digits(value / 1e9) + " G ";
  if (value >= 1e6) return Digits(value / 1e6) + " M ";
  if (value >= 1e4) return Digits(value / 1e3) + " k ";
  return Digits(value) + " ";
}

std::string RateText(const Workload& workload, double rate) {
  switch (workload.unit) {
    case Unit::kPerSecond:
      return StrCat(Scaled(rate), workload.what, "/s");
    case Unit::kTime:
      return StrCat(TimeText(1 / rate), workload.what.empty() ? "" : "/", workload.what);
    default:
      return StrCat(Digits(rate), " x");
  }
}

// The lowest and the highest round, relative to the median.
std::string Spread(const std::vector<double>& rates) {
  if (rates.size() < 2) return "";
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  const double median = Median(rates);
  return StrCat(Format("%+.0f", 100 * (*low / median - 1)), "..",
                Format("%+.0f %%", 100 * (*high / median - 1)));
}

void PrintCounters(const Measured& measured) {
  std::string line;
  const auto add = [&line](const std::string& text) { line += (line.empty() ? "" : "; ") + text; };
  for (const auto& [name, value] : measured.counters) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    if (name == "peak_bytes") {
      add(StrCat("peak ", HumanBytes(value)));
    } else if (name == "core_round_trip_s") {
      add(StrCat("from core to core and back ", TimeText(value)));
    } else {
      add(StrCat(Digits(value), " ", words));
    }
  }
  if (!measured.note.empty()) add(measured.note);
  if (!line.empty()) std::printf("    %s\n", line.c_str());
  if (measured.records == 0) return;
  std::printf("    %s records%s%s\n", WithCommas(measured.records).c_str(),
              measured.digest.empty() ? "" : ", stream ", measured.digest.c_str());
}

}  // namespace

std::string Digits(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  return Format(size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.2g", value);
}

std::string TimeText(double seconds) {
  if (seconds >= 1) return Digits(seconds) + " s";
  if (seconds >= 1e-3) return Digits(seconds * 1e3) + " ms";
  if (seconds >= 1e-6) return Digits(seconds * 1e6) + " us";
  return Digits(seconds * 1e9) + " ns";
}

bool TableReporter::ReportContext(const Context&) {
  std::printf("%d worker%s and the caller\n\n%-26s %16s %14s %16s %8s %10s\n", Options().workers,
              Options().workers == 1 ? "" : "s", "workload", "rate", "rounds", "limit", "ratio",
              "target");
  std::fflush(stdout);
  return true;
}

void TableReporter::ReportRuns(const std::vector<Run>& report) {
  for (const Run& run : report) {
    if (!run.error_occurred) continue;
    failed_ = true;
    std::printf("%-26s FAILED: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
  }
  std::fflush(stdout);
}

void TableReporter::Show(const Workload& workload, const Measured& measured) {
  const bool limited = !measured.limits.empty();
  std::string verdict = "-";
  if (workload.reached) verdict = workload.reached(measured) ? "reached" : "BELOW";
  if (measured.foreign_share > kNoisy) verdict += " NOISY";
  std::printf("%-26s %16s %14s %16s %8s %10s  %s, others used %.0f %%\n", workload.name.c_str(),
              RateText(workload, measured.rate()).c_str(), Spread(measured.rates).c_str(),
              limited ? RateText(workload, measured.limit()).c_str() : "-",
              limited ? Digits(measured.ratio()).c_str() : "-",
              workload.target.empty() ? "-" : workload.target.c_str(), verdict.c_str(),
              100 * measured.foreign_share);
  PrintCounters(measured);
  std::fflush(stdout);
}

}  // namespace millhopper
