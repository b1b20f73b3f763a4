// SPDX-License-Identifier: Apache-2.0
// Splits the loading of many elements among the workers of the pool, in parts large enough to be
// worth it.
#ifndef MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_
#define MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {

class ReaderBase;

// Throws kInternal unless each slot has as many steps as there are elements, which have one each.
void CheckOneStepEach(const Rows& rows, size_t elements);

// Loads elements of one reader, and measures how long they take to choose the size of parts.
class ParallelLoad {
 public:
  // Loads tickets of the reader (ReaderBase::Load), split among idle workers where that pays; rows
  // are in the order of the tickets. Throws the error of the first element that fails, however the
  // work was split. `alone`: other threads load nothing of it. Any thread.
  void Load(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows, bool alone);
  // How many elements load in about 200 us, measured on recent loads; a part of that size is worth
  // a hand-over. Any thread.
  size_t grain() const { return grain_.load(std::memory_order_relaxed); }

 private:
  void LoadOneStepParts(const ReaderBase& reader, const Ticket* tickets, size_t n, size_t grain,
                        Rows* rows);
  void LoadScratchParts(const ReaderBase& reader, const Ticket* tickets, size_t n, size_t grain,
                        Rows* rows);
  void LoadTimed(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows);

  std::atomic<size_t> grain_{16};
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PARALLEL_LOAD_H_
