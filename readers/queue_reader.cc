// SPDX-License-Identifier: Apache-2.0
#include "readers/queue_reader.h"

#include <utility>

namespace millhopper {

QueueReader::QueueReader(std::shared_ptr<ElementQueue> queue, std::vector<SlotSpec> slots)
    : SequentialReader(std::move(slots)), queue_(std::move(queue)) {}

}  // namespace millhopper
