// SPDX-License-Identifier: Apache-2.0
// What can be seen of a chain of readers: who stands on whom, and what each has done.
#ifndef MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_
#define MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// A reader and those below it. Counts are those of its whole life, of all passes and of all who
// read it; `in_store` and `memory_bytes` are those of this moment.
struct ChainStats {
  std::string kind;  // the operator that has created it; "" if none has
  std::string name;  // of the variable that holds it; "" if none does

  uint64_t planned = 0;     // elements of which it has said that they come next
  uint64_t elements = 0;    // that it has delivered, which is to say loaded
  uint64_t bytes_read = 0;  // from files
  // Of all threads together, spent in loading its elements, with what the readers below do at that
  // moment, and in reading, checking and expanding chunks of files. Of short loads (less than 10
  // us) one in eight is timed and counts for eight.
  double load_seconds = 0;
  // For how long whoever reads it was held up: he waited for a chunk or an element that was not
  // ready, or made it himself. Of a reader that a program or a loop in Python reads, all that it
  // spent in reading.
  double wait_seconds = 0;
  uint64_t in_store = 0;  // elements that are fetched, loaded or held in a window, and not planned
  uint64_t memory_bytes = 0;  // that buffers hold for it

  std::vector<ChainStats> below;

  // Adds the counts of a chain of the same readers that has gone away since.
  void Add(const ChainStats& before);
  // Nothing is in store any more, nor in memory.
  void ClearPresent();
};

// A table with a line a reader, each two spaces further in than the one that stands on it. A reader
// that several stand on is shown below each of them. Lines end in "\n".
std::string ToTable(const std::vector<ChainStats>& chains);

// "0", "1.5kB", "64MB".
std::string ShortBytes(uint64_t bytes);
// "0", "0.00123", "3.41", "1234": three digits that count.
std::string ShortSeconds(double seconds);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_CHAIN_STATS_H_
