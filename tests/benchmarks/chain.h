// SPDX-License-Identifier: Apache-2.0
// Measures chains of readers: the rate, the steady state, the memory, and whether what was read is
// right.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_
#define MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/reader.h"
#include "readers/sources/multi_file_reader.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {

using ReaderPtr = std::unique_ptr<ReaderBase>;

// Open a data set: its one file, or all its files as open_files reads them.
ReaderPtr OpenOne(const DataSet& data);
ReaderPtr OpenAll(const DataSet& data, const MultiFileOptions& options);
// The same in a random order.
ReaderPtr OpenInRandomOrder(const DataSet& data);
// Shuffles with seed 7, as all benchmarks do.
ReaderPtr Shuffled(ReaderPtr reader, int64_t window);
ReaderPtr Batched(ReaderPtr reader, int64_t batch_size);

// A chain with lanes: each shuffles its share of the window, if there is one, and makes its part of
// each batch. Batches are made `depth` ahead.
struct LanedChain {
  size_t lanes = 16;
  int64_t window = 0;
  int64_t batch = 128;
  int64_t depth = 16;
};
ReaderPtr Laned(const DataSet& data, const LanedChain& chain);

// Yields one element, which lies in memory, `count` times: a reader that costs next to nothing.
ReaderPtr Resident(const LoDTensor& element, int64_t count);

// What a consumer does with a batch: counts its records and looks at a byte of each page.
class Consumer {
 public:
  void Take(const std::vector<LoDTensor>& batch);
  // Reads to the end of the pass.
  void TakeRest(ReaderBase* reader);

  uint64_t records = 0;
  uint64_t batches = 0;
  uint64_t bytes = 0;

 private:
  uint64_t seen_ = 0;
};

// A chain and what it reads.
struct ChainSpec {
  std::function<ReaderPtr()> make;
  uint64_t records = 0;  // in a pass; another number is an error
  // The least time in which one thread can read a record, measured anew by each call; may be empty.
  std::function<double()> limit;
  // False if the order is not defined: then the sums of the records are compared.
  bool ordered = true;
  // Uses the calling thread alone, whatever the options say.
  bool one_thread = false;
};

// Reads pass 0 and returns the digest of the stream as tools/commands/shared/digest.h defines it.
// Without an order, it returns the sum of a checksum of each record.
std::string DigestOfPass(ReaderBase* reader, bool ordered);

// Passes of one reader, timed.
class PassTimer {
 public:
  PassTimer(ReaderPtr reader, uint64_t records) : reader_(std::move(reader)), records_(records) {}

  // Restarts the reader and reads a pass to its end. Throws kInternal if the number of records is
  // not the one expected.
  void ReadPass();
  // Reads whole passes for at least `seconds`; returns records per second.
  double ReadFor(double seconds);

  ReaderBase* reader() { return reader_.get(); }
  // What was allocated and faulted in after the first quarter of each pass, and in how many
  // batches.
  const SteadyCounts& steady() const { return steady_; }
  uint64_t steady_batches() const { return steady_batches_; }

 private:
  const ReaderPtr reader_;
  const uint64_t records_;
  std::vector<LoDTensor> batch_;
  uint64_t batches_ = 0;  // of the last pass
  SteadyCounts steady_;
  uint64_t steady_batches_ = 0;
};

// The whole measurement: checks that the digest is the same with one thread and with all, then
// measures the limit and passes in turn.
Measured MeasureChain(const ChainSpec& spec);
// How much faster all threads are than one, measured in turn; the limit is the number of threads.
Measured MeasureScaling(const ChainSpec& spec);
// What a pass copies, measured in a process that counts copies.
CopiedBytes CopyChain(const ChainSpec& spec);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_
