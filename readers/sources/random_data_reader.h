// SPDX-License-Identifier: Apache-2.0
// Makes random data, for tests and for measuring everything but the reading of files.
#ifndef MILLHOPPER_READERS_SOURCES_RANDOM_DATA_READER_H_
#define MILLHOPPER_READERS_SOURCES_RANDOM_DATA_READER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Yields elements of float32 values, uniform in [low, high). Value v of sample s of pass p depends
// on (key, p, s, v) alone, not on the thread that loads it.
class RandomDataReader final : public ReaderBase {
 public:
  // `count` elements a pass; 0 is endless. Throws kInvalidArgument unless low < high, count >= 0,
  // and every slot is float32 without levels of detail and with fully declared dims.
  RandomDataReader(std::vector<SlotSpec> slots, float low, float high, int64_t count,
                   const RandomKey& key);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  std::optional<uint64_t> PassLength() const override;
  // A sample of a pass tells its values.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const float low_, high_;
  const uint64_t count_;
  const RandomKey key_;
  uint64_t values_ = 0;  // in one element
  uint64_t pass_ = 0;
  uint64_t sample_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_RANDOM_DATA_READER_H_
