// SPDX-License-Identifier: Apache-2.0
// Yields what others push.
#ifndef MILLHOPPER_READERS_QUEUE_READER_H_
#define MILLHOPPER_READERS_QUEUE_READER_H_

#include <memory>
#include <vector>

#include "framework/reader/sequential_reader.h"
#include "readers/element_queue.h"

namespace millhopper {

// Yields the elements of a queue, without copying them where one is read by itself. A pass is a
// generation of the queue; who reads waits for who pushes.
class QueueReader final : public SequentialReader {
 public:
  QueueReader(std::shared_ptr<ElementQueue> queue, std::vector<SlotSpec> slots);

  size_t ElementsReady() const override { return queue_->size(); }

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override { return queue_->Take(out); }
  void ReInitImpl() override { queue_->Restart(); }

  const std::shared_ptr<ElementQueue> queue_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_QUEUE_READER_H_
