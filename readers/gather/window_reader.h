// SPDX-License-Identifier: Apache-2.0
// Sliding windows of elements.
#ifndef MILLHOPPER_READERS_GATHER_WINDOW_READER_H_
#define MILLHOPPER_READERS_GATHER_WINDOW_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "framework/memory/memory.h"
#include "readers/gather/collating_reader.h"

namespace millhopper {

struct WindowOptions {
  int64_t size = 0;    // elements of a window
  int64_t shift = 0;   // elements from the first of a window to the first of the next; 0 is size
  int64_t stride = 1;  // elements from one of a window to the next of it
  bool discard_leftover = false;
};

// Window w has the elements w * shift, w * shift + stride, ... of the pass, laid end to end along
// axis 0. Windows that the end of the pass cuts off have fewer; with discard_leftover they are left
// out.
class WindowReader final : public CollatingReader {
 public:
  // Throws kInvalidArgument for a size or stride below 1 and for a shift below 0, and as
  // StageReader does.
  WindowReader(std::unique_ptr<ReaderBase> reader, const WindowOptions& options);

  void ExpectRanks(size_t ranks, size_t run) override {
    reader().ExpectRanks(ranks, CheckedProduct(run, shift_));
  }

 private:
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override;

  const uint64_t size_;
  const uint64_t shift_;
  const uint64_t stride_;
  const bool discard_leftover_;
  struct Window {
    uint64_t begin;  // index of its first element
    OpenBatch elements;
  };
  std::deque<Window> open_;  // in the order in which they began, in which they become full, too
  uint64_t next_ = 0;        // index of the next element in the pass
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_WINDOW_READER_H_
