// SPDX-License-Identifier: Apache-2.0
// Measures chains of readers: rate, steady state, memory, and whether what was read is right.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_
#define MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/reader.h"
#include "readers/multi_file_reader.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {

using ReaderPtr = std::unique_ptr<ReaderBase>;

// Readers of a data set: of its one file, or of all its files as open_files reads them.
ReaderPtr OpenOne(const DataSet& data);
ReaderPtr OpenAll(const DataSet& data, const MultiFileOptions& options);
// Seed 7, as all benchmarks have it.
ReaderPtr Shuffled(ReaderPtr reader, int64_t window);
ReaderPtr Batched(ReaderPtr reader, int64_t batch_size);

// Yields one element, which lies in memory, `count` times: a reader that costs next to nothing.
ReaderPtr Resident(const LoDTensor& element, int64_t count);

// What a consumer does with a batch: counts its records and looks at a byte of each page.
class Consumer {
 public:
  void Take(const std::vector<LoDTensor>& batch);

  uint64_t records = 0;
  uint64_t batches = 0;
  uint64_t bytes = 0;

 private:
  uint64_t seen_ = 0;
};

// A chain and what it reads.
struct ChainSpec {
  std::function<ReaderPtr()> make;
  uint64_t records = 0;  // in a pass, which is checked
  // One thread's least time for a record, measured anew; may be empty.
  std::function<double()> limit;
  // Readers whose order is not defined are compared by the sum of their records.
  bool ordered = true;
  // The caller's thread alone, whatever the options say.
  bool one_thread = false;
};

// Reads pass 0 and returns the digest of the stream as tools/digest.h defines it, or, without an
// order, the sum of a checksum of each record.
std::string DigestOfPass(ReaderBase* reader, bool ordered);

// Passes of one reader, timed.
class PassTimer {
 public:
  PassTimer(ReaderPtr reader, uint64_t records) : reader_(std::move(reader)), records_(records) {}

  // Restarts the reader and reads a pass to its end. Throws kInternal if the number of records is
  // not the one expected.
  void ReadPass();
  // Reads whole passes for at least so long: records a second.
  double ReadFor(double seconds);

  ReaderBase* reader() { return reader_.get(); }
  // Of all passes: what was allocated and faulted in after the first quarter of each, and in how
  // many batches.
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

// The whole measurement: the digest with one thread and with all must be the same; then rounds of
// the limit and of passes, in turn.
Measured MeasureChain(const ChainSpec& spec);
// How much faster all threads are than one, in turn; the limit is the number of threads.
Measured MeasureScaling(const ChainSpec& spec);
// What a pass copies, for a process that counts it.
CopiedBytes CopyChain(const ChainSpec& spec);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_CHAIN_H_
