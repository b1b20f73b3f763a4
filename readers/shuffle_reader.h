// SPDX-License-Identifier: Apache-2.0
// Draws elements at random from a window.
#ifndef MILLRACE_READERS_SHUFFLE_READER_H_
#define MILLRACE_READERS_SHUFFLE_READER_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "framework/random.h"
#include "framework/reader.h"
#include "readers/record_store.h"

namespace millrace {

// Holds a window of buffer_size elements of the reader below, yields a random one and puts the next
// one into its place; at the end it empties the window. The draws of pass p are
// key.Below(elements in the window, p, k) for k = 0, 1, ...; this is frozen by kOrderVersion.
//
// The window holds tickets. Encoded records are copied into slots of their size, so that a window
// costs what it holds and the chunks they came from are free at once; elements of other kinds
// (batches) stay where they are.
class ShuffleReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a buffer_size below 1.
  ShuffleReader(std::unique_ptr<ReaderBase> reader, int64_t buffer_size, const RandomKey& key);
  ~ShuffleReader() override;

 private:
  void PlanNext(size_t n, Run* run) override;
  void Rewind(uint64_t pass) override;
  // Takes the next element to the end of the window; false at the end of the reader below or its
  // error, which is kept in error_ until the window is empty. Throws kResourceLimit if there is no
  // memory for it: the window is as it was then.
  bool TakeNext();
  void Empty();

  const size_t buffer_size_;
  const RandomKey key_;
  const Ref<RecordStore> store_;
  uint64_t pass_ = 0;
  uint64_t drawn_ = 0;
  std::vector<Ticket> window_;
  size_t planned_at_once_ = 1;
  Run fresh_;         // planned, not yet in the window
  size_t next_ = 0;   // in fresh_
  bool end_ = false;  // of the reader below
  std::exception_ptr error_;
};

}  // namespace millrace

#endif  // MILLRACE_READERS_SHUFFLE_READER_H_
