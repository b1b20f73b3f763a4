// SPDX-License-Identifier: Apache-2.0
// Splits the loading of many elements among the workers of the pool, in parts that are worth it.
#ifndef MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_
#define MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {

class ReaderBase;

// How the elements of one reader are loaded, with what is known of the time that they take.
class ParallelLoad {
 public:
  // Loads tickets of the reader (ReaderBase::Load), split among idle workers where that pays; rows
  // are in the order of the tickets. The error is that of the first element that fails, whatever
  // the parts. Any thread.
  void Load(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows);
  // How many elements make about 200 us of loading, by what was loaded last: parts of that size are
  // worth a hand-over. Any thread.
  size_t grain() const { return grain_.load(std::memory_order_relaxed); }

 private:
  void LoadOneStepParts(const ReaderBase& reader, const Ticket* tickets, size_t n, size_t grain,
                        Rows* rows);
  void LoadScratchParts(const ReaderBase& reader, const Ticket* tickets, size_t n, size_t grain,
                        Rows* rows);
  void LoadTimed(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows);

  std::atomic<size_t> grain_{16};
  std::atomic<uint32_t> short_loads_{0};
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_
