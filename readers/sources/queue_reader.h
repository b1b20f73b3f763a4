// SPDX-License-Identifier: Apache-2.0
// Yields the elements that other threads push.
#ifndef MILLHOPPER_READERS_SOURCES_QUEUE_READER_H_
#define MILLHOPPER_READERS_SOURCES_QUEUE_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/reader/sequential_reader.h"
#include "readers/sources/element_queue.h"

namespace millhopper {

// Yields the elements of a queue, without a copy if they are read one by one. A pass is a
// generation of the queue; the consumer waits for the producer.
//
// Its saved place is the number of elements that were taken, and what the producer has noted; so
// the producer must make the same elements again when a pass is repeated. Restoring it begins a new
// pass of the queue there (ElementQueue::Restart), and drops what was pushed before. If readers on
// top had elements in store, Restore takes these from the queue, and waits for the producer.
class QueueReader : public SequentialReader {
 public:
  QueueReader(std::shared_ptr<ElementQueue> queue, std::vector<SlotSpec> slots);

  size_t ElementsReady() const override { return queue_->size(); }
  // Throws kInvalidArgument for any element: a producer may have another order in each pass.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override;

 protected:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override { return queue_->Take(out); }
  ElementQueue& queue() const { return *queue_; }

 private:
  void ReInitImpl() override { queue_->Restart(0, pass()); }
  bool IsRepeatable() const override { return true; }
  void GoToImpl(uint64_t pass, uint64_t count) override { queue_->Restart(count, pass); }
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  uint64_t InStore() const override { return queue_->size(); }

  const std::shared_ptr<ElementQueue> queue_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_QUEUE_READER_H_
