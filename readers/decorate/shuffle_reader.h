// SPDX-License-Identifier: Apache-2.0
// Draws elements at random from a window.
#ifndef MILLHOPPER_READERS_DECORATE_SHUFFLE_READER_H_
#define MILLHOPPER_READERS_DECORATE_SHUFFLE_READER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/memory/buffer.h"
#include "framework/reader/reader.h"
#include "readers/decorate/record_store.h"

namespace millhopper {

// Holds a window of buffer_size elements of the reader below, yields a random one and puts the next
// one into its place. At the end of the reader below it empties the window. The draws of pass p are
// key.Below(elements in the window, p, k) for k = 0, 1, ...; this is frozen by kOrderVersion.
//
// Encoded records are copied into slots of their size, so that the window takes no more memory than
// its records, and their chunks are released at once; ExpectWindow asks the reader below for such
// records. Other elements (batches) are not copied.
class ShuffleReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a buffer_size below 1.
  ShuffleReader(std::unique_ptr<ReaderBase> reader, int64_t buffer_size, const RandomKey& key);
  ~ShuffleReader() override;

  // To fill its window this reader plans more elements than the caller asks for.
  size_t ElementsReady() const override {
    return reader().ElementsReady() == kAnyNumber ? kAnyNumber : 0;
  }
  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  uint64_t InStore() const override { return in_store_.load(std::memory_order_relaxed); }
  void FillWindow();
  // How many elements are planned and not yet in the window; plans more if there are none. 0 at the
  // end of the reader below, or at its error, which is kept in error_ until the window is empty. A
  // request to stop and a lack of memory are thrown at once.
  size_t Fresh();
  // Adds the memory that the whole window would take to an out-of-memory error; returns other
  // errors unchanged.
  Error WithWholeWindow(const Error& error) const;
  // Makes up to n draws.
  void Draw(size_t n);
  // Takes the drawn elements out of the window. The next fresh element takes the place of each, or,
  // if there are no more, the last of the window.
  void TakeOut();
  // Moves up to n of the elements taken out to the run; returns how many.
  size_t HandOver(size_t n, RecordStore::Lease* lease, TicketRun* run);
  void Empty();
  // The names of elements that the window or a draw holds.
  ElementNames NamesOf(Ticket* const* slots, size_t n) const;

  static constexpr size_t kDrawnAtOnce = 32;

  const size_t buffer_size_;
  const RandomKey key_;
  const Ref<RecordStore> store_;
  uint64_t pass_ = 0;
  uint64_t draws_ = 0;            // of this pass
  PooledVector<Ticket*> window_;  // slots of store_
  // One round of draws, in three steps: draw the places, take the slots out of them, hand the slots
  // over. If a step is refused memory, the next call continues there.
  bool refilled_ = false;                    // whether fresh elements fill the places
  std::array<size_t, kDrawnAtOnce> places_;  // by index in the window
  std::array<Ticket*, kDrawnAtOnce> out_;
  size_t drawn_ = 0;
  size_t taken_ = 0;
  size_t handed_ = 0;
  size_t planned_at_once_ = 1;
  TicketRun fresh_;   // planned, not yet in the window
  size_t next_ = 0;   // in fresh_
  bool end_ = false;  // of the reader below
  std::exception_ptr error_;
  std::atomic<size_t> in_store_{0};  // as the last plan has left it
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_SHUFFLE_READER_H_
