// SPDX-License-Identifier: Apache-2.0
// Statistics of a chain of readers: which reader stands on which, and what each has done.
#ifndef MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_
#define MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// What one lane of a reader (readers/lanes) has done.
struct LaneStats {
  uint64_t elements = 0;  // that it has planned
  double seconds = 0;     // of the threads that have run it
};

// A reader and the readers below it. Counts are over its whole life, all passes and all consumers;
// `in_store` and `memory_bytes` are of this moment.
struct ChainStats {
  std::string kind;  // the operator that has created it; "" if none has
  std::string name;  // of the variable that holds it; "" if none does

  uint64_t planned = 0;     // elements that it has planned (handed out tickets for)
  uint64_t elements = 0;    // elements that it has delivered, that is, loaded
  uint64_t bytes_read = 0;  // from files
  // The time of all threads together for loading its elements, including what the readers below
  // load for it, and for reading, checking and expanding chunks of files. Of loads under 10 us one
  // in eight is timed and counts eight times.
  double load_seconds = 0;
  // The time for which its consumer was held up: it waited for a chunk or an element, or made that
  // itself. If a program or a loop in Python is the consumer, all the time that it spent in calls
  // that read.
  double wait_seconds = 0;
  uint64_t in_store = 0;  // elements that are fetched, loaded or in a window, but not planned yet
  uint64_t memory_bytes = 0;  // of its buffers

  std::vector<LaneStats> lanes;  // of a reader that runs lanes, in their order
  std::vector<ChainStats> below;

  // Adds the counts of an earlier chain of the same readers that no longer exists.
  void Add(const ChainStats& before);
  // Adds what another lane of the same readers has done and holds.
  void AddLane(const ChainStats& other);
  // Adds to the lowest reader what the source of its lanes has read and holds, and what is below
  // that.
  void AddSource(const ChainStats& source);
  // Sets in_store and memory_bytes to 0.
  void ClearPresent();

 private:
  void AddPresent(const ChainStats& other);
};

// A table with one line for each reader, indented by two spaces more than the reader that stands on
// it. A reader that several others stand on is shown under each of them. Below it one line for each
// reader that runs lanes: how far they are, and which has taken the most time; and one for each
// shard of files that throws away what is for other processes. Lines end in "\n".
std::string ToTable(const std::vector<ChainStats>& chains);

// "0", "1.5kB", "64MB".
std::string ShortBytes(uint64_t bytes);
// "0", "0.00123", "3.41", "1234": three significant digits.
std::string ShortSeconds(double seconds);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_
