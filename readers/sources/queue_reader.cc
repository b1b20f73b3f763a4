// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/queue_reader.h"

#include <utility>

namespace millhopper {

QueueReader::QueueReader(std::shared_ptr<ElementQueue> queue, std::vector<SlotSpec> slots)
    : SequentialReader(std::move(slots)), queue_(std::move(queue)) {}

void QueueReader::GoToImpl(uint64_t /*pass*/, uint64_t count) { queue_->Restart(count); }

void QueueReader::RestoreState(const ReaderState& state) {
  SequentialReader::RestoreState(state);
  // Now, so that a producer that starts before the first read begins there.
  if (!state.end()) GoToPlace();
}

}  // namespace millhopper
