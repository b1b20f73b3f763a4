// SPDX-License-Identifier: Apache-2.0
// Named workloads: what each measures, and the target that it aims at.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_WORKLOAD_H_
#define MILLHOPPER_TESTS_BENCHMARKS_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/benchmarks/usage.h"

namespace millhopper {

struct ChunkShare;

// What the command line says.
struct BenchmarkOptions {
  double min_seconds = 2;  // how long a workload is timed
  int rounds = 5;          // the time is divided into these; the limit is measured before each
  int workers = 1;         // of the pool; the calling thread works too
  std::string peek;        // the command
  std::string programs;    // the folder of the quickstart's programs
  int64_t while_steps = 0;

  // Processors that a reader can keep busy.
  int threads() const;
};
BenchmarkOptions& Options();

// The result of measuring a workload. Rates are of records, operators, ... per second: more is
// better.
struct Measured {
  std::vector<double> rates;   // one per round; the median counts
  std::vector<double> limits;  // of the same rounds; empty if there is no limit
  // What has been checked.
  uint64_t records = 0;  // of a pass
  std::string digest;    // of the stream of pass 0
  std::string note;      // more numbers, for the people who read the table
  // Counters besides those that all workloads have.
  std::vector<std::pair<std::string, double>> counters;
  double foreign_share = 0;

  double rate() const;
  double limit() const;
  double ratio() const;
  bool has_counter(const std::string& name) const;
  // The value of a counter; 0 if there is none.
  double counter(const std::string& name) const;
};

double Median(std::vector<double> values);

// Runs `work`, which does `count` things, until the time of a round is over; returns things per
// second.
template <typename Work>
double RateOf(double count, const Work& work) {
  const double begin = WallSeconds();
  double done = 0;
  double spent = 0;
  do {
    work();
    done += count;
    spent = WallSeconds() - begin;
  } while (spent < Options().min_seconds / Options().rounds);
  return done / spent;
}

// The bytes that are copied on the way from the blocks of a file to the consumer, and the bytes
// that the consumer gets.
struct CopiedBytes {
  uint64_t copied = 0;
  uint64_t payload = 0;
};

// How a rate is shown.
enum class Unit {
  kPerSecond,  // "1.23 M rec/s"
  kTime,       // "31.2 ns": the inverse
  kFactor,     // "1.92 x"
};

struct Workload {
  std::string name;
  Unit unit = Unit::kPerSecond;
  std::string what;    // "rec", what a rate counts
  std::string target;  // as it is shown
  std::function<bool(const Measured& measured)> reached;
  std::function<Measured()> measure;
  // Reads a pass in a process that counts copies; may be empty.
  std::function<CopiedBytes()> copy;
  // Reads a share of the data in a process that is the limit of lanes (ProcessLimit); may be empty.
  std::function<void(const ChunkShare& share)> read_share;
  // Runs only if a filter is given, since it takes long or needs much.
  bool on_request = false;
};

// A target that is a ratio to the limit.
void AimAtRatio(double ratio, Workload* workload);
// A target for the factor by which a workload is faster.
void AimAtFactor(double factor, Workload* workload);
// A target for the time of one thing, in seconds.
void AimAtTime(double seconds, Workload* workload);

// In the order of the table; each file of workloads adds its own.
using Workloads = std::vector<Workload>;
void AddMachineWorkloads(Workloads* workloads);
void AddFileWorkloads(Workloads* workloads);
void AddLanesWorkloads(Workloads* workloads);
void AddLargeShuffleWorkloads(Workloads* workloads);
void AddMultiFileWorkloads(Workloads* workloads);
void AddDeviceWorkloads(Workloads* workloads);
void AddExecutorWorkloads(Workloads* workloads);
void AddHandoffWorkloads(Workloads* workloads);
void AddHttpWorkloads(Workloads* workloads);
void AddMapWorkloads(Workloads* workloads);
void AddImageWorkloads(Workloads* workloads);
void AddGatherWorkloads(Workloads* workloads);
void AddParquetWorkloads(Workloads* workloads);
void AddTextWorkloads(Workloads* workloads);
void AddStartWorkloads(Workloads* workloads);
void AddResumeWorkloads(Workloads* workloads);
void AddTrainingWorkloads(Workloads* workloads);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_WORKLOAD_H_
