// SPDX-License-Identifier: Apache-2.0
// Sources for tests. Everything is known of their records. They fail and pause on demand, and count
// how often each record was loaded.
#ifndef MILLHOPPER_TESTS_FAKES_SOURCES_H_
#define MILLHOPPER_TESTS_FAKES_SOURCES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/reader/reader.h"
#include "framework/reader/sequential_reader.h"

namespace millhopper {

// How often each record was loaded, in all passes together. Any thread.
class Ledger {
 public:
  explicit Ledger(int64_t records) : loads_(static_cast<size_t>(records)) {}
  void Count(int64_t record) { loads_[static_cast<size_t>(record)].fetch_add(1); }
  int loads(int64_t record) const { return loads_[static_cast<size_t>(record)].load(); }

 private:
  std::vector<std::atomic<int>> loads_;
};

// Record i of a source is the number i: int64 [1, 1], or, if ragged, i % 4 rows of it with one
// level of detail.
struct SourceSpec {
  int64_t records = 0;
  int64_t plan_error = -1;  // planning this record fails
  int64_t load_error = -1;  // loading this record fails
  bool ragged = false;
  uint64_t jitter = 0;  // seeds random pauses in Plan and Load; 0 is none
  std::shared_ptr<Ledger> ledger = nullptr;
};

// What the sources below declare.
std::vector<SlotSpec> SlotsOf(const SourceSpec& spec);

// A source with a Plan and a Load. It frees records as soon as no run keeps them.
std::unique_ptr<ReaderBase> MakePlannedSource(const SourceSpec& spec);
// One that never fails or pauses.
std::unique_ptr<ReaderBase> MakePlannedSource(int64_t records, bool ragged = false);
// The same stream from a SequentialReader, as the author of a plugin would first write it. It
// cannot tell a load error from a planning error, so spec.load_error must be -1.
std::unique_ptr<ReaderBase> MakeSequentialSource(const SourceSpec& spec);

// How many blocks of records planned tickets still point to, over all sources.
int64_t LiveSourceBlocks();

// Pauses for up to 50 us, yields or does nothing, depending on these numbers.
void Dawdle(uint64_t seed, uint64_t index);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_SOURCES_H_
